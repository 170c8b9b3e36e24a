"""GraphSAGE (Hamilton et al. 2017): link prediction, with the known pairs as examples.

A variable's features are its standardised observations. Two layers mix each
variable's features with the mean of its known neighbours', and a small network
reads the chance of an edge off the features of two variables. All of it is
trained anew for each problem, on the cross-entropy of the known pairs.

All known non-edges are examples, and as many as there are: none are drawn and
nothing is reweighted. Where to cut is the threshold's matter.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
from scipy.special import expit
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from graphprior.errors import GraphPriorError
from graphprior.evidence.precision import standardise
from graphprior.paper.baselines.protocol import Factory
from graphprior.problem.problem import Problem
from graphprior.results.metrics import on_unknown
from graphprior.types import Matrix, Vector

FEATURES = 32
EPOCHS = 1000
LEARNING_RATE = 5e-3


MISSING = "torch_geometric, which is not installed: pip install 'graphprior[graphsage]'"


def _layer(inputs: int, outputs: int) -> Any:
    """One layer with mean aggregation; a matrix of neighbours is the fastest form for small n."""
    try:
        from torch_geometric.nn import DenseSAGEConv
    except ImportError:
        raise GraphPriorError(f"GraphSAGE needs {MISSING}") from None
    return DenseSAGEConv(inputs, outputs)


class LinkPredictor(nn.Module):
    """Log-odds of an edge for each pair, from features (n, k) and known edges (n, n)."""

    def __init__(self, k: int) -> None:
        super().__init__()
        self.first = _layer(k, FEATURES)
        self.second = _layer(FEATURES, FEATURES)
        # The layer over both variables' features, as one part for each: n of them, not n^2.
        self.one = nn.Linear(FEATURES, FEATURES)
        self.other = nn.Linear(FEATURES, FEATURES, bias=False)
        self.log_odds = nn.Linear(FEATURES, 1)

    def forward(self, features: Tensor, A: Tensor) -> Tensor:
        """Log-odds (n, n), symmetric; the diagonal means nothing."""
        h = self.second(torch.relu(self.first(features, A)), A)[0]
        pair = torch.relu(self.one(h)[:, None] + self.other(h))
        eta: Tensor = self.log_odds(pair)[..., 0]
        return (eta + eta.T) / 2


def link_log_odds(problem: Problem, rng: np.random.Generator, epochs: int = EPOCHS) -> Matrix:
    """Log-odds of an edge for every pair (n, n), by a network trained on the known ones."""
    if not problem.O.any():
        raise GraphPriorError(
            "GraphSAGE learns from known pairs and all pairs are unknown: "
            "tell some edges and non-edges, or use a method that needs none"
        )
    features = torch.as_tensor(standardise(problem.X).T, dtype=torch.float32)
    A = torch.as_tensor(np.nan_to_num(problem.known), dtype=torch.float32)
    weight = torch.as_tensor(problem.O / problem.O.sum(), dtype=torch.float32)
    # Only the weights at the start are random; the caller's global seed stays as it was.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(rng.integers(2**62)))
        network = LinkPredictor(problem.k)
    optimiser = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE, fused=True)
    for _ in range(epochs):
        loss = binary_cross_entropy_with_logits(
            network(features, A), A, weight=weight, reduction="sum"
        )
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    with torch.no_grad():
        return np.asarray(network(features, A), dtype=np.float64)


def graphsage(problem: Problem, rng: np.random.Generator, epochs: int = EPOCHS) -> Vector:
    """Score of an edge for each unknown pair.

    The network learns the known pairs by heart and is far too sure of the
    others: log-odds of -50 are common, below any threshold. They are divided by
    their typical size where it exceeds one; even odds stay even.
    """
    eta = on_unknown(link_log_odds(problem, rng, epochs), problem.U)
    size = np.linalg.norm(eta) / np.sqrt(max(len(eta), 1))
    return np.asarray(expit(eta / max(size, 1.0)), dtype=np.float64)


METHODS: dict[str, Factory] = {"GraphSAGE": lambda setting: graphsage}
REQUIRES = {"GraphSAGE": lambda: None if find_spec("torch_geometric") else MISSING}
