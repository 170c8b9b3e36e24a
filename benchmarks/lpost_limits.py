"""What limits the paper's LPost on grids and ERGM graphs: its parts replaced one at a time.

    python benchmarks/lpost_limits.py [--graphs 4] [--x 0.35,2] [--short grids-short.safetensors]
    python benchmarks/lpost_limits.py --figure ergm --x 100,1300

The same problems as in `graphprior experiment FIGURE`. "plain inverse" treats an
indefinite Theta_tilde as the authors' code does; "LL" has no prior; "evidence network" follows
Algorithm 1 with the same likelihood and schedule and a prior that was trained on what it is asked;
"one sample" looks at the first chain alone, as the authors' code does for LPr; "short training" is
the prior of `graphprior train grids --count 5000 --kind edp-gnn --steps 8000 --batch 16 --seed 0`,
a fifth of the steps of the shipped one. "indefinite" is the share of steps with an indefinite
Theta_tilde.
"""

from __future__ import annotations

import argparse
from typing import Any, NamedTuple

import numpy as np
import torch
from joblib import Parallel, delayed
from record import save

from graphprior import load_prior
from graphprior.engines.langevin import sample_graphs
from graphprior.evidence.plug_in import DEFAULT_FLOOR, PlugInLikelihood
from graphprior.evidence.precision import constrained_mle
from graphprior.paper.experiments.registry import experiment
from graphprior.paper.experiments.spec import Spec
from graphprior.priors.noise import Schedule
from graphprior.results.metrics import METRICS, THRESHOLDS, auc, on_unknown

# The paper's network in each figure.
PAPER = {"grids-10": "edp-gnn", "ergm": "edp-gnn 1000"}
M = 10


class Parts(NamedTuple):
    """What a chain follows: prior, likelihood or none, and the floor of Theta_tilde."""

    name: str
    prior: str | None
    data: bool = True
    floor: float | None = DEFAULT_FLOOR


def answer(spec: Spec, parts: Parts, x: float, g: int) -> Any:
    """Truth and graphs drawn on the unknown pairs of one problem; share of indefinite steps."""
    torch.set_num_threads(1)
    A = spec.graph("test", g)
    problem = spec.problem(x, A, "test", g)
    estimate = constrained_mle(problem)
    likelihood = PlugInLikelihood.create(estimate.Theta, estimate.S, problem.k, parts.floor)
    found = sample_graphs(
        problem.known, None if parts.prior is None else load_prior(parts.prior),
        likelihood if parts.data else None, spec.seeds("test", "LPost", g, repr(float(x))), M,
        Schedule.linear(),
    )  # fmt: skip
    U = problem.U
    samples = np.stack([on_unknown(a.astype(float), U) for a in found.samples])
    return on_unknown(A, U), samples, found.diagnostics.indefinite_share


def row(spec: Spec, name: str, x: float, solved: list[Any], chains: int = M) -> dict[str, Any]:
    """Scores of the mean of the first graphs drawn.

    F1 or accuracy is at the best threshold for all: too few graphs to hold any out.
    """
    pairs = [(truth, samples[:chains].mean(axis=0)) for truth, samples, _ in solved]
    at = [METRICS[spec.metric](truth, shares >= THRESHOLDS[:, None]) for truth, shares in pairs]
    areas = [auc(truth, shares) for truth, shares in pairs]
    return {
        "what": name, "x": x, "graphs": len(solved), spec.metric: float(np.mean(at, axis=0).max()),
        "auc": float(np.nanmean(areas)),
        "auc_standard_error": float(np.nanstd(areas, ddof=1) / np.sqrt(len(areas))),
        "share": float(np.mean([shares.mean() for _, shares in pairs])),
        "edges": float(np.mean([truth.mean() for truth, _ in pairs])),
        "indefinite": float(np.mean([share for *_, share in solved])),
    }  # fmt: skip


def variants(spec: Spec, short: str | None) -> list[Parts]:
    """The paper's method, and it with one part replaced."""
    paper = spec.priors[PAPER[spec.name]]
    shorter = [
        Parts("LPost, short training", short),
        Parts("LPr, short training", short, data=False),
    ]
    return [
        Parts("LPost", paper),
        Parts("LPr", paper, data=False),
        Parts("LL", None),
        Parts("LPost, plain inverse", paper, floor=None),
        *(shorter if short else []),
        Parts("LPost, evidence network", spec.priors["evidence"]),
    ]


def main() -> None:
    """Measure and keep."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--figure", choices=PAPER, default="grids-10")
    parser.add_argument("--graphs", type=int, default=4)
    parser.add_argument("--x", default="0.35,2")
    parser.add_argument("--short", default=None)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    spec, xs = experiment(arguments.figure).spec, [float(x) for x in arguments.x.split(",")]
    rows = []
    for parts in variants(spec, arguments.short):
        # What does not see the data is the same at every x.
        for x in xs if parts.data else xs[:1]:
            # The evidence network's passes cost five times as much.
            graphs = 2 if "evidence" in parts.name else arguments.graphs
            solved = Parallel(n_jobs=arguments.jobs)(
                delayed(answer)(spec, parts, x, g) for g in range(graphs)
            )
            rows.append(row(spec, parts.name, x, solved))
            if not parts.data:
                rows.append(row(spec, f"{parts.name}, one sample", x, solved, chains=1))
            print(*rows[-2:], sep="\n", flush=True)
    command = f"python benchmarks/lpost_limits.py --graphs {arguments.graphs} --x {arguments.x}"
    if arguments.figure != "grids-10":
        command += f" --figure {arguments.figure}"
    if arguments.short:
        command += " --short grids-short.safetensors"
    save(f"lpost-limits-{arguments.figure}", command, rows)


if __name__ == "__main__":
    main()
