"""Precision matrices with known zeros: constrained MLE and weighted graphical lasso.

Both minimise ``-log det Theta + tr(S Theta) + sum Lambda_ij |Theta_ij|``; an
infinite penalty is a known zero and no penalty on the rest is the MLE. One
solver serves both: Newton's method, each step solved by conjugate gradients on
the entries that may move, within the orthant of the current signs. It works
on the correlation scale, so units do not matter.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.covariance import ledoit_wolf_shrinkage

from graphprior.errors import GraphPriorError, GraphPriorWarning
from graphprior.graphs import Mask, Matrix, Problem
from graphprior.linalg import (
    cholesky,
    inverse_from_cholesky,
    is_definite,
    log_determinant,
    to_unit_diagonal,
)

TOLERANCE = 1e-6
# Entries of inv(S) on the correlation scale beyond this are a likelihood without maximum.
RUNAWAY = 1e8


@dataclass(frozen=True)
class PrecisionEstimate:
    """A precision matrix and how far it can be trusted.

    ``exists`` tells whether the likelihood has a maximum. Where it has none,
    the estimate is that of ``(1 - shrinkage) S + shrinkage diag(S)``, kept as
    ``S``.
    """

    Theta: Matrix
    S: Matrix
    exists: bool
    shrinkage: float
    kkt_residual: float
    iterations: int


def sample_covariance(X: Matrix, assume_centered: bool = False) -> Matrix:
    """S, the covariance of the observations (divided by k)."""
    X = X if assume_centered else X - X.mean(axis=0)
    S: Matrix = X.T @ X / len(X)
    return S


def shrinkage_intensity(X: Matrix) -> float:
    """Ledoit-Wolf's weight of diag(S), on the correlation scale so that units do not matter."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    return float(np.clip(ledoit_wolf_shrinkage(Z, assume_centered=True), 1e-3, 1.0))


def shrink(S: Matrix, a: float) -> Matrix:
    """(1 - a) S + a diag(S): definite for every a > 0."""
    return (1 - a) * S + a * np.diag(np.diag(S))


def pseudo_gradient(
    Theta: Matrix, W: Matrix, S: Matrix, Lambda: Matrix
) -> tuple[Matrix, Matrix, Mask]:
    """Steepest slope of the penalised objective, the signs it assumes, and what may move.

    The slope is zero at the minimum. ``W`` is inv(Theta). An entry at zero
    stays there while its slope is below its penalty.
    """
    G = S - W
    signs = np.where(Theta != 0, np.sign(Theta), -np.sign(G))
    movable = (Theta != 0) | (np.abs(G) > Lambda)
    penalty = np.where(movable, Lambda, 0.0)
    return np.where(movable, G + penalty * signs, 0.0), signs, movable


def kkt_residual(Theta: Matrix, S: Matrix, Lambda: Matrix) -> float:
    """Largest violation of the optimality conditions, on the scale where S has unit diagonal."""
    R, scale = to_unit_diagonal(S)
    T = Theta * scale[:, None] * scale
    L = cholesky(T)
    if L is None:
        return float("inf")
    W = inverse_from_cholesky(L)
    slope, _, _ = pseudo_gradient(T, W, R, Lambda / scale[:, None] / scale)
    return float(np.abs(slope).max())


def _newton_direction(W: Matrix, slope: Matrix, movable: Mask, accuracy: float) -> Matrix:
    """Solve W D W = -slope on the movable entries by preconditioned conjugate gradients."""
    w = np.diag(W)
    precondition = np.where(movable, 1.0 / (np.outer(w, w) + W * W), 0.0)
    D = np.zeros_like(W)
    r = -slope
    z = precondition * r
    p, rz = z, float(np.vdot(r, z))
    stop = accuracy * np.sqrt(rz)
    for _ in range(min(500, int(movable.sum()))):
        Hp = np.where(movable, W @ p @ W, 0.0)
        curvature = float(np.vdot(p, Hp))
        if curvature <= 0:
            break
        step = rz / curvature
        D = D + step * p
        r = r - step * Hp
        z = precondition * r
        rz, previous = float(np.vdot(r, z)), rz
        if np.sqrt(rz) <= stop:
            break
        p = z + (rz / previous) * p
    direction: Matrix = (D + D.T) / 2
    return direction


def _objective(L: Matrix, Theta: Matrix, S: Matrix, penalty: Matrix) -> float:
    return float(-log_determinant(L) + np.vdot(S, Theta) + np.vdot(penalty, np.abs(Theta)))


def _direction(
    Theta: Matrix, W: Matrix, slope: Matrix, signs: Matrix, movable: Mask, penalised: Mask
) -> Matrix:
    """Newton direction in which entries that would change sign stop at zero.

    Cutting those entries off after the fact spoils the step for all others
    (the line search then shrinks it); solving once more with them held at zero
    needs about a third of the iterations.
    """
    # Exact steps only pay close to the solution.
    accuracy = min(0.1, float(np.sqrt(np.abs(slope).max())))
    D = _newton_direction(W, slope, movable, accuracy)
    crossing = penalised & movable & ((Theta + D) * signs < 0)
    if not crossing.any():
        return D
    held = np.where(crossing, -Theta, 0.0)
    rest = movable & ~crossing
    slope_after = np.where(rest, slope + W @ held @ W, 0.0)
    repaired = held + _newton_direction(W, slope_after, rest, accuracy)
    return repaired if np.vdot(slope, repaired) < 0 else D


def _minimise(
    R: Matrix, Lambda: Matrix, Theta: Matrix, tol: float, max_iter: int
) -> tuple[Matrix, float, int]:
    """Minimise on the correlation scale from a definite start; (Theta, KKT residual, steps)."""
    penalty = np.where(np.isfinite(Lambda), Lambda, 0.0)
    L = cholesky(Theta)
    if L is None:
        raise GraphPriorError("the start of the solver must be positive definite")
    value = _objective(L, Theta, R, penalty)
    for iteration in range(max_iter + 1):
        W = inverse_from_cholesky(L)
        slope, signs, movable = pseudo_gradient(Theta, W, R, Lambda)
        residual = float(np.abs(slope).max())
        if residual <= tol or np.abs(Theta).max() > RUNAWAY or iteration == max_iter:
            break
        D = _direction(Theta, W, slope, signs, movable, penalty > 0)
        found = _line_search(R, penalty, Theta, value, D, slope, signs)
        if found is None:
            break
        Theta, L, value = found
    return Theta, residual, iteration


def _line_search(
    R: Matrix,
    penalty: Matrix,
    Theta: Matrix,
    value: float,
    D: Matrix,
    slope: Matrix,
    signs: Matrix,
) -> tuple[Matrix, Matrix, float] | None:
    """The longest halved step that stays definite, in its orthant, and goes down enough."""
    step = 1.0
    while step > 1e-10:
        trial = Theta + step * D
        trial = np.where((penalty > 0) & (trial * signs < 0), 0.0, trial)
        L = cholesky(trial)
        if L is not None:
            new = _objective(L, trial, R, penalty)
            enough = 1e-4 * float(np.vdot(slope, trial - Theta)) + 1e-14 * abs(value)
            if new <= value + enough:
                return trial, L, new
        step /= 2
    return None


def weighted_glasso(
    S: Matrix,
    Lambda: Matrix,
    start: Matrix | None = None,
    tol: float = TOLERANCE,
    max_iter: int = 200,
) -> Matrix:
    """Weighted graphical lasso: penalty Lambda_ij |Theta_ij| on each entry. Eq. (1).

    ``Lambda`` is symmetric and non-negative; ``inf`` fixes an entry at exactly
    zero. ``start`` is a definite matrix with zeros where Lambda is infinite.
    """
    Lambda = check_penalty(Lambda, len(S))
    Theta, residual, _ = _solve(S, Lambda, start, tol, max_iter)
    if residual > tol:
        warnings.warn(
            f"weighted graphical lasso stopped at optimality residual {residual:.1e} "
            f"(wanted {tol:.0e}): with so few observations a larger penalty is needed",
            GraphPriorWarning,
            stacklevel=2,
        )
    return Theta


def check_penalty(Lambda: Matrix, n: int) -> Matrix:
    """A symmetric, non-negative penalty matrix with a finite diagonal."""
    Lambda = np.asarray(Lambda, dtype=np.float64)
    if Lambda.shape != (n, n):
        raise GraphPriorError(f"Lambda has shape {Lambda.shape}: expected ({n}, {n})")
    if np.isnan(Lambda).any() or (Lambda < 0).any() or not np.array_equal(Lambda, Lambda.T):
        raise GraphPriorError("Lambda must be symmetric with entries from 0 to inf")
    if np.isinf(np.diag(Lambda)).any():
        raise GraphPriorError("Lambda's diagonal must be finite: a variance is never zero")
    return Lambda


def _solve(
    S: Matrix, Lambda: Matrix, start: Matrix | None, tol: float, max_iter: int
) -> tuple[Matrix, float, int]:
    R, scale = to_unit_diagonal(S)
    units = scale[:, None] * scale
    initial = np.eye(len(S)) if start is None else start * units
    Theta, residual, iterations = _minimise(R, Lambda / units, initial, tol, max_iter)
    return Theta / units, residual, iterations


def mle_exists(Theta: Matrix, S: Matrix, free: Mask) -> bool:
    """Whether the likelihood has a maximum, given the point a solver ended at.

    It does if and only if S on the free entries can be completed to a definite
    matrix. The completion to try is inv(Theta), which at the maximum agrees
    with S there; a solver that runs off ends next to a singular one.
    """
    R, scale = to_unit_diagonal(S)
    L = cholesky(Theta * scale[:, None] * scale)
    if L is None:
        return False
    completion = np.where(free | np.eye(len(S), dtype=bool), R, inverse_from_cholesky(L))
    # A margin above rounding: a completion that is definite by luck is no certificate.
    return is_definite(completion - 1e-9 * np.eye(len(S)))


def constrained_mle(
    problem: Problem,
    assume_centered: bool = False,
    tol: float = TOLERANCE,
    max_iter: int = 200,
) -> PrecisionEstimate:
    """Theta_hat: maximum likelihood with zeros where an edge is known absent. Eq. (9).

    Where no maximum exists (too few observations for the unknown pairs), the
    estimate is that of a covariance shrunk to its diagonal, and says so.
    """
    S = sample_covariance(problem.X, assume_centered)
    free = problem.known != 0
    Lambda = np.where(free | np.eye(problem.n, dtype=bool), 0.0, np.inf)
    # A definite S is its own completion; then only the solution is left to find.
    certain = is_definite(to_unit_diagonal(S)[0] - 1e-9 * np.eye(problem.n))
    Theta, residual, iterations = _solve(S, Lambda, None, tol, max_iter)
    exists = certain or mle_exists(Theta, S, free)
    a = 0.0
    if not exists or residual > tol:
        a = shrinkage_intensity(problem.X)
        S = shrink(S, a)
        Theta, residual, iterations = _solve(S, Lambda, None, tol, max_iter)
    return PrecisionEstimate(Theta, S, exists, a, residual, iterations)
