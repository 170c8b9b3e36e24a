"""Nothing known: how many edges are expected, and what telling rate and shape of edges changes.

    OMP_NUM_THREADS=1 python benchmarks/shapes.py [--problems 8]

Expected over true number of edges, bits for each pair, and F1, where nothing is told, where the
rate of edges is, and where the rate and the shape of strengths are: the least that can be lost to
not knowing these. Problems are those of benchmarks/sizes.py.
"""

from __future__ import annotations

import argparse

import numpy as np
from record import save
from sizes import KINDS, truth

from graphprior.evidence.chains import Beliefs
from graphprior.evidence.evidence import data_evidence
from graphprior.evidence.slab import Rate, Slab
from graphprior.gaussian.linalg import partial_correlations
from graphprior.gaussian.simulate import simulate_observations
from graphprior.graphs.matrices import vech
from graphprior.problem.problem import Problem
from graphprior.results.metrics import f1
from graphprior.types import Matrix

SURE = 1e6  # pairs seen: the rate is as good as known


def shape_of(A: Matrix, Theta: Matrix) -> Slab:
    """The slab of the edges' true strengths."""
    t = -vech(partial_correlations(Theta))[vech(A) == 1]
    size = float((t**2).mean())
    positive = float(np.clip((t > 0).mean(), 0.01, 0.99))
    hump = float(min(np.abs(t).mean() ** 2 / size, 0.97))
    return Slab(min(size, 0.25), float(vech(A).mean()), hump, positive)


def told(problem: Problem, slab: Slab) -> dict[str, Beliefs]:
    """Beliefs by what is told."""
    rate = Rate(SURE * slab.rate, SURE * (1 - slab.rate))
    return {
        "nothing": data_evidence(problem).beliefs,
        "rate": data_evidence(problem, rate=rate).beliefs,
        "rate and shape": data_evidence(problem, fixed=slab).beliefs,
    }


def cell(kind: str, n: int, ratio: int, problems: int) -> list[dict[str, object]]:
    """Means over some problems of one kind, by what is told."""
    found: dict[str, list[tuple[float, float, float, float]]] = {}
    for g in range(problems):
        rng = np.random.default_rng([23, KINDS.index(kind), n, ratio, g])
        A, Theta = truth(kind, n, rng)
        problem = Problem.create(simulate_observations(Theta, ratio * n, rng))
        a = vech(A)
        for name, beliefs in told(problem, shape_of(A, Theta)).items():
            p = beliefs.p
            bits = -np.log2(np.clip(np.where(a == 1, p, 1 - p), 1e-9, 1)).mean()
            row = (float(p.sum()), float(a.sum()), float(bits), f1(a, p >= 0.5))
            found.setdefault(name, []).append(row)
    rows: list[dict[str, object]] = []
    for name, values in found.items():
        expected, true, bits, score = np.transpose(values)
        rows.append({
            "kind": kind, "n": n, "k": ratio * n, "told": name, "problems": problems,
            "expected_over_true": float(expected.sum() / true.sum()),
            "standard_error": float((expected / true).std(ddof=1) / np.sqrt(problems)),
            "bits": float(bits.mean()), "f1": float(score.mean()),
        })  # fmt: skip
    return rows


def main() -> None:
    """Measure and keep."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--problems", type=int, default=8)
    problems, rows = parser.parse_args().problems, []
    for kind in KINDS:
        for n in (20, 50):
            for ratio in (2, 10):
                rows += cell(kind, n, ratio, problems if n == 20 else max(problems // 2, 2))
                print(rows[-3:], flush=True)
    save("shapes", "OMP_NUM_THREADS=1 python benchmarks/shapes.py", rows)


if __name__ == "__main__":
    main()
