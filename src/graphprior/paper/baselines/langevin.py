"""The paper's method: Algorithm 1 with its own network and plug-in likelihood, and its variants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar, Literal

import numpy as np

import graphprior.engines.langevin as engines
from graphprior.choices import Use
from graphprior.engines.bootstrap import bootstrapped_glasso, fix_edges
from graphprior.estimator import PartialGGM
from graphprior.observations.moments import sample_covariance
from graphprior.paper.baselines.protocol import Factory, Penalty, Setting
from graphprior.priors.noise import Schedule
from graphprior.priors.protocol import Prior
from graphprior.priors.store import load_prior
from graphprior.problem.problem import Problem
from graphprior.results.metrics import on_unknown
from graphprior.types import Vector

M = 10
Variant = Literal["LPost", "LPr", "LL"]
# The paper's words for what is followed.
USE = {"LPost": Use.BOTH, "LPr": Use.PRIOR, "LL": Use.DATA}
# Sizes of training sets in the ERGM figure.
TRAINING_SETS = (250, 300, 500, 1000)


@cache
def prior_once(name: str) -> Prior:
    """A prior read once in each process."""
    return load_prior(name)


@dataclass(frozen=True)
class Langevin:
    """Mean of M graphs drawn by Algorithm 1."""

    draws: ClassVar[int] = M
    prior: str | None
    variant: Variant
    schedule: Schedule

    def __call__(self, problem: Problem, rng: np.random.Generator) -> Vector:
        """Share of drawn graphs with the edge."""
        prior = None if self.prior is None else prior_once(self.prior)
        model = PartialGGM(
            prior,
            engine=engines.Langevin(self.draws, schedule=self.schedule, bootstrap=None),
            use=USE[self.variant],
            random_state=rng,
        ).fit(problem.X, known=problem.known)
        return on_unknown(model.edge_probabilities_, problem.U)


class OneSample(Langevin):
    """One graph alone, which is what the authors' code draws for LPr."""

    draws = 1


@dataclass(frozen=True)
class Bootstrapped:
    """Algorithm 1 on the pairs that the bootstrap leaves open; the others count as known."""

    inner: Langevin
    p_m: float
    penalty: Penalty

    def __call__(self, problem: Problem, rng: np.random.Generator) -> Vector:
        """Scores of all unknown pairs: 0 and 1 where the bootstrap is sure."""
        lam = self.penalty(problem.k)
        A_boot = bootstrapped_glasso(problem.X, rng, lam, of=sample_covariance)
        fixed = problem.with_known(fix_edges(A_boot, self.p_m))
        P = np.nan_to_num(fixed.known)
        if fixed.U.any():
            P[np.triu(fixed.U)] = self.inner(fixed, rng)
        return on_unknown(np.maximum(P, P.T), problem.U)


def papers(T: int) -> Schedule:
    """The paper's levels and step size."""
    return Schedule.linear(T=T)


def relaxed(T: int) -> Schedule:
    """The engine's own, with fewer steps where a quick look asks for fewer."""
    own = Schedule.relaxed()
    return replace(own, T=min(T, own.T))


def _langevin(
    kind: str = "edp-gnn",
    variant: Variant = "LPost",
    schedule: Callable[[int], Schedule] = papers,
    sampler: type[Langevin] = Langevin,
) -> Callable[[Setting], Langevin]:
    return lambda setting: sampler(setting.prior(kind), variant, schedule(setting.T))


def _bootstrapped(p_m: float) -> Factory:
    return lambda setting: Bootstrapped(_langevin()(setting), p_m, setting.penalty("GL"))


METHODS: dict[str, Factory] = {
    "LPost": _langevin(),
    "LPr": _langevin(variant="LPr"),
    "LPr(one sample)": _langevin(variant="LPr", sampler=OneSample),
    "LPost(relaxed)": _langevin(schedule=relaxed),
    "LPr(relaxed)": _langevin(variant="LPr", schedule=relaxed),
    "LL": lambda setting: Langevin(None, "LL", papers(setting.T)),
    **{f"LPost(p_m={p_m})": _bootstrapped(p_m) for p_m in (0.3, 0.45)},
    **{f"LPost(|A|={count})": _langevin(f"edp-gnn {count}") for count in TRAINING_SETS},
    **{
        f"LPost(relaxed; |A|={count})": _langevin(f"edp-gnn {count}", schedule=relaxed)
        for count in TRAINING_SETS
    },
}
WITHOUT_DATA = frozenset(name for name in METHODS if name.startswith("LPr"))
