"""Graphical lassos: with what is known (WGL), without it (GL), bootstrapped (BGL).

As in the paper the penalty acts on the covariance. On correlations it would
weigh on a hub, whose variance its many edges raise; ego-nets have one each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graphprior.engines.bootstrap import bootstrapped_glasso
from graphprior.evidence.precision import weighted_lasso
from graphprior.graphs.matrices import nothing_known
from graphprior.observations.moments import sample_covariance
from graphprior.paper.baselines.protocol import Factory, Penalty
from graphprior.problem.problem import Problem
from graphprior.results.metrics import on_unknown
from graphprior.types import Matrix, Vector

TOLERANCE = 1e-4


def forget(problem: Problem) -> Problem:
    """The problem without what is known."""
    return problem.with_known(nothing_known(problem.n))


def supports(problem: Problem, lams: Sequence[float], uses_known: bool) -> list[Vector]:
    """1 where the lasso keeps an unknown pair, else 0, for each penalty.

    From the largest penalty down: each estimate is the start of the next.
    """
    asked = problem if uses_known else forget(problem)
    Theta: Matrix | None = None
    found: dict[float, Vector] = {}
    for lam in sorted(lams, reverse=True):
        Theta = weighted_lasso(asked, lam, tol=TOLERANCE, start=Theta).Theta
        found[lam] = on_unknown((Theta != 0).astype(np.float64), problem.U)
    return [found[lam] for lam in lams]


@dataclass(frozen=True)
class Lasso:
    """Graphical lasso with a tuned penalty; known edges are free and known non-edges zero."""

    penalty: Penalty
    uses_known: bool

    def __call__(self, problem: Problem, rng: np.random.Generator) -> Vector:
        """The support, as 0 and 1."""
        return supports(problem, [self.penalty(problem.k)], self.uses_known)[0]


@dataclass(frozen=True)
class Bootstrapped:
    """Share of resampled graphical lassos that keep the edge."""

    penalty: Penalty
    B: int = 50

    def __call__(self, problem: Problem, rng: np.random.Generator) -> Vector:
        """A_boot on the unknown pairs."""
        lam = self.penalty(problem.k)
        A_boot = bootstrapped_glasso(problem.X, rng, lam, self.B, of=sample_covariance)
        return on_unknown(A_boot, problem.U)


METHODS: dict[str, Factory] = {
    "WGL": lambda setting: Lasso(setting.penalty("WGL"), uses_known=True),
    "GL": lambda setting: Lasso(setting.penalty("GL"), uses_known=False),
    "BGL": lambda setting: Bootstrapped(setting.penalty("GL")),
}
