"""Small matrix facts used throughout: definiteness, inverse, log-determinant, units."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from graphprior.types import Matrix

# Of correlations. With less, variables are copies or sums of others for all that can be computed:
# the evidence squares inverses, and at 1e-7 it lost the edges of a sum in a third of the cases.
LEAST_EIGENVALUE = 1e-5


def cholesky(A: Matrix) -> Matrix | None:
    """Lower Cholesky factor, or None when ``A`` is not positive definite."""
    L, info = lapack.dpotrf(A, lower=1, clean=1)
    # LAPACK lets an infinite or nan pivot pass; such a matrix is not definite.
    return L if info == 0 and np.isfinite(L.sum()) else None


def is_definite(A: Matrix) -> bool:
    """Whether a symmetric matrix is positive definite to machine precision."""
    return cholesky(A) is not None


def cholesky_with_nugget(A: Matrix) -> Matrix:
    """Lower Cholesky factor of a matrix that is definite but for rounding.

    The least share of its diagonal that makes it so is added: dependent variables
    leave a direction with next to no information, and what it has must not be drowned.
    """
    d = np.diag(A)
    for share in (0.0, *10.0 ** np.arange(-15, 0)):
        L = cholesky(A + np.diag(share * d))
        if L is not None:
            return L
    raise np.linalg.LinAlgError("the matrix is not positive definite, nor nearly so")


def inverse_from_cholesky(L: Matrix) -> Matrix:
    """inv(L L^T), symmetric to the last bit."""
    lower, _ = lapack.dpotri(L, lower=1)
    lower = np.tril(lower)
    inverse: Matrix = lower + np.tril(lower, -1).T
    return inverse


def log_determinant(L: Matrix) -> float:
    """log det(L L^T)."""
    return 2.0 * float(np.log(np.diag(L)).sum())


def to_unit_diagonal(A: Matrix) -> tuple[Matrix, Matrix]:
    """``A`` scaled to a unit diagonal, and the scale: A = scale_i scale_j A_unit."""
    scale = np.sqrt(np.diag(A))
    unit = A / scale[:, None] / scale
    np.fill_diagonal(unit, 1.0)
    return unit, scale


def apart(R: Matrix, least: float) -> Matrix:
    """Correlations a little less than they are where the smallest eigenvalue is below ``least``."""
    if np.linalg.eigvalsh(R)[0] >= least:
        return R
    closer: Matrix = (R + least * np.eye(len(R))) / (1 + least)
    return closer


def partial_correlations(Theta: Matrix) -> Matrix:
    """-Theta_ij / sqrt(Theta_ii Theta_jj), with unit diagonal."""
    d = np.sqrt(np.diag(Theta))
    rho: Matrix = -Theta / d[:, None] / d
    np.fill_diagonal(rho, 1.0)
    return rho


def nearest_correlation(R: Matrix, tol: float = 1e-8, max_iter: int = 2000) -> Matrix:
    """The positive semidefinite matrix with unit diagonal nearest to a symmetric ``R``.

    Projections in turn on the semidefinite matrices and on those with unit
    diagonal, the first with Dykstra's correction (Higham 2002). The last step
    scales what is left of the diagonal away.
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
