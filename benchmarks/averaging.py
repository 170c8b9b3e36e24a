"""What a prior costs where it does not fit, and what it gains where it does.

    GRAPHPRIOR_DATA=... OMP_NUM_THREADS=1 python benchmarks/averaging.py [--problems 12] [--jobs 2]

Graphs of six kinds, observations simulated as for the figures, as many as there are variables.
Half of the pairs are known, or nine of ten, or none. Each shipped prior is believed in full
(`prior_weight="full"`) and, by default, averaged with independent edges; "auto" is the average of
`general` with independent edges, "all" of all shipped priors and `general` with them. Bits for each
unknown pair: `bits`; `none` are those of independent edges on the same problems. Errors are over
problems. `calibration_error`: the mean distance between probabilities and what happened, over
pairs of all problems of a row, in ten bins of as many pairs each.
"""

from __future__ import annotations

import argparse
import time
from functools import lru_cache
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from record import save

import graphprior.estimator as estimator
from graphprior import PartialGGM
from graphprior.errors import GraphPriorError, notes
from graphprior.evidence.evidence import Evidence, data_evidence
from graphprior.gaussian.simulate import simulate_observations, simulate_precision
from graphprior.graphs.matrices import hide
from graphprior.io.graph_sets import read_npz
from graphprior.paper.datasets import data_folder
from graphprior.paper.datasets.registry import generate
from graphprior.priors.load import INDEPENDENT
from graphprior.results.metrics import on_unknown
from graphprior.types import Matrix

SHIPPED = ("egonets", "grids", "barabasi-albert", "molecules", "ergm")
KINDS = ("egonets", "molecules", "threads", "regnets", "grids", "barabasi-albert")
SHARES = (1.0, 0.5, 0.1)
CANDIDATES: dict[str, dict[str, Any]] = {
    "none": {"prior": None},
    "auto": {"prior": "auto"},
    "general, full": {"prior": "general", "prior_weight": "full"},
    "all": {"prior": ["general", *SHIPPED, None]},
    **{name: {"prior": name} for name in SHIPPED},
    **{f"{name}, full": {"prior": name, "prior_weight": "full"} for name in SHIPPED},
}
BINS, TRIES = 10, 200


@lru_cache(maxsize=2)
def graphs(kind: str) -> list[Matrix]:
    """Graphs of a kind that its prior was not trained on."""
    if kind in ("grids", "barabasi-albert"):
        return generate(kind, 100, 4711)
    if kind == "regnets":
        return [A for A in read_npz(data_folder() / "regnets" / "graphs.npz") if 15 <= len(A) <= 40]
    return read_npz(data_folder() / kind / "test.npz")


def solve(kind: str, share: float, g: int) -> list[dict[str, Any]]:
    """One problem by every candidate: probabilities and truth of its unknown pairs."""
    rng = np.random.default_rng([61, KINDS.index(kind), round(10 * share), g])
    A = graphs(kind)[g % len(graphs(kind))]
    try:
        X = simulate_observations(simulate_precision(A, rng, TRIES), len(A), rng)
    except GraphPriorError:  # too dense to draw
        return []
    known = hide(A, rng, share=share)
    # The evidence is the same for all candidates: it is computed once.
    kept: list[Evidence] = []

    def once(*args: Any, **settings: Any) -> Evidence:
        if not kept:
            kept.append(data_evidence(*args, **settings))
        return kept[0]

    estimator.data_evidence, rows = once, []  # type: ignore[attr-defined]
    for name, settings in CANDIDATES.items():
        start = time.process_time()
        with notes() as told:
            model = PartialGGM(**settings, random_state=0).fit(X, known=known)
        U = model.problem_.U
        weights = {gain.name: gain.weight for gain in model.prior_gains_}
        rows.append({
            "candidate": name, "a": on_unknown(A, U), "p": on_unknown(model.edge_probabilities_, U),
            "weight": weights.get(INDEPENDENT, np.nan),
            "noted": any("does not fit" in line or "no better" in line for line in told),
            "cpu_seconds": time.process_time() - start,
        })  # fmt: skip
    return rows


def bits(a: Any, p: Any) -> Any:
    """Code length of each pair."""
    return -np.log2(np.clip(np.where(a == 1, p, 1 - p), 1e-9, 1))


def calibration_error(a: Any, p: Any) -> float:
    """Mean distance between probabilities and frequencies, over bins of as many pairs."""
    parts = np.array_split(np.argsort(p, kind="stable"), BINS)
    return float(sum(len(i) * abs(p[i].mean() - a[i].mean()) for i in parts if len(i)) / len(p))


def row(kind: str, share: float, found: list[list[dict[str, Any]]], name: str) -> dict[str, Any]:
    """A candidate over the problems of a cell."""
    at = list(CANDIDATES).index(name)
    each = [problem[at] for problem in found]
    none = [problem[0] for problem in found]
    own = np.array([bits(r["a"], r["p"]).mean() for r in each])
    base = np.array([bits(r["a"], r["p"]).mean() for r in none])
    a, p = (np.concatenate([r[what] for r in each]) for what in ("a", "p"))
    return {
        "kind": kind, "unknown": share, "candidate": name, "problems": len(each),
        "bits": own.mean(), "none": base.mean(),
        "cost": (own - base).mean(), "cost_error": (own - base).std(ddof=1) / np.sqrt(len(own)),
        "weight_of_none": float(np.mean([r["weight"] for r in each])),
        "noted": float(np.mean([r["noted"] for r in each])),
        "calibration_error": calibration_error(a, p), "pairs": len(p),
        "cpu_seconds": float(np.mean([r["cpu_seconds"] for r in each])),
    }  # fmt: skip


def main() -> None:
    """Measure and keep."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--problems", type=int, default=12)
    parser.add_argument("--jobs", type=int, default=1)
    told = parser.parse_args()
    tasks = [(k, s, g) for k in KINDS for s in SHARES for g in range(told.problems)]
    found = Parallel(n_jobs=told.jobs, verbose=1)(delayed(solve)(*task) for task in tasks)
    rows = []
    for kind in KINDS:
        for share in SHARES:
            cell = [
                problem
                for task, problem in zip(tasks, found, strict=True)
                if task[:2] == (kind, share) and problem
            ]
            rows += [row(kind, share, cell, name) for name in CANDIDATES]
    save("averaging", "OMP_NUM_THREADS=1 python benchmarks/averaging.py", rows)


if __name__ == "__main__":
    main()
