"""A prior of your own, to copy: every pair has the edge probability that distance gives it.

What it must keep to is in tests/conformance.py (`check_prior`).
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from graphprior.priors.protocol import EvidencePrior
from graphprior.types import Matrix


class Gravity(EvidencePrior):
    """Edges between near places are likelier: log-odds ``at_zero - slope * distance``."""

    def __init__(self, places: Matrix, at_zero: float = 1.0, slope: float = 4.0) -> None:
        distance = np.linalg.norm(places[:, None] - places, axis=2)
        self.nodes = len(places)  # it is about these nodes; None would be any number
        self.log_odds = torch.as_tensor(at_zero - slope * distance)

    def posterior_logits(self, ell: Tensor) -> Tensor:
        """Log-odds of an edge (..., n, n), given the log-odds ``ell`` of the evidence."""
        return ell + self.log_odds.to(ell)
