"""Thresholding of Theta_hat: the size of a partial correlation is the score of its pair."""

from __future__ import annotations

import numpy as np

from graphprior.evidence.precision import constrained_mle
from graphprior.gaussian.linalg import partial_correlations
from graphprior.paper.baselines.protocol import Factory
from graphprior.problem.problem import Problem
from graphprior.results.metrics import on_unknown
from graphprior.types import Vector


def threshold_scores(problem: Problem, rng: np.random.Generator) -> Vector:
    """Absolute partial correlations of the constrained MLE: Theta_hat, free of units."""
    Theta_hat = constrained_mle(problem).Theta
    return on_unknown(np.abs(partial_correlations(Theta_hat)), problem.U)


METHODS: dict[str, Factory] = {"Threshold": lambda setting: threshold_scores}
