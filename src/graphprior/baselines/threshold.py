"""Thresholding of Theta_hat: the size of a partial correlation is the score of its pair."""

from __future__ import annotations

import numpy as np

from graphprior.baselines.protocol import Factory
from graphprior.covariance import constrained_mle
from graphprior.graphs import Problem
from graphprior.linalg import partial_correlations
from graphprior.metrics import Vector, on_unknown


def threshold_scores(problem: Problem, rng: np.random.Generator) -> Vector:
    """Absolute partial correlations of the constrained MLE: Theta_hat, free of units."""
    Theta_hat = constrained_mle(problem).Theta
    return on_unknown(np.abs(partial_correlations(Theta_hat)), problem.U)


METHODS: dict[str, Factory] = {"Threshold": lambda setting: threshold_scores}
