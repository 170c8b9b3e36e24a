"""One interface for every method: a problem in, a score for each unknown pair out.

A file of this folder offers methods in its ``METHODS``: a name and a function
that makes the method from a `Setting`. Nothing else must be told of a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from graphprior.errors import GraphPriorError
from graphprior.problem.problem import Problem
from graphprior.types import Vector


class Method(Protocol):
    """(Problem, rng) -> scores on U, in the order of vech, higher for a likelier edge.

    Scores lie in [0, 1], so that one grid of thresholds suits all; a method that
    decides by itself gives 0 and 1.
    """

    def __call__(self, problem: Problem, rng: np.random.Generator) -> Vector:
        """Scores of one problem."""
        ...


@dataclass(frozen=True)
class Penalty:
    """lambda(k) = 1 / (a log(k)^2 + b log(k) + c), fitted on training graphs.

    Beyond the numbers of observations it was fitted on, ``low`` to ``high``, a
    parabola means nothing: it keeps its value at the end.
    """

    a: float
    b: float
    c: float
    low: float = 2.0
    high: float = np.inf

    def __call__(self, k: float) -> float:
        """The penalty for k observations."""
        t = np.log(min(max(k, self.low), self.high))
        value = self.a * t**2 + self.b * t + self.c
        if value <= 0:
            raise GraphPriorError(f"the fitted lambda(k) has no value at k = {k}: tune it there")
        return float(1 / value)


@dataclass(frozen=True)
class Setting:
    """What a figure gives its methods besides the problem.

    Priors by kind, fitted penalties, and the most steps T of Algorithm 1 at a level.
    """

    priors: Mapping[str, str] = field(default_factory=dict)
    penalties: Mapping[str, Penalty] = field(default_factory=dict)
    T: int = 300

    def prior(self, kind: str) -> str:
        """Name of the figure's prior of a kind."""
        if kind not in self.priors:
            raise GraphPriorError(f"this figure has no prior of kind {kind!r}")
        return self.priors[kind]

    def penalty(self, name: str) -> Penalty:
        """The penalty tuned for a lasso."""
        if name not in self.penalties:
            raise GraphPriorError(f"the penalty of {name} was not tuned for this figure")
        return self.penalties[name]


Factory = Callable[[Setting], Method]
