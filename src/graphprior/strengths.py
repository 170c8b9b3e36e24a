"""The likelihood of the unknown pairs' strengths, with all other entries integrated out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from graphprior.field import Field
from graphprior.graphs import Matrix
from graphprior.linalg import inverse_from_cholesky
from graphprior.quadratic import Coupled, integrate_out
from graphprior.spike_slab import Beliefs, Vector

Moment = Callable[[Beliefs], Vector]


def coupled_likelihood(told: Coupled, ridge: Vector) -> tuple[Coupled, Moment]:
    """The likelihood with its full coupling, and E[strength**2] of the nuisance by beliefs.

    In ``told`` the nuisance comes first; ``ridge`` is its prior precision.
    """
    is_nuisance = np.arange(len(told.b)) < len(ridge)
    F, b, slope, at_zero, factor = integrate_out(told.F, told.b, is_nuisance, ridge)
    own_variance = np.diag(inverse_from_cholesky(factor))

    def moment(beliefs: Beliefs) -> Vector:
        mean, spread = mixed_moments(beliefs)
        second: Vector = (at_zero + slope @ mean) ** 2 + own_variance + slope**2 @ spread
        return second

    return Coupled(F, b), moment


def field_likelihood(
    Theta: Matrix, S: Matrix, k: float, unknown: Any, nuisance: Any, ridge: Vector,
    share: Vector | None = None,
) -> tuple[Field, Moment]:  # fmt: skip
    """The same without a matrix of pairs by pairs."""
    W = np.asarray(np.linalg.inv(Theta), dtype=np.float64)
    field = Field.create(W, S, k, unknown, nuisance, ridge, share)
    inverse = solve_triangular(field.factor, np.eye(len(ridge)), lower=True)
    own_variance = (inverse**2).sum(0)

    def moment(beliefs: Beliefs) -> Vector:
        second: Vector = field.nuisance_mean(mixed_moments(beliefs)[0]) ** 2 + own_variance
        return second

    return field, moment


def mixed_moments(beliefs: Beliefs) -> tuple[Vector, Vector]:
    """Mean and variance of the unknown strengths, spike and slab mixed."""
    mean: Vector = beliefs.p * beliefs.mean
    spread: Vector = beliefs.p * (beliefs.variance + beliefs.mean**2) - mean**2
    return mean, spread
