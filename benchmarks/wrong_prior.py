"""A prior that does not fit, and nothing known: how many certain pairs are wrong, and what is said.

    OMP_NUM_THREADS=1 python benchmarks/wrong_prior.py [--problems 8]

Graphs of two hubs: every other variable is tied to both, and nothing else is. The shipped prior
`egonets` has seen graphs with one hub and friends among its neighbours. A pair is certain where
its probability is below .05 or above .95. Beside it no prior, on the same tables.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from record import save

from graphprior import PartialGGM
from graphprior.errors import notes
from graphprior.gaussian.simulate import simulate_observations
from graphprior.graphs.matrices import vech

SIZES, RATIOS = (12, 20), (1, 2, 5, 20)
PRIORS = {"none": None, "egonets": "egonets"}


def problem(n: int, ratio: int, g: int) -> tuple[Any, Any]:
    """A graph of two hubs, and observations."""
    rng = np.random.default_rng([29, n, ratio, g])
    A = np.zeros((n, n))
    A[:2, 2:] = A[2:, :2] = 1
    V = np.triu(A * rng.uniform(0.3, 0.6, A.shape) * rng.choice([-1, 1], A.shape), 1)
    V = V + V.T
    Theta = V + (0.1 - np.linalg.eigvalsh(V)[0]) * np.eye(n)
    return A, simulate_observations(Theta, ratio * n, rng)


def row(n: int, ratio: int, name: str, problems: int) -> dict[str, Any]:
    """Sums and means over some problems."""
    certain = wrong = unnoted = 0
    bits, warned = [], []
    for g in range(problems):
        A, X = problem(n, ratio, g)
        with notes():
            model = PartialGGM(PRIORS[name], random_state=0).fit(X)
        a, p = vech(A), vech(model.edge_probabilities_)
        sure = (p < 0.05) | (p > 0.95)
        false = int((sure & ((p > 0.5) != (a == 1))).sum())
        certain, wrong = certain + int(sure.sum()), wrong + false
        about_prior = any("prior" in line for line in model.notes_)
        unnoted += 0 if about_prior else false
        warned.append(about_prior)
        bits.append(-np.log2(np.clip(np.where(a == 1, p, 1 - p), 1e-9, 1)).mean())
    return {
        "n": n, "k": ratio * n, "prior": name, "problems": problems, "certain": certain,
        "wrong": wrong, "wrong_without_a_note": unnoted, "bits": float(np.mean(bits)),
        "noted": float(np.mean(warned)),
    }  # fmt: skip


def main() -> None:
    """Measure and keep."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--problems", type=int, default=8)
    problems = parser.parse_args().problems
    rows = [row(n, r, name, problems) for n in SIZES for r in RATIOS for name in PRIORS]
    save("wrong_prior", "OMP_NUM_THREADS=1 python benchmarks/wrong_prior.py", rows)


if __name__ == "__main__":
    main()
