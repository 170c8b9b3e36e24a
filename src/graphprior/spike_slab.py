"""Edges as spikes and slabs under a Gaussian likelihood.

The strengths theta of m pairs have the likelihood ``exp(b theta - theta F theta / 2)``;
a pair without an edge has strength 0, one with an edge N(0, s2). What the
likelihood says about a pair depends on the others: expectation propagation
averages over them, `conditional_log_bf` takes them as given.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]
MAX_ITER = 100
TOLERANCE = 1e-2


@dataclass(frozen=True)
class Beliefs:
    """What is believed of each pair.

    ``log_bf`` is the data's log Bayes factor for an edge, the other pairs
    averaged out; ``p`` the probability of an edge; ``mean`` and ``variance`` of
    the strength if there is an edge. ``sites`` lets a later call start here.
    """

    log_bf: Vector
    p: Vector
    mean: Vector
    variance: Vector
    sites: tuple[Vector, Vector]
    converged: bool
    iterations: int


def log_bayes_factor(precision: Vector, shift: Vector, s2: float) -> Vector:
    """log BF of N(0, s2) against 0 under the likelihood exp(shift t - precision t**2 / 2)."""
    bf: Vector = -0.5 * np.log1p(s2 * precision) + 0.5 * shift**2 / (precision + 1 / s2)
    return bf


def tilted(precision: Vector, shift: Vector, s2: float, log_odds: Vector) -> Beliefs:
    """Beliefs of pairs of which each has its own likelihood, and the sites that match them."""
    log_bf = log_bayes_factor(precision, shift, s2)
    p = expit(np.clip(log_odds + log_bf, -40, 40))
    variance = 1 / (precision + 1 / s2)
    mean = shift * variance
    # Mean and variance of the mixture of spike and slab, as a Gaussian site.
    m = p * mean
    v = np.maximum(p * (variance + mean**2) - m**2, 1e-14)
    least = 1e-3 / s2
    r = np.maximum(1 / v - precision, least)
    return Beliefs(log_bf, p, mean, variance, (r, m * (precision + r) - shift), False, 0)


def expectation_propagation(
    F: Matrix,
    b: Vector,
    s2: float,
    log_odds: Vector,
    sites: tuple[Vector, Vector] | None = None,
    damping: float = 0.5,
) -> Beliefs:
    """Beliefs of all pairs together; ``log_odds`` (m,) are those of the prior."""
    r, q = sites or (1 / (s2 * expit(np.clip(log_odds, -15, 15))), np.zeros(len(b)))
    last = np.full(len(b), np.inf)
    for iteration in range(1, MAX_ITER + 1):  # noqa: B007 (it is reported)
        G = np.linalg.inv(F + np.diag(r))
        v = np.diag(G)
        precision, shift = np.maximum(1 / v - r, 1e-12), G @ (b + q) / v - q
        now = tilted(precision, shift, s2, log_odds)
        r = r ** (1 - damping) * now.sites[0] ** damping
        q = (1 - damping) * q + damping * now.sites[1]
        change = np.abs(now.log_bf - last).max(initial=0.0)
        last = now.log_bf
        if change < TOLERANCE:
            break
    return Beliefs(now.log_bf, now.p, now.mean, now.variance, (r, q), change < TOLERANCE, iteration)


def log_evidence(F: Matrix, b: Vector, s2: float, a: npt.NDArray[np.bool_]) -> float:
    """log p(X | a) / p(X | no edge) of one graph: its edges' strengths integrated out."""
    if not a.any():
        return 0.0
    H = s2 * F[np.ix_(a, a)] + np.eye(int(a.sum()))
    _, log_det = np.linalg.slogdet(H)
    return float(-0.5 * log_det + 0.5 * s2 * b[a] @ np.linalg.solve(H, b[a]))


def conditional_log_bf(F: Matrix, b: Vector, s2: float, a: npt.NDArray[np.bool_]) -> Vector:
    """log p(X | a_j = 1, rest) / p(X | a_j = 0, rest) for every pair j of one graph (m,)."""
    K_diagonal, v = np.diag(F).copy(), b
    if a.any():
        columns = F[:, a]
        factor = cho_factor(columns[a] + np.eye(int(a.sum())) / s2)
        solved = cho_solve(factor, np.column_stack([columns.T, b[a]]))
        K_diagonal -= np.einsum("ja,aj->j", columns, solved[:, :-1])
        v = b - columns @ solved[:, -1]
    # Where the pair is an edge now, take it out again.
    without = np.where(a, 1 / np.maximum(1 - s2 * K_diagonal, 1e-12), 1.0)
    return log_bayes_factor(np.maximum(K_diagonal * without, 0.0), v * without, s2)
