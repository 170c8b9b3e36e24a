"""What limits the paper's LPost on grids: its parts replaced one at a time.

    python benchmarks/lpost_limits.py [--graphs 4] [--x 0.35,2] [--short grids-short.safetensors]

The same problems, chains and seeds as `graphprior experiment grids-10`. "plain inverse" treats an
indefinite Theta_tilde as the authors' code does; "evidence network" follows Algorithm 1 with the
same likelihood and schedule and a prior that was trained on what it is asked; "one sample" looks
at the first chain alone, as the authors' code does for LPr; "short training" is the prior of
`graphprior train grids --count 5000 --kind edp-gnn --steps 2000 --batch 16 --seed 0`, a quarter of
the steps of the shipped one. "indefinite" is the share of steps with an indefinite Theta_tilde.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

import numpy as np
import torch
from joblib import Parallel, delayed
from record import save

from graphprior import load_prior
from graphprior.covariance import constrained_mle
from graphprior.engines.langevin import sample_graphs
from graphprior.experiments.registry import experiment
from graphprior.ggm import DEFAULT_FLOOR, PlugInLikelihood
from graphprior.metrics import THRESHOLDS, auc, f1, on_unknown

SPEC = experiment("grids-10").spec


def answer(prior: str, floor: float | None, data: bool, x: float, g: int, M: int = 10) -> Any:
    """Truth and graphs drawn on the unknown pairs of one problem; share of indefinite steps."""
    torch.set_num_threads(1)
    A = SPEC.graph("test", g)
    problem = SPEC.problem(x, A, "test", g)
    estimate = constrained_mle(problem)
    likelihood = PlugInLikelihood.create(estimate.Theta, estimate.S, problem.k, floor)
    found = sample_graphs(
        problem.known, load_prior(prior), likelihood if data else None,
        SPEC.seeds("test", "LPost", g, repr(float(x))), M,
    )  # fmt: skip
    U = problem.U
    samples = np.stack([on_unknown(a.astype(float), U) for a in found.samples])
    return on_unknown(A, U), samples, found.diagnostics["indefinite_share"]


def best_f1(pairs: list[tuple[Any, Any]]) -> float:
    """Mean F1 at the best threshold for all graphs: too few graphs to hold any out."""
    return float(np.mean([f1(a, s >= THRESHOLDS[:, None]) for a, s in pairs], axis=0).max())


def row(name: str, x: float, solved: list[Any], M: int | None = None) -> dict[str, Any]:
    """Scores of the mean of the first M graphs drawn."""
    pairs = [(truth, samples[:M].mean(axis=0)) for truth, samples, _ in solved]
    areas = [auc(truth, shares) for truth, shares in pairs]
    return {
        "what": name, "x": x, "graphs": len(solved), "f1": best_f1(pairs),
        "auc": float(np.nanmean(areas)),
        "auc_standard_error": float(np.nanstd(areas, ddof=1) / np.sqrt(len(areas))),
        "share": float(np.mean([shares.mean() for _, shares in pairs])),
        "edges": float(np.mean([truth.mean() for truth, _ in pairs])),
        "indefinite": float(np.mean([share for *_, share in solved])),
    }  # fmt: skip


def main() -> None:
    """Measure and keep."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--graphs", type=int, default=4)
    parser.add_argument("--x", default="0.35,2")
    parser.add_argument("--short", default=None)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    paper, xs = "grids-edp-gnn", [float(word) for word in arguments.x.split(",")]
    R = arguments.graphs
    net = partial(answer, paper, DEFAULT_FLOOR)
    variants = [
        ("LPost", partial(net, True), xs, R),
        ("LPr", partial(net, False), xs[:1], R),  # it does not see the data
        ("LPost, plain inverse", partial(answer, paper, None, True), xs[:1], R),
        # Its passes cost five times as much.
        ("LPost, evidence network", partial(answer, "grids", DEFAULT_FLOOR, True), xs[:1], 2),
    ]
    if arguments.short:
        short = partial(answer, arguments.short, DEFAULT_FLOOR)
        variants[3:3] = [
            ("LPost, short training", partial(short, True), xs, R),
            ("LPr, short training", partial(short, False), xs[:1], R),
        ]
    rows = []
    for name, solve, at, graphs in variants:
        for x in at:
            solved = Parallel(n_jobs=arguments.jobs)(delayed(solve)(x, g) for g in range(graphs))
            rows.append(row(name, x, solved))
            if name.startswith("LPr"):
                rows.append(row(f"{name}, one sample", x, solved, 1))
            print(*rows[-2:], sep="\n", flush=True)
    command = f"python benchmarks/lpost_limits.py --graphs {arguments.graphs} --x {arguments.x}"
    save(
        "lpost-limits", command + (" --short grids-short.safetensors" * bool(arguments.short)), rows
    )


if __name__ == "__main__":
    main()
