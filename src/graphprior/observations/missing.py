"""A Gaussian of which entries were not seen, by expectation-maximisation.

Maximum likelihood alone would fill in too well when there are few rows: what
was not seen follows the rest as closely as the rest can be made to. So Theta
has a Wishart prior, whose part vanishes as rows are added.

Let K_t be the inverse of Sigma's block of what row t has, zero elsewhere. What
row t would have been is Sigma K_t z_t with covariance Sigma - Sigma K_t Sigma,
so one step is ``Sigma + Sigma (sum_t K_t z_t z_t' K_t - K_t) Sigma / k``. Rows that
have the same entries share K_t, and nothing is filled in.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from graphprior.errors import GraphPriorError
from graphprior.gaussian.linalg import cholesky, inverse_from_cholesky, log_determinant
from graphprior.gaussian.wishart import WishartPrior
from graphprior.types import Mask, Matrix, Vector

TOLERANCE = 1e-5
MAX_ITER = 1000


class Pattern(NamedTuple):
    """The rows that have exactly the variables ``seen``."""

    seen: npt.NDArray[np.intp]
    rows: npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Fit:
    """Mean, covariance ``Sigma``, and the expected covariance ``S`` of the whole rows under them.

    ``log_posterior`` is that of mean and Sigma up to a constant: without a
    prior, the log-likelihood of what was seen. ``settled`` tells of convergence.
    """

    mean: Vector
    Sigma: Matrix
    S: Matrix
    log_posterior: float
    patterns: tuple[Pattern, ...]
    settled: bool = False


def patterns(seen: Mask) -> tuple[Pattern, ...]:
    """Rows by what they have; those that have nothing say nothing and are left out."""
    kinds, which = np.unique(seen, axis=0, return_inverse=True)
    return tuple(
        Pattern(np.flatnonzero(kind), np.flatnonzero(which.ravel() == p))
        for p, kind in enumerate(kinds)
        if kind.any()
    )


def _inverse(Sigma: Matrix, seen: npt.NDArray[np.intp]) -> tuple[Matrix, float]:
    """Inverse and log-determinant of a block of Sigma."""
    L = cholesky(Sigma[np.ix_(seen, seen)])
    if L is None:
        raise GraphPriorError(
            "the covariance of X with missing entries is singular: columns are dependent; "
            "drop one of them"
        )
    return inverse_from_cholesky(L), log_determinant(L)


def em_steps(
    Z: Matrix, assume_centered: bool = False, prior: WishartPrior | None = None
) -> Iterator[Fit]:
    """Standardised rows ``Z`` with nan: a step of expectation-maximisation after the other.

    The prior enters as nu observations with covariance diag(psi) / nu; without
    one it is maximum likelihood, and needs enough rows.
    """
    known = patterns(~np.isnan(Z))
    k, n = sum(len(p.rows) for p in known), Z.shape[1]
    mean, Sigma = np.zeros(n), np.eye(n)
    nu, psi = (0.0, np.zeros(n)) if prior is None else (prior.nu, prior.psi)
    while True:
        V, total, log_det, fit = np.zeros(Z.shape), np.zeros((n, n)), 0.0, 0.0
        for seen, rows in known:
            K, size = _inverse(Sigma, seen)
            z = Z[np.ix_(rows, seen)] - mean[seen]
            V[np.ix_(rows, seen)] = v = z @ K
            total[np.ix_(seen, seen)] += len(rows) * K
            log_det += len(rows) * size
            fit += float((v * z).sum())
        inverse, size = _inverse(Sigma, np.arange(n))
        penalty = nu * size + float(psi @ np.diag(inverse))
        move = np.zeros(n) if assume_centered else Sigma @ V.sum(axis=0) / k
        S = Sigma + Sigma @ (V.T @ V - total) @ Sigma / k - np.outer(move, move)
        S = (S + S.T) / 2
        yield Fit(mean, Sigma, S, -(log_det + fit + penalty) / 2, known)
        mean, Sigma = mean + move, (k * S + np.diag(psi)) / (k + nu)


def expectation_maximisation(
    Z: Matrix,
    assume_centered: bool = False,
    prior: WishartPrior | None = None,
    tol: float = TOLERANCE,
    max_iter: int = MAX_ITER,
) -> Fit:
    """The last step, when no entry moves by more than ``tol`` or after ``max_iter``."""
    last: Fit | None = None
    for step, fit in enumerate(em_steps(Z, assume_centered, prior), start=1):
        if last is not None:
            moved = max(np.abs(fit.S - last.S).max(), np.abs(fit.mean - last.mean).max())
            if moved <= tol:
                return replace(fit, settled=True)
        last = fit
        if step >= max_iter:
            break
    assert last is not None
    return last


def information(fit: Fit) -> Matrix:
    """Observed Fisher information of each entry of Theta, in complete rows (n, n).

    A row gives M_ii M_jj + M_ij**2 with M = Sigma K_t Sigma, the covariance of
    what it tells; a complete one has M = Sigma.
    """
    Sigma, total = fit.Sigma, np.zeros_like(fit.Sigma)
    for seen, rows in fit.patterns:
        K, _ = _inverse(Sigma, seen)
        M = Sigma[:, seen] @ K @ Sigma[seen]
        d = np.diag(M)
        total += len(rows) * (np.outer(d, d) + M**2)
    d = np.diag(Sigma)
    worth: Matrix = total / (np.outer(d, d) + Sigma**2)
    return worth
