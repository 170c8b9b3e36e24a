"""The weighted graphical lasso: estimates of a precision matrix with penalties or known zeros.

The objective is ``-log det Theta + tr(S Theta) + sum Lambda_ij |Theta_ij|``. An
infinite penalty fixes an entry at zero; with penalties of only 0 and infinity
the minimum is the constrained maximum likelihood estimate (MLE).

The solver is Newton's method, and each step is computed by conjugate
gradients. A step changes only the "movable" entries, those that are not kept
at zero by their penalty, and no entry changes its sign within a step. All this
is done with S scaled to a unit diagonal, so that the units of the variables
have no influence.
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
# If an entry of Theta exceeds this (with S scaled to a unit diagonal), there is no minimum.
RUNAWAY = 1e8
# In exact arithmetic, the number of entries is enough; nearly dependent columns need more steps.
CG_STEPS = 2000
# If columns are nearly dependent, entries that become nonzero in the same step can push each other
# back to zero for hundreds of steps. After PATIENCE steps the penalty is therefore lowered in
# stages, and each step lets only one pair for every NODES_FOR_ONE variables become nonzero.
PATIENCE = 100
STAGE = 1.5
STAGE_TOLERANCE = 1e-4
NODES_FOR_ONE = 10
LARGEST_FACTOR = 1e12


def pseudo_gradient(
    Theta: Matrix, W: Matrix, S: Matrix, Lambda: Matrix
) -> tuple[Matrix, Matrix, Mask]:
    """Return the gradient of the penalised objective, the signs assumed, and the movable entries.

    The gradient is zero at the minimum. ``W`` is inv(Theta). An entry that is
    zero may not move as long as its gradient without penalty is at most its
    penalty; otherwise it gets the sign of the direction of descent.
    """
    G = S - W
    signs = np.where(Theta != 0, np.sign(Theta), -np.sign(G))
    movable = (Theta != 0) | (np.abs(G) > Lambda)
    penalty = np.where(movable, Lambda, 0.0)
    return np.where(movable, G + penalty * signs, 0.0), signs, movable


def kkt_residual(Theta: Matrix, S: Matrix, Lambda: Matrix) -> float:
    """Return the largest violation of the optimality conditions, with S of unit diagonal."""
    R, scale = to_unit_diagonal(S)
    T = Theta * scale[:, None] * scale
    L = cholesky(T)
    if L is None:
        return float("inf")
    W = inverse_from_cholesky(L)
    slope, _, _ = pseudo_gradient(T, W, R, Lambda / scale[:, None] / scale)
    return float(np.abs(slope).max())


def _newton_direction(W: Matrix, slope: Matrix, movable: Mask, accuracy: float) -> Matrix:
    """Solve W D W = -slope for the movable entries by preconditioned conjugate gradients."""
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
    """Return the Newton direction in which entries that would change sign stop at zero.

    The direction is computed a second time with these entries fixed at zero.
    Setting them to zero afterwards would make the step worse for all others, the
    line search would shorten it, and about three times as many steps would be
    needed.
    """
    # Accurate steps are worth their cost only close to the solution.
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
    """Return slope and movable entries if only some of the penalised zeros may become nonzero.

    These are the ones that would lower the objective most.
    """
    w = np.diag(W)
    pull = np.where((Theta == 0) & movable & penalised, slope**2 / (np.outer(w, w) + W * W), 0.0)
    few = 2 * max(1, len(W) // NODES_FOR_ONE)  # a pair is two entries
    kept = (pull > 0) & (pull < np.partition(pull, -few, axis=None)[-few])
    return np.where(kept, 0.0, slope), movable & ~kept


def _minimise(
    R: Matrix, Lambda: Matrix, Theta: Matrix, tol: float, max_iter: int, few: bool = False
) -> tuple[Matrix, float, int]:
    """Minimise for a correlation matrix R; return Theta, its KKT residual and the steps taken.

    ``Theta`` is the positive definite starting point. With ``few``, each step
    lets only some entries become nonzero.
    """
    penalty = np.where(np.isfinite(Lambda), Lambda, 0.0)
    L = cholesky(Theta)
    if L is None:
        raise GraphPriorError(
            "start is not positive definite: pass a positive definite matrix, or None"
        )
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
        # In nearly singular directions the residual can be small far from the minimum. The decrease
        # that a Newton step promises (half of this product) does not have this problem.
        if residual <= tol and -float(np.vdot(slope, D)) <= (tol * len(R)) ** 2:
            break
        found = _line_search(R, penalty, Theta, value, D, slope, signs)
        if found is None:
            break
        Theta, L, value = found
    return Theta, residual, iteration


def _by_stages(R: Matrix, Lambda: Matrix, tol: float, max_iter: int) -> tuple[Matrix, float, int]:
    """Minimise with larger penalties first; each solution is the start of the next stage."""
    penalised = np.isfinite(Lambda) & (Lambda > 0)
    factor = min(float((np.abs(R[penalised]) / Lambda[penalised]).max()), LARGEST_FACTOR)
    loose = max(tol, STAGE_TOLERANCE)
    Theta, left, residual = np.eye(len(R)), max_iter, 0.0
    # If one stage fails, later stages would fail as well.
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
    """Return Theta, its Cholesky factor and the objective after the longest acceptable step.

    The step is halved until Theta is positive definite and the objective has
    decreased enough. Entries that would change sign are set to zero. The result
    is None if there is no such step.
    """
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
    """Weighted graphical lasso, with penalty Lambda_ij |Theta_ij| on each entry. Eq. (1).

    ``Lambda`` is symmetric and non-negative; ``inf`` fixes an entry at exactly
    zero. ``start`` is a positive definite matrix that is zero where Lambda is
    infinite.
    """
    S = check_covariance(S)
    Lambda = check_penalty(Lambda, len(S))
    Theta, residual, _ = solve(S, Lambda, start, tol, max_iter)
    if not optimum_exists(Theta, S, Lambda):
        warnings.warn(
            "the weighted graphical lasso has no minimum, because there are too few observations "
            "for the entries without penalty: penalise more entries or shrink S",
            GraphPriorWarning,
            stacklevel=2,
        )
    elif not residual <= tol:
        warnings.warn(
            f"the weighted graphical lasso did not converge: it stopped at optimality residual "
            f"{residual:.1e}, expected at most {tol:.0e}; increase max_iter or the penalty",
            GraphPriorWarning,
            stacklevel=2,
        )
    return Theta


def solve(
    S: Matrix, Lambda: Matrix, start: Matrix | None, tol: float, max_iter: int
) -> tuple[Matrix, float, int]:
    """Return Theta, its optimality residual and the number of Newton steps.

    The arguments are not checked. If the penalty has to be lowered in stages,
    the solver starts again and ignores ``start``.
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
    """Whether a minimum seems to exist; if not, further steps would be wasted."""
    return is_definite(R - 1e-12 * np.eye(len(R))) or optimum_exists(Theta, R, Lambda)


def optimum_exists(Theta: Matrix, S: Matrix, Lambda: Matrix) -> bool:
    """Whether the problem has a solution, given the point ``Theta`` where a solver ended.

    It has one if and only if a positive definite matrix W exists with
    |W - S| <= Lambda everywhere (for the MLE: if S on the free entries can be
    completed to a positive definite matrix). At the solution, inv(Theta) is such
    a matrix, so inv(Theta) is tried. If there is no solution, the solver
    diverges, and inv(Theta) is nearly singular.
    """
    R, scale = to_unit_diagonal(S)
    units = scale[:, None] * scale
    L = cholesky(Theta * units)
    if L is None:
        return False
    room = Lambda / units
    W = np.clip(inverse_from_cholesky(L), R - room, R + room)
    # The margin is larger than rounding errors, which could make a singular W look definite.
    return is_definite(W - 1e-9 * np.eye(len(S)))


def check_covariance(S: Matrix) -> Matrix:
    """Return ``S`` as a matrix; raise an error unless it can be a covariance matrix."""
    S = np.asarray(S, dtype=np.float64)
    if S.ndim != 2 or S.shape[0] != S.shape[1] or not np.isfinite(S).all():
        raise GraphPriorError(f"S has shape {S.shape}: expected a square matrix of finite numbers")
    if not np.allclose(S, S.T, rtol=1e-8, atol=0):
        raise GraphPriorError("S is not symmetric: expected a covariance matrix")
    if (np.diag(S) <= 0).any():
        i = int(np.flatnonzero(np.diag(S) <= 0)[0])
        raise GraphPriorError(
            f"S[{i}, {i}] = {S[i, i]:g}: variances must be positive; remove this variable"
        )
    return S


def check_penalty(Lambda: Matrix, n: int) -> Matrix:
    """Return ``Lambda`` as a matrix; raise an error unless it is a valid penalty matrix."""
    Lambda = np.asarray(Lambda, dtype=np.float64)
    if Lambda.shape != (n, n):
        raise GraphPriorError(f"Lambda has shape {Lambda.shape}: expected ({n}, {n})")
    if np.isnan(Lambda).any() or (Lambda < 0).any() or not np.array_equal(Lambda, Lambda.T):
        raise GraphPriorError(
            "Lambda has negative, nan or asymmetric entries: "
            "expected a symmetric matrix with entries from 0 to inf"
        )
    if np.isinf(np.diag(Lambda)).any():
        raise GraphPriorError(
            "the diagonal of Lambda has infinite entries: expected finite ones, "
            "because the diagonal of Theta cannot be zero"
        )
    return Lambda
