"""Covariance and the constrained maximum likelihood estimate of its inverse."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sklearn.covariance import ledoit_wolf_shrinkage

from graphprior.gaussian.glasso import MAX_ITER, TOLERANCE, optimum_exists, solve
from graphprior.gaussian.linalg import LEAST_EIGENVALUE, to_unit_diagonal
from graphprior.problem.problem import Problem
from graphprior.types import Matrix


@dataclass(frozen=True)
class PrecisionFacts:
    """Whether the likelihood had a maximum, by how much S was shrunk if not, and the residual."""

    mle_exists: bool = True
    shrinkage: float = 0.0
    kkt_residual: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values."""
        return asdict(self)


@dataclass(frozen=True)
class PrecisionEstimate:
    """A precision matrix and how far it can be trusted.

    ``exists`` tells whether the likelihood has a maximum. Where it has none,
    the estimate is that of ``(1 - shrinkage) S + shrinkage diag(S)``, kept as
    ``S``. ``k`` is the number of observations that S is worth.
    """

    Theta: Matrix
    S: Matrix
    k: float
    exists: bool
    shrinkage: float
    kkt_residual: float
    iterations: int

    def facts(self) -> PrecisionFacts:
        """How the estimate was reached, for diagnostics."""
        return PrecisionFacts(self.exists, self.shrinkage, self.kkt_residual)


def standardise(X: Matrix, assume_centered: bool = False) -> Matrix:
    """Z: the observations with mean zero and mean square one in each column."""
    Z = X if assume_centered else X - X.mean(axis=0)
    return np.asarray(Z / np.sqrt((Z**2).mean(axis=0)))


def shrinkage_intensity(X: Matrix, assume_centered: bool = False) -> float:
    """Ledoit-Wolf's weight of diag(S), on the correlation scale so that units do not matter."""
    Z = standardise(X, assume_centered)
    return float(np.clip(ledoit_wolf_shrinkage(Z, assume_centered=True), 1e-3, 1.0))


def gaussian_shrinkage(S: Matrix, k: float) -> float:
    """What Ledoit-Wolf's weight is on average for Gaussian data, by the covariance alone."""
    R, _ = to_unit_diagonal(S)
    n, size = len(R), float((R**2).sum())
    noise = (n**2 + size) / k
    return float(np.clip(noise / max(size - n, 1e-12), 1e-3, 1.0))


def shrink(S: Matrix, a: float) -> Matrix:
    """(1 - a) S + a diag(S): definite for every a > 0."""
    return (1 - a) * S + a * np.diag(np.diag(S))


def penalty_matrix(problem: Problem, lam: float) -> Matrix:
    """Lambda: none on known edges, ``lam`` on unknown pairs, infinite on known non-edges."""
    Lambda = np.where(problem.U, lam, np.where(problem.known == 0, np.inf, 0.0))
    np.fill_diagonal(Lambda, 0.0)
    return Lambda


def weighted_lasso(
    problem: Problem,
    lam: float,
    tol: float = TOLERANCE,
    max_iter: int = MAX_ITER,
    start: Matrix | None = None,
) -> PrecisionEstimate:
    """Penalised maximum likelihood: ``lam`` on the unknown pairs, in the units of S.

    Where no maximum exists (too few observations for the entries without
    penalty), the estimate is that of a covariance shrunk to its diagonal, and
    says so. ``start`` is the estimate of another penalty.
    """
    told = problem.moments
    S = told.S
    Lambda = penalty_matrix(problem, lam)
    Theta, residual, iterations = solve(S, Lambda, start, tol, max_iter)
    exists, a = optimum_exists(Theta, S, Lambda), 0.0
    if not exists:
        complete = told.worth is None
        a = (
            shrinkage_intensity(problem.X, problem.observations.assume_centered)
            if complete
            else gaussian_shrinkage(S, told.k)
        )
        S = shrink(S, a)
        Theta, residual, iterations = solve(S, Lambda, None, tol, max_iter)
    return PrecisionEstimate(Theta, S, told.k, exists, a, residual, iterations)


def constrained_mle(
    problem: Problem,
    tol: float = TOLERANCE,
    max_iter: int = MAX_ITER,
) -> PrecisionEstimate:
    """Theta_hat: maximum likelihood with zeros where an edge is known absent. Eq. (9).

    It is shrunk where no maximum exists (`weighted_lasso`).
    """
    return weighted_lasso(problem, 0.0, tol, max_iter)


def dependent_columns(S: Matrix) -> list[int]:
    """Variables that take part in a (nearly) singular direction of S, if there is one."""
    R, _ = to_unit_diagonal(S)
    values, vectors = np.linalg.eigh(R)
    singular = vectors[:, values <= LEAST_EIGENVALUE]
    return [int(i) for i in np.flatnonzero(np.linalg.norm(singular, axis=1) > 0.1)]
