"""What limits the paper's LPost on grids: its parts replaced one at a time.

    python benchmarks/lpost_limits.py [--graphs 6] [--x 0.35,2] [--short grids-short.safetensors]

The same problems, chains and seeds as `graphprior experiment grids-10`. "plain inverse" treats an
indefinite Theta_tilde as the authors' code does; "evidence network" follows Algorithm 1 with the
same likelihood and schedule and a prior that was trained on what it is asked; "one sample" is M =
1, as the authors' code has it for LPr; "short training" is a prior from `graphprior train grids
--kind edp-gnn` with fewer steps.
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


def answer(prior: str, floor: float | None, data: bool, M: int, x: float, g: int) -> Any:
    """Truth and shares of drawn graphs on the unknown pairs of one problem."""
    torch.set_num_threads(1)
    A = SPEC.graph("test", g)
    problem = SPEC.problem(x, A, "test", g)
    estimate = constrained_mle(problem)
    likelihood = PlugInLikelihood.create(estimate.Theta, estimate.S, problem.k, floor)
    found = sample_graphs(
        problem.known, load_prior(prior), likelihood if data else None,
        SPEC.seeds("test", "LPost", g, repr(float(x))), M,
    )  # fmt: skip
    return on_unknown(A, problem.U), on_unknown(found.edge_probabilities, problem.U)


def best_f1(pairs: list[tuple[Any, Any]]) -> float:
    """Mean F1 at the best threshold for all graphs: too few graphs to hold any out."""
    return float(np.mean([f1(a, s >= THRESHOLDS[:, None]) for a, s in pairs], axis=0).max())


def main() -> None:
    """Measure and keep."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--graphs", type=int, default=6)
    parser.add_argument("--x", default="0.35,2")
    parser.add_argument("--short", default=None)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    paper = "grids-edp-gnn"
    variants = {
        "as run": partial(answer, paper, DEFAULT_FLOOR, True, 10),
        "plain inverse": partial(answer, paper, None, True, 10),
        "evidence network": partial(answer, "grids", DEFAULT_FLOOR, True, 10),
        "LPr": partial(answer, paper, DEFAULT_FLOOR, False, 10),
        "LPr, one sample": partial(answer, paper, DEFAULT_FLOOR, False, 1),
        "LPr, evidence network": partial(answer, "grids", DEFAULT_FLOOR, False, 10),
    }
    if arguments.short:
        variants["short training"] = partial(answer, arguments.short, DEFAULT_FLOOR, True, 10)
    rows = []
    for name, solve in variants.items():
        for x in [float(word) for word in arguments.x.split(",")]:
            if name.startswith("LPr") and x != float(arguments.x.split(",")[0]):
                continue  # it does not look at the data
            pairs = Parallel(n_jobs=arguments.jobs)(
                delayed(solve)(x, g) for g in range(arguments.graphs)
            )
            areas = [auc(a, s) for a, s in pairs]
            rows.append({
                "what": name, "x": x, "graphs": arguments.graphs, "f1": best_f1(pairs),
                "auc": float(np.nanmean(areas)),
                "auc_standard_error": float(np.nanstd(areas, ddof=1) / np.sqrt(len(areas))),
            })  # fmt: skip
            print(rows[-1], flush=True)
    command = f"python benchmarks/lpost_limits.py --graphs {arguments.graphs} --x {arguments.x}"
    save("lpost-limits", command + (" --short grids-short" if arguments.short else ""), rows)


if __name__ == "__main__":
    main()
