"""The precision matrix at the mode of its posterior: Gaussian priors on the pairs.

Maximises ``k/2 (log det Theta - tr S Theta) - sum_{i<j} Theta_ij**2 / (2 tau_ij)``
with Theta_ij = 0 where tau_ij = 0 and a free diagonal, by Newton's method. The
steps come from conjugate gradients: the Hessian is ``V -> k W V W + V / tau``
with W = inv(Theta), so no matrix larger than (n, n) is made.
"""

from __future__ import annotations

import numpy as np

from graphprior.graphs import Mask, Matrix
from graphprior.linalg import cholesky, inverse_from_cholesky, log_determinant

DECREMENT = 1e-8
MAX_ITER = 50


def ridge_mode(S: Matrix, k: float, tau: Matrix, Theta: Matrix | None = None) -> Matrix:
    """The mode; ``Theta`` is where to start, by default at independent variables."""
    free = tau > 0
    np.fill_diagonal(free, True)
    penalty = np.divide(1.0, tau, out=np.zeros_like(tau), where=tau > 0)
    np.fill_diagonal(penalty, 0.0)
    Theta = np.diag(1 / np.diag(S)) if Theta is None else np.where(free, Theta, 0.0)
    L = cholesky(Theta)
    if L is None:
        Theta = np.diag(1 / np.diag(S))
        L = np.sqrt(Theta)
    value = _objective(L, Theta, S, k, penalty)
    for _ in range(MAX_ITER):
        W = inverse_from_cholesky(L)
        slope = np.where(free, k * (W - S) - penalty * Theta, 0.0)
        step, gain = _newton_step(W, k, penalty, free, slope)
        if gain < DECREMENT:
            break
        t, next_L, next_value = 1.0, None, -np.inf
        while t > 1e-10:
            next_L = cholesky(Theta + t * step)
            if next_L is not None:
                next_value = _objective(next_L, Theta + t * step, S, k, penalty)
                if next_value >= value + 0.1 * t * gain - 1e-12 * abs(value):
                    break
            t /= 2
        else:
            break  # rounding allows no further ascent
        assert next_L is not None
        Theta, L, value = Theta + t * step, next_L, next_value
    return Theta


def _objective(L: Matrix, Theta: Matrix, S: Matrix, k: float, penalty: Matrix) -> float:
    fit = k / 2 * (log_determinant(L) - float((S * Theta).sum()))
    return fit - float((penalty * Theta**2).sum()) / 4


def _newton_step(
    W: Matrix, k: float, penalty: Matrix, free: Mask, slope: Matrix
) -> tuple[Matrix, float]:
    """Solve (k W V W + penalty V) = slope on the free entries; also slope . V over pairs."""
    d = np.diag(W)
    scale = np.where(free, 1 / (k * (np.outer(d, d) + W**2) + penalty), 0.0)
    V, r = np.zeros_like(slope), slope
    z = scale * r
    p, rz = z, _inner(r, z)
    if rz <= 1e-30:
        return V, 0.0
    enough = min(1e-2, np.sqrt(max(rz, 0.0)) * 1e-2) ** 2 * rz
    for _ in range(10 * len(W)):
        Hp = np.where(free, k * (W @ p @ W) + penalty * p, 0.0)
        alpha = rz / _inner(p, Hp)
        V, r = V + alpha * p, r - alpha * Hp
        z = scale * r
        last, rz = rz, _inner(r, z)
        if rz <= max(enough, 1e-30):
            break
        p = z + rz / last * p
    V = (V + V.T) / 2  # what is not symmetric is rounding, and would grow
    return V, _inner(slope, V)


def _inner(A: Matrix, B: Matrix) -> float:
    """Each pair once, the diagonal by half: the Hessian is symmetric in it."""
    return float(np.vdot(A, B)) / 2
