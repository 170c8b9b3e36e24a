"""Spikes and slabs for many pairs: no matrix of pairs by pairs is made.

With m unknown pairs the Fisher information F is (m, m), too large from some
thousands on. Expectation propagation needs its products, and those are products
of (n, n) matrices: F maps V to k W V W, W = inv(Theta). It also needs the
variance of each pair given the others. There the diagonal and the known edges
are integrated out exactly; the other unknown pairs, nearly all of them pinned
close to zero, by a sum over how strongly each could move it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_solve, solve_triangular
from scipy.special import expit

from graphprior.graphs import Matrix
from graphprior.linalg import cholesky_with_nugget
from graphprior.quadratic import scaled
from graphprior.spike_slab import Beliefs, Vector, tilted

Index = npt.NDArray[np.intp]
CHUNK = 2000
MAX_ITER = 60
TOLERANCE = 2e-2


@dataclass(frozen=True, eq=False)
class Field:
    """The likelihood of unknown pairs (rows, cols), nuisance (i, j) integrated out.

    ``precision`` is the diagonal of their F. The nuisance entries are the
    diagonal and known edges; ``factor`` is the Cholesky factor of their F.
    """

    W: Matrix
    k: float
    rows: Index
    cols: Index
    i: Index
    j: Index
    factor: Matrix
    b: Vector
    b_nuisance: Vector
    precision: Vector

    @classmethod
    def create(
        cls, W: Matrix, S: Matrix, k: float, unknown: tuple[Index, Index],
        nuisance: tuple[Index, Index], ridge: Vector, share: Vector | None = None,
    ) -> Field:  # fmt: skip
        """At Theta = inv(W); ``ridge`` is the prior precision of the nuisance entries."""
        W, own = _own(W, S, k, share)
        (rows, cols), (i, j) = unknown, nuisance
        weight = np.where(i == j, 0.5, 1.0)
        inner = W[np.ix_(i, i)] * W[np.ix_(j, j)] + W[np.ix_(i, j)] * W[np.ix_(j, i)]
        inner *= k * np.outer(weight, weight)
        factor = cholesky_with_nugget(inner + np.diag(ridge))
        precision = _precision(W, k, rows, cols, i, j, weight, factor)
        return cls(W, k, rows, cols, i, j, factor, own[rows, cols], weight * own[i, j], precision)

    def nuisance_mean(self, strength: Vector) -> Vector:
        """Mean of the nuisance entries given the strengths of the unknown pairs."""
        pull = self._apply(strength, self.rows, self.cols, self.i, self.j)
        mean: Vector = cho_solve((self.factor, True), self.b_nuisance - pull)
        return mean

    def product(self, strength: Vector) -> Vector:
        """F strength on the unknown pairs, nuisance integrated out."""
        pull = self._apply(strength, self.rows, self.cols, self.i, self.j)
        V = self._matrix(strength, self.rows, self.cols)
        V -= self._matrix(cho_solve((self.factor, True), pull), self.i, self.j)
        product: Vector = self.k * (self.W @ V @ self.W)[self.rows, self.cols]
        return product

    def shift(self) -> Vector:
        """b on the unknown pairs, nuisance integrated out."""
        mean = cho_solve((self.factor, True), self.b_nuisance)
        return self.b - self._apply(mean, self.i, self.j, self.rows, self.cols)

    def cavity_precision(self, variance: Vector) -> Vector:
        """Precision of each pair when the other unknown pairs have these variances.

        c sums F_jl**2 variance_l over the others, of F_jl**2 the two larger of
        three terms; precision**2 / (precision + c) is right to first order in c
        and positive always.
        """
        H = self.W**2
        others = self.k**2 * (H @ self._matrix(variance, self.rows, self.cols) @ H)
        d = np.diag(H)
        own = d[self.rows] * d[self.cols] + H[self.rows, self.cols] ** 2
        c = np.maximum(others[self.rows, self.cols] - self.k**2 * own * variance, 0.0)
        precision: Vector = self.precision**2 / (self.precision + c)
        return precision

    def _matrix(self, values: Vector, i: Index, j: Index) -> Matrix:
        V = np.zeros_like(self.W)
        V[i, j] = V[j, i] = values
        return V

    def _apply(self, values: Vector, i: Index, j: Index, to_i: Index, to_j: Index) -> Vector:
        product = self.k * (self.W @ self._matrix(values, i, j) @ self.W)
        return np.where(to_i == to_j, 0.5, 1.0) * product[to_i, to_j]


def _own(W: Matrix, S: Matrix, k: float, share: Vector | None) -> tuple[Matrix, Matrix]:
    """W as F has it, and F Theta + slope on all entries: without shares k (2 W - S)."""
    if share is None:
        return W, k * (2 * W - S)
    scaled_W, slope = scaled(W, W - S, share)
    return scaled_W, k * (scaled_W @ np.linalg.solve(W, scaled_W) + slope)


def _precision(
    W: Matrix, k: float, rows: Index, cols: Index, i: Index, j: Index, weight: Vector,
    factor: Matrix,
) -> Vector:  # fmt: skip
    """F_jj of each unknown pair less what the nuisance takes, a few thousand pairs at a time."""
    d = np.diag(W)
    precision: Vector = k * (d[rows] * d[cols] + W[rows, cols] ** 2)
    # Half precision of doubles is enough for a variance, and twice as fast.
    W32, L32, w32 = W.astype(np.float32), factor.astype(np.float32), weight.astype(np.float32)
    for start in range(0, len(rows), CHUNK):
        r, c = rows[start : start + CHUNK], cols[start : start + CHUNK]
        across = W32[np.ix_(i, r)] * W32[np.ix_(j, c)] + W32[np.ix_(i, c)] * W32[np.ix_(j, r)]
        across *= np.float32(k) * w32[:, None]
        solved = solve_triangular(L32, across, lower=True, overwrite_b=True, check_finite=False)
        precision[start : start + CHUNK] -= np.einsum("dc,dc->c", solved, solved)
    return np.maximum(precision, 1e-9)


def field_beliefs(
    field: Field, s2: float, log_odds: Vector, sites: tuple[Vector, Vector] | None = None,
    damping: float = 0.5,
) -> Beliefs:  # fmt: skip
    """Expectation propagation with approximate variances and exact means."""
    r, q = sites or (1 / (s2 * expit(np.clip(log_odds, -15, 15))), np.zeros(len(log_odds)))
    b, mean = field.shift(), np.zeros(len(log_odds))
    precision = field.precision
    last = np.full(len(b), np.inf)
    for iteration in range(1, MAX_ITER + 1):  # noqa: B007 (it is reported)
        precision = field.cavity_precision(1 / (precision + r))
        mean = _solve(field, r, b + q, mean)
        now = tilted(precision, mean * (precision + r) - q, s2, log_odds)
        r = r ** (1 - damping) * now.sites[0] ** damping
        q = (1 - damping) * q + damping * now.sites[1]
        # Log-odds of pairs that are settled may still move; what counts is the probability.
        change = np.abs(now.p - last).max(initial=0.0)
        last = now.p
        if change < TOLERANCE:
            break
    return Beliefs(now.log_bf, now.p, now.mean, now.variance, (r, q), change < TOLERANCE, iteration)


def _solve(field: Field, r: Vector, right: Vector, x: Vector, tol: float = 1e-3) -> Vector:
    """(F + diag(r)) x = right by conjugate gradients, from x."""
    scale = 1 / (field.precision + r)
    residual = right - field.product(x) - r * x
    z = scale * residual
    p, rz = z, float(residual @ z)
    enough = tol**2 * float(right @ (scale * right))
    for _ in range(200):
        if rz <= enough:
            break
        Fp = field.product(p) + r * p
        alpha = rz / float(p @ Fp)
        x, residual = x + alpha * p, residual - alpha * Fp
        z = scale * residual
        last, rz = rz, float(residual @ z)
        p = z + rz / last * p
    return x
