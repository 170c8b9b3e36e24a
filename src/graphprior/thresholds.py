"""From edge probabilities to a graph."""

from __future__ import annotations

import numpy as np

from graphprior.graphs import Matrix, Problem


def default_threshold(problem: Problem) -> float:
    """tau_k for a problem: THRESHOLD_RULE."""
    return 0.8


def threshold_estimate(edge_probabilities: Matrix, tau: float) -> Matrix:
    """A_hat: the edges whose probability reaches tau. Eq. (11)."""
    A_hat = (edge_probabilities >= tau).astype(np.float64)
    np.fill_diagonal(A_hat, 0.0)
    return A_hat
