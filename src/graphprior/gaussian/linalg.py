"""Linear algebra for symmetric matrices: Cholesky factors, inverses, scaling."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from graphprior.types import Matrix

# Of a correlation matrix. Below this, a variable cannot be told numerically from a copy or a sum of
# others: the evidence squares inverses, and with 1e-7 the edges of a sum were lost in a third of
# the cases.
LEAST_EIGENVALUE = 1e-5


def cholesky(A: Matrix) -> Matrix | None:
    """Return the lower Cholesky factor, or None if ``A`` is not positive definite."""
    L, info = lapack.dpotrf(A, lower=1, clean=1)
    # LAPACK reports success for infinite or nan pivots, but such a matrix is not definite.
    return L if info == 0 and np.isfinite(L.sum()) else None


def is_definite(A: Matrix) -> bool:
    """Whether a symmetric matrix is positive definite to machine precision."""
    return cholesky(A) is not None


def cholesky_with_nugget(A: Matrix) -> Matrix:
    """Return the lower Cholesky factor of a matrix that is definite except for rounding errors.

    A share of the diagonal is added to it, as little as makes it positive
    definite. Dependent variables leave a direction with very little
    information, and a larger share would hide that.
    """
    d = np.diag(A)
    for share in (0.0, *10.0 ** np.arange(-15, 0)):
        L = cholesky(A + np.diag(share * d))
        if L is not None:
            return L
    raise np.linalg.LinAlgError("the matrix is far from positive definite")


def inverse_from_cholesky(L: Matrix) -> Matrix:
    """Return inv(L L^T), which is exactly symmetric."""
    lower, _ = lapack.dpotri(L, lower=1)
    lower = np.tril(lower)
    inverse: Matrix = lower + np.tril(lower, -1).T
    return inverse


def log_determinant(L: Matrix) -> float:
    """Return log det(L L^T)."""
    return 2.0 * float(np.log(np.diag(L)).sum())


def to_unit_diagonal(A: Matrix) -> tuple[Matrix, Matrix]:
    """Return ``A`` scaled to a unit diagonal, and the scale: A_ij = scale_i scale_j unit_ij."""
    scale = np.sqrt(np.diag(A))
    unit = A / scale[:, None] / scale
    np.fill_diagonal(unit, 1.0)
    return unit, scale


def apart(R: Matrix, least: float) -> Matrix:
    """Shrink the correlations ``R`` slightly if their smallest eigenvalue is below ``least``."""
    if np.linalg.eigvalsh(R)[0] >= least:
        return R
    closer: Matrix = (R + least * np.eye(len(R))) / (1 + least)
    return closer


def partial_correlations(Theta: Matrix) -> Matrix:
    """Return the partial correlations -Theta_ij / sqrt(Theta_ii Theta_jj), with unit diagonal."""
    d = np.sqrt(np.diag(Theta))
    rho: Matrix = -Theta / d[:, None] / d
    np.fill_diagonal(rho, 1.0)
    return rho


def nearest_correlation(R: Matrix, tol: float = 1e-8, max_iter: int = 2000) -> Matrix:
    """Return the correlation matrix (semidefinite, with unit diagonal) nearest to ``R``.

    It is found by alternating projections onto the semidefinite matrices, with
    Dykstra's correction, and onto those with unit diagonal (Higham 2002). At the
    end, the result is scaled to an exact unit diagonal.
    """
    if np.linalg.eigvalsh(R)[0] >= 0:
        return R
    Y, correction = R, np.zeros_like(R)
    for _ in range(max_iter):
        shifted = Y - correction
        values, vectors = np.linalg.eigh(shifted)
        X = (vectors * np.maximum(values, 0.0)) @ vectors.T
        correction = X - shifted
        Y = X.copy()
        np.fill_diagonal(Y, 1.0)
        if np.abs(Y - X).max() <= tol:
            break
    return to_unit_diagonal((X + X.T) / 2)[0]
