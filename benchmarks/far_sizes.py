"""Priors at sizes far from their examples: expected beside true numbers of edges, and F1.

    OMP_NUM_THREADS=1 python benchmarks/far_sizes.py [--problems 3]

A tenth of the pairs is unknown, and there are as many observations as variables; or there are none
(`use="prior"`). `barabasi-albert` learned from graphs of 47 to 53 nodes, `grids` of 40 to 49.
"full" is the prior alone, "averaged" the prior and independent edges, "auto" `general` and
independent edges.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from record import cpu_seconds, save

from graphprior import PartialGGM
from graphprior.errors import notes
from graphprior.gaussian.simulate import simulate_observations
from graphprior.graphs.matrices import hide
from graphprior.priors.load import INDEPENDENT
from graphprior.results.metrics import f1, on_unknown
from graphprior.types import Matrix

SIZES = (20, 50, 100, 200, 400)
SHARE = 0.1


def attached(rng: np.random.Generator, n: int) -> Matrix:
    """New nodes with one to three edges to old ones, chosen by their number of edges."""
    A = np.zeros((n, n))
    for i in range(1, n):
        weight = A[:i].sum(1) + 1.0
        count = min(i, int(rng.integers(1, 4)))
        chosen = rng.choice(i, count, replace=False, p=weight / weight.sum())
        A[i, chosen] = A[chosen, i] = 1.0
    return A


def lattice(rng: np.random.Generator, n: int) -> Matrix:
    """A rectangle of nodes, each joined to those beside it, and two to four edges more."""
    width = int(np.sqrt(n))
    i = np.arange(n)
    row, column = i // width, i % width
    apart = np.abs(row[:, None] - row) + np.abs(column[:, None] - column)
    A = (apart == 1).astype(float)
    for _ in range(int(rng.integers(2, 5))):
        a, b = rng.choice(n, 2, replace=False)
        A[a, b] = A[b, a] = 1.0
    return A


KINDS = {"barabasi-albert": attached, "grids": lattice}


def precision(A: Matrix, rng: np.random.Generator) -> Matrix:
    """Uniform strengths of either sign; as definite at every size."""
    V = np.triu(A * rng.uniform(0.4, 1.0, A.shape) * rng.choice([-1, 1], A.shape), 1)
    V = V + V.T
    return V + (0.2 - np.linalg.eigvalsh(V)[0]) * np.eye(len(A))


def candidates(kind: str) -> dict[str, dict[str, Any]]:
    """Settings by name."""
    return {
        "full": {"prior": kind, "prior_weight": "full"},
        "averaged": {"prior": kind},
        "auto": {"prior": "auto"},
        "none": {"prior": None},
    }


def main() -> None:
    """Measure and keep."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--problems", type=int, default=3)
    problems, rows = parser.parse_args().problems, []
    for kind, draw in KINDS.items():
        for n in SIZES:
            for g in range(problems):
                rng = np.random.default_rng([83, n, g])
                A = draw(rng, n)
                X, known = simulate_observations(precision(A, rng), n, rng), hide(A, rng, SHARE)
                for use in ("both", "prior"):
                    for name, settings in candidates(kind).items():
                        model = PartialGGM(**settings, use=use, random_state=0)
                        with notes():
                            seconds, _ = cpu_seconds(
                                lambda m=model, X=X, known=known: m.fit(X, known=known)
                            )
                        U = model.problem_.U
                        a, p = on_unknown(A, U), on_unknown(model.edge_probabilities_, U)
                        weights = {gain.name: gain.weight for gain in model.prior_gains_}
                        q = np.clip(np.where(a == 1, p, 1 - p), 1e-9, 1)
                        rows.append({
                            "kind": kind, "n": n, "problem": g, "use": use, "prior": name,
                            "expected": float(p.sum()), "true": int(a.sum()),
                            "f1": f1(a, p >= 0.5), "bits": float(-np.log2(q).mean()),
                            "weight_of_none": weights.get(INDEPENDENT), "cpu_seconds": seconds,
                        })  # fmt: skip
    save("far-sizes", "OMP_NUM_THREADS=1 python benchmarks/far_sizes.py", rows)


if __name__ == "__main__":
    main()
