"""How many edges there are and how strong, by each pair's own partial correlation.

A second opinion, for which nothing is drawn. Strengths that are drawn together with the edges are
taken as independent of each other. Where a few common causes make many variables depend on each
other they are not, and many weak edges are then drawn where fewer, stronger ones are. This estimate
does not know the other pairs, and is less exact elsewhere.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from graphprior.evidence.slab import Rate
from graphprior.types import Matrix, Pairs

ROUNDS = 200
# Rows for each variable from which on partial correlations of all pairs tell enough.
ENOUGH_ROWS = 2.0
SMALLEST = 1e-5  # mean square of edges, transformed
CLEAR = 2.0  # times the variance of noise: what the mean square must exceed


class ByPair(NamedTuple):
    """Expected edges, and how strong they are: a mean square partial correlation."""

    edges: float
    variance: float


def by_pair(R: Matrix, k: float, at: Pairs) -> ByPair | None:
    """An estimate from a correlation matrix worth k rows, for the pairs ``at``.

    None where rows are too few, or edges too weak, for pairs by themselves to tell.

    Fisher's transform of a partial correlation is normal, with a variance that is known; those of
    edges have another beside it. Their share and that variance are fitted.
    """
    n = len(R)
    if k < ENOUGH_ROWS * n or len(at[0]) < n:
        return None
    W = np.linalg.inv(R)
    unit = np.sqrt(np.diag(W))
    z = np.arctanh(np.clip(-(W / np.outer(unit, unit))[at], -0.999, 0.999))
    noise = 1 / max(k - n - 1, 1.0)
    prior = Rate()
    rate, variance = prior.mean, max(float((z**2).mean() - noise), SMALLEST) / prior.mean
    for _ in range(ROUNDS):
        both = noise + variance
        odds = np.log(rate / (1 - rate)) + 0.5 * np.log(noise / both)
        p = expit(odds + 0.5 * z**2 * (1 / noise - 1 / both))
        rate = (p.sum() + prior.edges) / (len(z) + prior.edges + prior.gaps)
        variance = max(float((p * z**2).sum() / p.sum()) - noise, SMALLEST)
    if not variance > CLEAR * noise:
        return None
    return ByPair(float(p.sum()), float(np.tanh(np.sqrt(variance)) ** 2))
