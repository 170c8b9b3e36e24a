"""Dense graphs of three factors with nothing known: what is lost, by what is told.

    OMP_NUM_THREADS=1 python benchmarks/dense.py [--problems 4]

The problems are those of benchmarks/sizes.py, with 20 rows for each variable. Told are the rate of
edges, the size and shape of their strengths, or both, as they truly are; or both as the pairs one
by one suggest (by_pair.py). "start" is told nothing, but its chain starts at the true precision
matrix: where the truth is likely it stays there. It has edges where they are in at least half of
the last 20 of 120 sweeps.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np
from record import save
from sizes import KINDS, truth

from graphprior.evidence.chains import Drawn
from graphprior.evidence.evidence import Evidence, data_evidence
from graphprior.evidence.slab import Rate, Slab
from graphprior.gaussian.simulate import simulate_observations
from graphprior.graphs.matrices import vech
from graphprior.problem.problem import Problem
from graphprior.results.metrics import f1
from graphprior.types import Matrix, Vector
from shapes import SURE, shape_of

RATIO = 20
AWAY, KEPT = 100, 20  # sweeps after which a chain that starts at the truth is looked at


def from_truth(evidence: Evidence, A: Matrix, Theta: Matrix, slab: Slab) -> tuple[Vector, Slab]:
    """Probabilities, and the last slab, of a chain that starts at the truth."""
    rng, nothing = np.random.default_rng(0), np.zeros_like(A)
    start = Drawn(Theta / np.outer(evidence.units, evidence.units), A == 1, slab)
    there, _ = evidence.chains.draw(rng, start, nothing, True, AWAY)
    there, draws = evidence.chains.draw(rng, there, nothing, True, KEPT)
    return draws.probabilities[evidence.rows, evidence.cols], there.slab


def answers(problem: Problem, A: Matrix, Theta: Matrix) -> dict[str, tuple[Vector, Slab]]:
    """Probabilities of the pairs and the mean slab, by what is told."""
    true = shape_of(A, Theta)
    found = data_evidence(problem)
    rate = Rate(SURE * true.rate, SURE * (1 - true.rate))
    by_rate, by_both = data_evidence(problem, rate=rate), data_evidence(problem, fixed=true)
    shaped = replace(
        by_both.chains, rate=found.chains.rate,
        states=tuple(state._replace(slab=true) for state in by_both.chains.states),
    ).beliefs(np.zeros_like(A), with_rate=True, settle=True)  # fmt: skip
    told = {
        "nothing": (found.beliefs.p, found.slab),
        "rate": (by_rate.beliefs.p, by_rate.slab),
        "shape": (shaped.beliefs.p, shaped.slab),
        "rate and shape": (by_both.beliefs.p, by_both.slab),
        "start": from_truth(found, A, Theta, true),
    }
    if found.by_pair is not None:
        edges, variance = found.by_pair
        own = data_evidence(problem, fixed=Slab(min(variance, 0.25), edges / len(found.rows)))
        told["both, by pair"] = (own.beliefs.p, own.slab)
    return told


def cell(n: int, problems: int) -> list[dict[str, object]]:
    """Means over some problems of n variables, by what is told."""
    found: dict[str, list[list[float]]] = {}
    for g in range(problems):
        rng = np.random.default_rng([11, KINDS.index("factor"), n, RATIO, g])
        A, Theta = truth("factor", n, rng)
        problem = Problem.create(simulate_observations(Theta, RATIO * n, rng))
        a, true = vech(A), shape_of(A, Theta)
        for told, (p, slab) in answers(problem, A, Theta).items():
            bits = -np.log2(np.clip(np.where(a == 1, p, 1 - p), 1e-9, 1)).mean()
            found.setdefault(told, []).append([
                p.sum() / a.sum(), f1(a, p >= 0.5), bits, slab.rate,
                np.sqrt(slab.variance / true.variance),
            ])  # fmt: skip
    names = ("expected_over_true", "f1", "bits", "edge_rate", "strength_over_true")
    return [
        {"n": n, "k": RATIO * n, "told": told, "problems": problems}
        | dict(zip(names, np.mean(values, axis=0).tolist(), strict=True))
        for told, values in found.items()
    ]


def main() -> None:
    """Measure and keep."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--problems", type=int, default=4)
    problems, rows = parser.parse_args().problems, []
    for n in (30, 50, 64, 100):
        rows += cell(n, problems)
        print(rows[-6:], flush=True)
    save("dense", "OMP_NUM_THREADS=1 python benchmarks/dense.py", rows)


if __name__ == "__main__":
    main()
