"""Denoising score matching: learn the score of noisy graphs from clean ones.

`train` is a generator: it yields its state after every step, so that progress,
checkpoints and early stops stay with the caller. All randomness of a step
comes from (seed, step), never from a stream; a run that stops after any step
and goes on from the saved state ends with the same weights.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from graphprior.errors import GraphPriorError
from graphprior.graphs import Matrix, check_adjacency
from graphprior.graphsets import as_graphs
from graphprior.noise import Schedule, perturb
from graphprior.prior.edp_gnn import EDPGNN, EDPGNNConfig, EDPGNNPrior


@dataclass(frozen=True)
class TrainingConfig:
    """Everything that, with the graphs, decides the weights.

    Most graphs get a noise level of Algorithm 1, between sigma_L and sigma_1. A
    ``wide_share`` gets more, up to sigma_0: at sigma_1 the sum of many noisy
    pairs still tells the density of a graph, so that drawing from the prior
    alone must begin where it does not.
    """

    steps: int = 20_000
    batch: int = 32
    learning_rate: float = 2e-3
    weight_decay: float = 1e-3
    ema: float = 0.999
    seed: int = 0
    validate_every: int = 500
    validation_share: float = 0.05
    sigma_1: float = 0.5
    sigma_L: float = 0.03
    sigma_0: float = 2.0
    wide_share: float = 0.3
    network: EDPGNNConfig = field(default_factory=EDPGNNConfig)

    def __post_init__(self) -> None:
        if self.steps < 1 or self.batch < 1 or self.validate_every < 1:
            raise GraphPriorError(
                f"steps = {self.steps}, batch = {self.batch}, validate_every = "
                f"{self.validate_every}: each must be at least 1"
            )

    def rate(self, step: int) -> float:
        """One cycle: up over a tenth of the run, then down along a cosine."""
        warm = max(1, self.steps // 10)
        if step < warm:
            return self.learning_rate * (step + 1) / warm
        done = (step - warm) / max(1, self.steps - warm)
        return self.learning_rate * 0.5 * (1 + math.cos(math.pi * min(done, 1.0)))


@dataclass
class TrainingState:
    """Where a training stands: all that a checkpoint must hold."""

    step: int
    network: EDPGNN
    average: EDPGNN
    best: EDPGNN
    optimizer: torch.optim.AdamW
    history: list[dict[str, float]]
    loss: float = math.nan

    @property
    def best_loss(self) -> float:
        """Lowest validation loss so far."""
        return min((row["loss"] for row in self.history), default=math.inf)


def new_state(config: TrainingConfig, device: str | torch.device = "cpu") -> TrainingState:
    """Untrained networks; their weights depend on the seed alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        network = EDPGNN(config.network).to(device)
    optimizer = torch.optim.AdamW(
        network.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay
    )
    return TrainingState(
        0, network, copy.deepcopy(network), copy.deepcopy(network), optimizer, history=[]
    )


def check_graphs(graphs: Sequence[object]) -> list[Matrix]:
    """The graphs as matrices; a set that cannot teach a prior is refused."""
    if len(graphs) < 2:
        raise GraphPriorError(
            f"{len(graphs)} training graph(s): a prior needs at least 2, better hundreds"
        )
    checked = [check_adjacency(A, name=f"graph {g}") for g, A in enumerate(graphs)]
    for g, A in enumerate(checked):
        if len(A) < 2:
            raise GraphPriorError(f"graph {g} has {len(A)} node(s): at least 2 are needed")
    return checked


def split(graphs: Sequence[Matrix], config: TrainingConfig) -> tuple[list[Matrix], list[Matrix]]:
    """Training and validation graphs; at least one of each."""
    order = np.random.default_rng(config.seed).permutation(len(graphs))
    held = min(max(1, round(config.validation_share * len(graphs))), 200, len(graphs) - 1)
    return [graphs[g] for g in order[held:]], [graphs[g] for g in order[:held]]


def pad(graphs: Sequence[Matrix]) -> tuple[Tensor, Tensor]:
    """Graphs of any size as one batch (B, n, n), and which rows are nodes (B, n)."""
    n = max(len(A) for A in graphs)
    A = torch.zeros(len(graphs), n, n)
    is_node = torch.zeros(len(graphs), n, dtype=torch.bool)
    for b, graph in enumerate(graphs):
        A[b, : len(graph), : len(graph)] = torch.as_tensor(graph)
        is_node[b, : len(graph)] = True
    return A, is_node


def score_matching_loss(score: Tensor, A: Tensor, A_tilde: Tensor, sigma: Tensor) -> Tensor:
    """sigma**2 times the squared distance to the score of the noise, by pair. Eqs. (28)-(29).

    (B, n, n); the factor 1/2 of Eq. (29) is included, the mean is the caller's.
    """
    target = (A - A_tilde) / sigma[:, None, None] ** 2
    return 0.5 * sigma[:, None, None] ** 2 * (score - target) ** 2


def mean_over_pairs(loss: Tensor, is_node: Tensor) -> Tensor:
    """Mean loss of each graph over its own pairs, padding left out: (B,)."""
    is_pair = (is_node[:, :, None] & is_node[:, None]).triu(1)
    return (loss * is_pair).sum((1, 2)) / is_pair.sum((1, 2))


def draw_levels(config: TrainingConfig, rng: np.random.Generator) -> Tensor:
    """A noise level for each graph of a batch: (B,)."""
    sigma = rng.uniform(config.sigma_L, config.sigma_1, config.batch)
    wide = np.exp(rng.uniform(np.log(config.sigma_1), np.log(config.sigma_0), config.batch))
    levels = np.where(rng.random(config.batch) < config.wide_share, wide, sigma)
    return torch.as_tensor(levels, dtype=torch.float32)


def _batch_loss(state: TrainingState, graphs: Sequence[Matrix], config: TrainingConfig) -> Tensor:
    rng = np.random.default_rng([config.seed, 1, state.step])
    noise = torch.Generator().manual_seed(int(rng.integers(2**62)))
    A, is_node = pad([graphs[g] for g in rng.integers(len(graphs), size=config.batch)])
    sigma = draw_levels(config, rng)
    return _network_loss(state.network, A, is_node, sigma, noise).mean()


def _network_loss(
    network: EDPGNN, A: Tensor, is_node: Tensor, sigma: Tensor, noise: torch.Generator
) -> Tensor:
    """Loss of each graph (B,); noise is drawn on the CPU, so that devices agree."""
    device = next(network.parameters()).device
    A_tilde = perturb(A, sigma, noise).to(device)
    A, is_node, sigma = A.to(device), is_node.to(device), sigma.to(device)
    loss = score_matching_loss(network(A_tilde, sigma, is_node), A, A_tilde, sigma)
    return mean_over_pairs(loss, is_node)


@torch.inference_mode()
def validation_loss(
    network: EDPGNN, graphs: Sequence[Matrix], config: TrainingConfig, L: int = 10
) -> dict[str, float]:
    """The loss on graphs not trained on: at sigma_0, at L levels of Algorithm 1, their mean."""
    A, is_node = pad(graphs)
    row = {}
    levels = Schedule.linear(L, config.sigma_1, config.sigma_L).sigmas
    for level, sigma_l in enumerate((config.sigma_0, *levels)):
        noise = torch.Generator().manual_seed(config.seed + 1000 + level)
        sigma = torch.full((len(A),), sigma_l)
        row[f"sigma={sigma_l:.3f}"] = float(_network_loss(network, A, is_node, sigma, noise).mean())
    return {"loss": float(np.mean(list(row.values())[1:])), **row}


@torch.no_grad()
def _update_average(state: TrainingState, decay: float) -> None:
    # Early on a long average would remember the untrained weights.
    decay = min(decay, (1 + state.step) / (10 + state.step))
    for mean, value in zip(state.average.parameters(), state.network.parameters(), strict=True):
        mean.lerp_(value, 1 - decay)


def train(
    graphs: Sequence[Matrix], config: TrainingConfig, state: TrainingState | None = None
) -> Iterator[TrainingState]:
    """Yield the state after every step from where it stands to ``config.steps``.

    It is one object, updated in place. ``state.best`` is the averaged network
    with the lowest validation loss.
    """
    state = state or new_state(config)
    learn, held_out = split(check_graphs(graphs), config)
    while state.step < config.steps:
        for group in state.optimizer.param_groups:
            group["lr"] = config.rate(state.step)
        loss = _batch_loss(state, learn, config)
        state.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(state.network.parameters(), 1.0)
        state.optimizer.step()
        state.loss = float(loss.detach())
        _update_average(state, config.ema)
        state.step += 1
        if state.step % config.validate_every == 0 or state.step == config.steps:
            row = validation_loss(state.average, held_out, config)
            if row["loss"] < state.best_loss:
                state.best.load_state_dict(state.average.state_dict())
            state.history.append({"step": state.step, **row})
        yield state


def fit_prior(
    graphs: str | Path | Iterable[Any],
    config: TrainingConfig | None = None,
    device: str | torch.device = "cpu",
    progress: Callable[[int, int], None] | None = None,
) -> EDPGNNPrior:
    """Learn a prior from example graphs of any sizes.

    ``graphs`` is a file or folder of graphs, or a collection of adjacency
    matrices or of networkx, igraph or PyTorch Geometric graphs.
    """
    config = config or TrainingConfig()
    matrices = check_graphs(as_graphs(graphs))
    state = new_state(config, device)
    for _ in train(matrices, config, state):
        if progress is not None:
            progress(state.step, config.steps)
    return EDPGNNPrior(state.best)
