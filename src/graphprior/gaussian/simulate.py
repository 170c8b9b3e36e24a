"""Gaussian graphical models: drawing them, and the likelihood of a graph.

The likelihood of a graph needs a precision matrix. The paper plugs one in: the
constrained estimate ``Theta_hat``, masked by the graph. For a noisy graph the
mask is not binary, and ``Theta_tilde = Theta_hat * (A_tilde + I)`` moves
smoothly with it.
"""

from __future__ import annotations

import numpy as np

from graphprior.errors import GraphPriorError
from graphprior.gaussian.linalg import cholesky, is_definite, log_determinant
from graphprior.types import Matrix


def simulate_precision(A: Matrix, rng: np.random.Generator, tries: int = 10) -> Matrix:
    """Theta_0 with the support of ``A``: a Wishart(n, 10/n I) draw, masked.

    Masking can destroy definiteness; the draw is then repeated.
    """
    n = len(A)
    for _ in range(tries):
        Z = rng.standard_normal((n, n)) * np.sqrt(10 / n)
        Theta_0 = (Z @ Z.T) * (A + np.eye(n))
        if is_definite(Theta_0):
            return np.asarray(Theta_0)
    raise GraphPriorError(
        f"no positive definite precision matrix in {tries} draws for a graph of {n} nodes and "
        f"{int(A.sum() / 2)} edges: dense graphs need more tries"
    )


def simulate_observations(Theta: Matrix, k: int, rng: np.random.Generator) -> Matrix:
    """X (k, n): rows from N(0, inv(Theta))."""
    L = cholesky(Theta)
    if L is None:
        raise GraphPriorError("Theta is not positive definite: it is no precision matrix")
    return np.asarray(np.linalg.solve(L.T, rng.standard_normal((len(Theta), k))).T, np.float64)


def log_likelihood(Theta: Matrix, S: Matrix, k: int) -> float:
    """log p(X | Theta), -inf where Theta is not definite. Eq. (5)."""
    L = cholesky(Theta)
    if L is None:
        return -np.inf
    n = len(S)
    return 0.5 * k * (log_determinant(L) - float(np.vdot(S, Theta)) - n * float(np.log(2 * np.pi)))


def row_log_densities(Z: Matrix, Theta: Matrix) -> Matrix:
    """log p of each row of ``Z`` (k, n) under N(0, inv(Theta)), of its entries that are not nan."""
    seen, Sigma, out = ~np.isnan(Z), np.linalg.inv(Theta), np.empty(len(Z))
    for pattern in np.unique(seen, axis=0):  # rows that lack the same entries, together
        rows = (seen == pattern).all(axis=1)
        out[rows] = _log_density(
            Z[np.ix_(rows, pattern)], np.linalg.inv(Sigma[np.ix_(pattern, pattern)])
        )
    return out


def _log_density(Z: Matrix, Theta: Matrix) -> Matrix:
    _, log_det = np.linalg.slogdet(Theta)
    return np.asarray(0.5 * (log_det - ((Z @ Theta) * Z).sum(1) - Z.shape[1] * np.log(2 * np.pi)))
