"""How well the paper's network denoises graphs, next to what can be reached.

OMP_NUM_THREADS=1 GRAPHPRIOR_DATA=... python benchmarks/denoising.py     (about 2 minutes)

    --short grids-short.safetensors    one for grids with a fifth of the steps, as is made by
    graphprior train grids --count 5000 --kind edp-gnn --steps 8000 --batch 16 --seed 0

The score-matching loss, Eqs. (28)-(29), on test graphs at noise levels of Algorithm 1, with the
same noise for all: of the paper's network, of the evidence network (whose own training asks
something else), and of independent edges at the family's density, which know nothing of structure.
"""

from __future__ import annotations

import argparse

import numpy as np
import torch
from record import save
from torch import Tensor

from graphprior import load_prior
from graphprior.paper.datasets.registry import family
from graphprior.priors.exact import IndependentEdges
from graphprior.priors.noise import Schedule, perturb
from graphprior.priors.protocol import Prior
from graphprior.priors.training.score_matching import mean_over_pairs, score_matching_loss

FAMILIES = {
    "grids": "grids-edp-gnn",
    "ergm": "ergm-1000-edp-gnn",
    "barabasi-albert": "barabasi-albert-edp-gnn",
    "egonets": "egonets-edp-gnn",
}
LEVELS = Schedule.linear().sigmas[1:7]  # above all is noise, below nothing is in doubt


def loss(prior: Prior, A: Tensor, sigma: float, seed: int) -> float:
    """Loss of a prior's score on one graph with noise."""
    level = torch.tensor([sigma], dtype=A.dtype)
    A_tilde = perturb(A[None], level, torch.Generator().manual_seed(seed))
    score = prior.score(torch.full_like(A, torch.nan))(A_tilde, sigma)
    nodes = torch.ones(1, len(A), dtype=torch.bool)
    return float(mean_over_pairs(score_matching_loss(score, A[None], A_tilde, level), nodes))


def compare(name: str, priors: dict[str, Prior], graphs: list[Tensor]) -> list[dict]:
    """A row for each level; the errors are of the difference to the evidence network."""
    rows = []
    for sigma in LEVELS:
        found = {
            what: np.array([loss(prior, A, sigma, g) for g, A in enumerate(graphs)])
            for what, prior in priors.items()
        }
        row = {"family": name, "sigma": sigma, "graphs": len(graphs)}
        for what, losses in found.items():
            excess = losses - found["evidence"]
            row[what] = float(losses.mean())
            row[f"{what}_excess_error"] = float(excess.std(ddof=1) / np.sqrt(len(graphs)))
        rows.append(row)
        print(row, flush=True)
    return rows


def main() -> None:
    """Measure and keep."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--graphs", type=int, default=40)
    parser.add_argument("--short", default=None)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for name, papers in FAMILIES.items():
        drawn = family(name).test(arguments.graphs, np.random.default_rng(0))
        graphs = [torch.as_tensor(A, dtype=torch.float64) for A in drawn[: arguments.graphs]]
        density = float(np.mean([A.sum() / (len(A) * (len(A) - 1)) for A in drawn]))
        priors = {
            "independent": IndependentEdges(density),
            "edp-gnn": load_prior(papers),
            "evidence": load_prior(name),
        }
        if name == "grids" and arguments.short:
            priors["short"] = load_prior(arguments.short)
        rows += compare(name, priors, graphs)
    short = " --short grids-short.safetensors" if arguments.short else ""
    save("denoising", f"OMP_NUM_THREADS=1 python benchmarks/denoising.py{short}", rows)


if __name__ == "__main__":
    main()
