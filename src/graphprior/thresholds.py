"""From edge probabilities to a graph."""

from __future__ import annotations

import numpy as np

from graphprior.graphs import Matrix, Problem


def default_threshold(problem: Problem) -> float:
    """tau_k: 0.95 up to 1600 observations, then 1 - 2 / sqrt(k), which goes to 1.

    The plug-in likelihood never prefers a missing edge, so that pairs without
    one are drawn too often at any k. On ego-nets it was best that all of ten graphs
    agree, at all four numbers of observations tried (docs/decisions.md), and
    Theorem 1 asks for a threshold that goes to 1.
    """
    return max(0.95, 1 - 2 / float(np.sqrt(problem.k)))


def threshold_estimate(edge_probabilities: Matrix, tau: float) -> Matrix:
    """A_hat: the edges whose probability reaches tau. Eq. (11)."""
    A_hat = (edge_probabilities >= tau).astype(np.float64)
    np.fill_diagonal(A_hat, 0.0)
    return A_hat
