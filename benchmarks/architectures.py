"""Evidence networks of other designs, trained like ours for the same time.

python benchmarks/architectures.py FAMILY DESIGN SECONDS
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace

import numpy as np
import torch
from record import save
from torch import Tensor, nn
from torch.nn import functional as F

from graphprior.paper.datasets import dual_barabasi_albert, egonets, ergm_graphs, grids
from graphprior.priors.networks.edp_gnn import count_parameters
from graphprior.priors.networks.evidence_network import EvidenceNetworkConfig
from graphprior.priors.networks.pairs import pair_index
from graphprior.priors.training.cross_entropy import CrossEntropy
from graphprior.priors.training.training import TrainingConfig, TrainingState, train

FAMILIES = {
    "egonets": (lambda: egonets("train"), 32),
    "grids": (lambda: grids(3000, np.random.default_rng(0)), 8),
    "barabasi-albert": (lambda: dual_barabasi_albert(3000, np.random.default_rng(0)), 8),
    "ergm": (lambda: ergm_graphs(3000, np.random.default_rng(0)), 8),
}


class PlainLayer(nn.Module):
    """Paths, row sums and the mean, normalised by the size of the graph; dense matrices."""

    def __init__(self, C: int, K: int, use_paths: bool) -> None:
        super().__init__()
        self.norm, self.use_paths = nn.LayerNorm(C), use_paths
        self.message = nn.Linear(C, 2 * K)
        self.mix = nn.Linear(C + K * use_paths + 2 * C, 2 * C)
        self.out = nn.Linear(2 * C, C)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, h: Tensor, mask: Tensor, size: Tensor) -> Tensor:
        x = self.norm(h)
        around = (x * mask).sum(2) / size.sqrt()
        ends = around[:, :, None] + around[:, None]
        parts = [x, ends, around.mean(1)[:, None, None].expand_as(x)]
        if self.use_paths:
            P, Q = (self.message(x) * mask).permute(0, 3, 1, 2).chunk(2, 1)
            paths = P @ Q / size[..., None].sqrt()
            parts.append(0.5 * (paths + paths.transpose(-1, -2)).permute(0, 2, 3, 1))
        return h + self.out(F.silu(self.mix(torch.cat(parts, -1))))


class PlainNetwork(nn.Module):
    """The prototype's design: 24 channels, 12 paths, 5 layers; or nodes only, without paths."""

    def __init__(self, C: int = 24, K: int = 12, layers: int = 5, use_paths: bool = True) -> None:
        super().__init__()
        self.start = nn.Linear(3, C)
        self.layers = nn.ModuleList(PlainLayer(C, K, use_paths) for _ in range(layers))
        self.norm, self.logit = nn.LayerNorm(C), nn.Linear(C, 1)

    def forward(self, ell: Tensor, is_pair: Tensor) -> Tensor:
        n = round((1 + (1 + 8 * ell.shape[1]) ** 0.5) / 2)
        index = pair_index(n, ell.device)
        full = ell[:, index.pair_at].view(-1, n, n)
        mask = is_pair[:, index.pair_at].view(-1, n, n) & ~torch.eye(n, dtype=torch.bool)
        mask = mask[..., None].to(ell)
        told = [full.sigmoid(), (~full.isinf()).to(ell), torch.tanh(full / 4)]
        size = mask.amax(2).sum(1, keepdim=True)
        h = self.start(torch.stack(told, -1)) * mask
        for layer in self.layers:
            h = layer(h, mask, size)
        f = self.logit(self.norm(h))[..., 0].flatten(1)
        return ell + f[:, index.upper] + f[:, index.lower]


class OtherDesign(CrossEntropy):
    """Cross-entropy with a network that is not ours."""

    design: dict[str, object]

    def build(self) -> nn.Module:  # type: ignore[override]
        return PlainNetwork(**self.design)


def objective(design: str) -> CrossEntropy:
    """The objective that trains one of the compared designs."""
    ours = {
        "ours": EvidenceNetworkConfig(),
        "ours-no-parity": EvidenceNetworkConfig(parity=False),
        "ours-small": EvidenceNetworkConfig(layers=5, channels=24, paths=12, hidden=48),
    }
    if design in ours:
        return CrossEntropy(network=ours[design])
    other = OtherDesign()
    object.__setattr__(other, "design", {"use_paths": design == "prototype"})
    return other


def run(family: str, design: str, seconds: float, steps: int) -> dict[str, object]:
    """Train for a time; the learning rate falls over the ``steps`` that fit in it."""
    make, batch = FAMILIES[family]
    config = TrainingConfig(steps=steps, batch=batch, objective=objective(design))
    state: TrainingState | None = None
    config = replace(config, validate_every=config.steps)
    start = time.process_time()
    for state in train(make(), config):  # noqa: B007 (the last one counts)
        pass
    assert state is not None
    return {
        "family": family,
        "design": design,
        "parameters": count_parameters(state.network),
        "steps": state.step,
        "cpu_seconds": round(time.process_time() - start),
        **{key: round(value, 4) for key, value in state.history[-1].items() if key != "step"},
    }


def steps_in(family: str, design: str, seconds: float) -> int:
    """How many steps fit in the time, from twenty of them."""
    make, batch = FAMILIES[family]
    config = TrainingConfig(steps=25, batch=batch, objective=objective(design))
    graphs, times = make(), []
    for _ in train(graphs, config):
        times.append(time.process_time())
    # The last step includes a validation.
    return int(seconds / np.median(np.diff(times[:-1])))


def main() -> None:
    torch.set_num_threads(1)
    family, design, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
    row = run(family, design, seconds, steps_in(family, design, seconds))
    command = f"python benchmarks/architectures.py {family} {design} {seconds:g}"
    save(f"architectures/{family}-{design}", command, [row])


if __name__ == "__main__":
    main()
