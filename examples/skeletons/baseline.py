"""A method to compare with, to copy: the size of the correlation of two variables.

What it must keep to is in tests/conformance.py (`check_method`). Copied into
src/graphprior/paper/baselines, it can be run in every figure:
`graphprior experiment grids-10 --methods Correlation`.
"""

from __future__ import annotations

import numpy as np

from graphprior.paper.baselines.protocol import Factory
from graphprior.problem.problem import Problem
from graphprior.results.metrics import on_unknown
from graphprior.types import Vector


def correlation(problem: Problem, rng: np.random.Generator) -> Vector:
    """A score in [0, 1] for each unknown pair, higher for a likelier edge."""
    return on_unknown(np.abs(np.corrcoef(problem.X.T)), problem.U)


METHODS: dict[str, Factory] = {"Correlation": lambda setting: correlation}
