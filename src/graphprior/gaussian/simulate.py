"""Simulate precision matrices and observations, and compute log-likelihoods."""

from __future__ import annotations

import numpy as np

from graphprior.errors import GraphPriorError
from graphprior.gaussian.linalg import cholesky, is_definite, log_determinant
from graphprior.types import Matrix


def simulate_precision(A: Matrix, rng: np.random.Generator, tries: int = 10) -> Matrix:
    """Draw a precision matrix Theta_0 with the zeros of ``A``: a masked Wishart(n, 10/n I).

    If the masked matrix is not positive definite, the draw is repeated.
    """
    n = len(A)
    for _ in range(tries):
        Z = rng.standard_normal((n, n)) * np.sqrt(10 / n)
        Theta_0 = (Z @ Z.T) * (A + np.eye(n))
        if is_definite(Theta_0):
            return np.asarray(Theta_0)
    raise GraphPriorError(
        f"none of {tries} draws gave a positive definite precision matrix for a graph of {n} "
        f"nodes and {int(A.sum() / 2)} edges: dense graphs need more tries"
    )


def simulate_observations(Theta: Matrix, k: int, rng: np.random.Generator) -> Matrix:
    """Draw k observations from N(0, inv(Theta)), as the rows of X (k, n)."""
    L = cholesky(Theta)
    if L is None:
        raise GraphPriorError("Theta is not positive definite: expected a precision matrix")
    return np.asarray(np.linalg.solve(L.T, rng.standard_normal((len(Theta), k))).T, np.float64)


def log_likelihood(Theta: Matrix, S: Matrix, k: int) -> float:
    """Return log p(X | Theta), or -inf if Theta is not positive definite. Eq. (5)."""
    L = cholesky(Theta)
    if L is None:
        return -np.inf
    n = len(S)
    return 0.5 * k * (log_determinant(L) - float(np.vdot(S, Theta)) - n * float(np.log(2 * np.pi)))


def row_log_densities(Z: Matrix, Theta: Matrix) -> Matrix:
    """Return the log-density of each row of ``Z`` (k, n) under N(0, inv(Theta)).

    Entries that are nan are integrated out.
    """
    seen, Sigma, out = ~np.isnan(Z), np.linalg.inv(Theta), np.empty(len(Z))
    for pattern in np.unique(seen, axis=0):  # all rows with the same missing entries together
        rows = (seen == pattern).all(axis=1)
        out[rows] = _log_density(
            Z[np.ix_(rows, pattern)], np.linalg.inv(Sigma[np.ix_(pattern, pattern)])
        )
    return out


def _log_density(Z: Matrix, Theta: Matrix) -> Matrix:
    _, log_det = np.linalg.slogdet(Theta)
    return np.asarray(0.5 * (log_det - ((Z @ Theta) * Z).sum(1) - Z.shape[1] * np.log(2 * np.pi)))
