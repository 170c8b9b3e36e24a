"""The likelihood of the unknown pairs' strengths, with all other entries integrated out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

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


def mixed_moments(beliefs: Beliefs) -> tuple[Vector, Vector]:
    """Mean and variance of the unknown strengths, spike and slab mixed."""
    mean: Vector = beliefs.p * beliefs.mean
    spread: Vector = beliefs.p * (beliefs.variance + beliefs.mean**2) - mean**2
    return mean, spread
