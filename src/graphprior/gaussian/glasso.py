"""The weighted graphical lasso: one solver for penalised and constrained precision matrices.

It minimises ``-log det Theta + tr(S Theta) + sum Lambda_ij |Theta_ij|``. An
infinite penalty is a known zero; no penalty on the rest gives the constrained
MLE. Newton's method, each step solved by conjugate gradients on the entries
that may move, within the orthant of the current signs, on the correlation
scale, so that units do not matter.
"""

from __future__ import annotations

import warnings

import numpy as np

from graphprior.errors import GraphPriorError, GraphPriorWarning
from graphprior.gaussian.linalg import (
    cholesky,
    inverse_from_cholesky,
    is_definite,
    log_determinant,
    to_unit_diagonal,
)
from graphprior.types import Mask, Matrix

TOLERANCE = 1e-6
MAX_ITER = 2000
# Entries of Theta on the correlation scale beyond this are an objective without minimum.
RUNAWAY = 1e8
# In exact arithmetic as many as there are entries; nearly dependent columns need more.
CG_STEPS = 2000
# Where columns are nearly dependent, entries that leave zero together drive each other back, for
# hundreds of steps. After this many the penalty is lowered in stages, and a step lets only one
# pair for so many variables leave zero.
PATIENCE = 100
STAGE = 1.5
STAGE_TOLERANCE = 1e-4
NODES_FOR_ONE = 10
LARGEST_FACTOR = 1e12


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
    if rz == 0:
        return D
    stop = accuracy * np.sqrt(rz)
    for _ in range(CG_STEPS):
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


def _few_leave_zero(
    Theta: Matrix, W: Matrix, slope: Matrix, movable: Mask, penalised: Mask
) -> tuple[Matrix, Mask]:
    """The slope, and what may move, when of the penalised zeros only those pulled strongest do."""
    w = np.diag(W)
    pull = np.where((Theta == 0) & movable & penalised, slope**2 / (np.outer(w, w) + W * W), 0.0)
    few = 2 * max(1, len(W) // NODES_FOR_ONE)  # a pair is two entries
    kept = (pull > 0) & (pull < np.partition(pull, -few, axis=None)[-few])
    return np.where(kept, 0.0, slope), movable & ~kept


def _minimise(
    R: Matrix, Lambda: Matrix, Theta: Matrix, tol: float, max_iter: int, few: bool = False
) -> tuple[Matrix, float, int]:
    """Minimise on the correlation scale from a definite start; (Theta, KKT residual, steps).

    With ``few`` a step lets only some entries leave zero.
    """
    penalty = np.where(np.isfinite(Lambda), Lambda, 0.0)
    L = cholesky(Theta)
    if L is None:
        raise GraphPriorError("the start of the solver must be positive definite")
    value = _objective(L, Theta, R, penalty)
    for iteration in range(max_iter + 1):
        W = inverse_from_cholesky(L)
        slope, signs, movable = pseudo_gradient(Theta, W, R, Lambda)
        residual = float(np.abs(slope).max())
        if np.abs(Theta).max() > RUNAWAY or iteration == max_iter:
            break
        if few:
            slope, movable = _few_leave_zero(Theta, W, slope, movable, penalty > 0)
        D = _direction(Theta, W, slope, signs, movable, penalty > 0)
        # A small residual alone leaves nearly singular directions unsolved; what is left to gain
        # (half of this) does not depend on conditioning.
        if residual <= tol and -float(np.vdot(slope, D)) <= (tol * len(R)) ** 2:
            break
        found = _line_search(R, penalty, Theta, value, D, slope, signs)
        if found is None:
            break
        Theta, L, value = found
    return Theta, residual, iteration


def _by_stages(R: Matrix, Lambda: Matrix, tol: float, max_iter: int) -> tuple[Matrix, float, int]:
    """Minimise for larger penalties first: each solution is the start of the next."""
    penalised = np.isfinite(Lambda) & (Lambda > 0)
    factor = min(float((np.abs(R[penalised]) / Lambda[penalised]).max()), LARGEST_FACTOR)
    loose = max(tol, STAGE_TOLERANCE)
    Theta, left, residual = np.eye(len(R)), max_iter, 0.0
    # A stage that fails will not be followed by one that does not.
    while factor > STAGE and left > 0 and residual <= loose:
        factor /= STAGE
        few_steps = min(left, 2 * PATIENCE)
        Theta, residual, taken = _minimise(R, factor * Lambda, Theta, loose, few_steps, few=True)
        left -= taken
    if residual <= loose or _may_exist(Theta, R, Lambda):
        Theta, residual, taken = _minimise(R, Lambda, Theta, tol, left, few=True)
        left -= taken
    return Theta, residual, max_iter - left


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
    max_iter: int = MAX_ITER,
) -> Matrix:
    """Weighted graphical lasso: penalty Lambda_ij |Theta_ij| on each entry. Eq. (1).

    ``Lambda`` is symmetric and non-negative; ``inf`` fixes an entry at exactly
    zero. ``start`` is a definite matrix with zeros where Lambda is infinite.
    """
    S = check_covariance(S)
    Lambda = check_penalty(Lambda, len(S))
    Theta, residual, _ = solve(S, Lambda, start, tol, max_iter)
    if not optimum_exists(Theta, S, Lambda):
        warnings.warn(
            "the weighted graphical lasso has no minimum: there are too few observations for "
            "the entries without penalty; penalise more entries or shrink S",
            GraphPriorWarning,
            stacklevel=2,
        )
    elif not residual <= tol:
        warnings.warn(
            f"weighted graphical lasso stopped at optimality residual {residual:.1e} "
            f"(wanted {tol:.0e}): raise max_iter or the penalty",
            GraphPriorWarning,
            stacklevel=2,
        )
    return Theta


def solve(
    S: Matrix, Lambda: Matrix, start: Matrix | None, tol: float, max_iter: int
) -> tuple[Matrix, float, int]:
    """Theta, its optimality residual and the number of Newton steps; nothing is checked.

    A problem that needs stages is solved anew, without ``start``.
    """
    R, scale = to_unit_diagonal(S)
    units = scale[:, None] * scale
    initial = np.eye(len(S)) if start is None else start * units
    penalty = Lambda / units
    Theta, residual, steps = _minimise(R, penalty, initial, tol, min(PATIENCE, max_iter))
    if steps == PATIENCE < max_iter:
        left, more = max_iter - steps, 0
        if residual > tol and (np.isfinite(penalty) & (penalty > 0)).any():
            Theta, residual, more = _by_stages(R, penalty, tol, left)
        elif _may_exist(Theta, R, penalty):
            Theta, residual, more = _minimise(R, penalty, Theta, tol, left)
        steps += more
    return Theta / units, residual, steps


def _may_exist(Theta: Matrix, R: Matrix, Lambda: Matrix) -> bool:
    """Whether more steps make sense: a solver that runs off would take all that are left."""
    return is_definite(R - 1e-12 * np.eye(len(R))) or optimum_exists(Theta, R, Lambda)


def optimum_exists(Theta: Matrix, S: Matrix, Lambda: Matrix) -> bool:
    """Whether the problem has a solution, given the point a solver ended at.

    It does if and only if some definite matrix W has |W - S| <= Lambda
    everywhere (for the MLE: S on the free entries can be completed). The one to
    try is inv(Theta), which at the solution is such a matrix; a solver that
    runs off ends next to a singular one.
    """
    R, scale = to_unit_diagonal(S)
    units = scale[:, None] * scale
    L = cholesky(Theta * units)
    if L is None:
        return False
    room = Lambda / units
    W = np.clip(inverse_from_cholesky(L), R - room, R + room)
    # A margin above rounding: a matrix that is definite by luck is no certificate.
    return is_definite(W - 1e-9 * np.eye(len(S)))


def check_covariance(S: Matrix) -> Matrix:
    """A finite symmetric matrix with positive diagonal."""
    S = np.asarray(S, dtype=np.float64)
    if S.ndim != 2 or S.shape[0] != S.shape[1] or not np.isfinite(S).all():
        raise GraphPriorError(f"S has shape {S.shape}: expected a square matrix of finite numbers")
    if not np.allclose(S, S.T, rtol=1e-8, atol=0):
        raise GraphPriorError("S is not symmetric: it is no covariance matrix")
    if (np.diag(S) <= 0).any():
        i = int(np.flatnonzero(np.diag(S) <= 0)[0])
        raise GraphPriorError(f"S[{i}, {i}] = {S[i, i]:g}: a variable must vary; remove it")
    return S


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
