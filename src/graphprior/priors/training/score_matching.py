"""Denoising score matching: learn the score of noisy graphs from clean ones. Eqs. (28)-(29)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from graphprior.priors.networks.edp_gnn import EDPGNN, EDPGNNConfig, EDPGNNPrior
from graphprior.priors.noise import Schedule, perturb
from graphprior.priors.training.batches import pad
from graphprior.types import Matrix


@dataclass(frozen=True)
class ScoreMatching:
    """Noise levels of the training.

    Most graphs get a noise level of Algorithm 1, between sigma_L and sigma_1. A
    ``wide_share`` gets more, up to sigma_0: at sigma_1 the sum of many noisy
    pairs still tells the density of a graph, so that drawing from the prior
    alone must begin where it does not.
    """

    kind: ClassVar[str] = "edp-gnn"
    unit: ClassVar[str] = "score"
    sigma_1: float = 0.5
    sigma_L: float = 0.03
    sigma_0: float = 2.0
    wide_share: float = 0.3
    network: EDPGNNConfig = field(default_factory=EDPGNNConfig)

    def build(self) -> EDPGNN:
        """An untrained network."""
        return EDPGNN(self.network)

    def prior(self, network: nn.Module) -> EDPGNNPrior:
        """The network as a prior."""
        assert isinstance(network, EDPGNN)
        return EDPGNNPrior(network)

    def loss(
        self, network: nn.Module, graphs: Sequence[Matrix], rng: np.random.Generator
    ) -> Tensor:
        """Loss of a batch with noise drawn from ``rng``."""
        noise = torch.Generator().manual_seed(int(rng.integers(2**62)))
        A, is_node = pad(graphs)
        return _network_loss(network, A, is_node, self.draw_levels(len(A), rng), noise).mean()

    def draw_levels(self, batch: int, rng: np.random.Generator) -> Tensor:
        """A noise level for each graph of a batch: (B,)."""
        sigma = rng.uniform(self.sigma_L, self.sigma_1, batch)
        wide = np.exp(rng.uniform(np.log(self.sigma_1), np.log(self.sigma_0), batch))
        levels = np.where(rng.random(batch) < self.wide_share, wide, sigma)
        return torch.as_tensor(levels, dtype=torch.float32)

    @torch.inference_mode()
    def validate(
        self, network: nn.Module, graphs: Sequence[Matrix], seed: int, L: int = 10
    ) -> dict[str, float]:
        """The loss on held-out graphs: at sigma_0, at L levels of Algorithm 1, their mean."""
        A, is_node = pad(graphs)
        row = {}
        levels = Schedule.linear(L, self.sigma_1, self.sigma_L).sigmas
        for level, sigma_l in enumerate((self.sigma_0, *levels)):
            noise = torch.Generator().manual_seed(seed + 1000 + level)
            sigma = torch.full((len(A),), sigma_l)
            loss = _network_loss(network, A, is_node, sigma, noise)
            row[f"sigma={sigma_l:.3f}"] = float(loss.mean())
        return {"loss": float(np.mean(list(row.values())[1:])), **row}


def score_matching_loss(score: Tensor, A: Tensor, A_tilde: Tensor, sigma: Tensor) -> Tensor:
    """sigma**2 times the squared distance to the score of the noise, by pair. Eqs. (28)-(29).

    (B, n, n); the factor 1/2 of Eq. (29) is included, the mean is the caller's.
    """
    target = (A - A_tilde) / sigma[:, None, None] ** 2
    return 0.5 * sigma[:, None, None] ** 2 * (score - target) ** 2


def mean_over_pairs(loss: Tensor, is_node: Tensor) -> Tensor:
    """Mean loss of each graph over its own pairs, padding left out: (B,)."""
    is_pair = (is_node[:, :, None] & is_node[:, None]).triu(1)
    return (loss * is_pair).sum((1, 2)) / is_pair.sum((1, 2))


def _network_loss(
    network: nn.Module, A: Tensor, is_node: Tensor, sigma: Tensor, noise: torch.Generator
) -> Tensor:
    """Loss of each graph (B,); noise is drawn on the CPU, so that devices agree."""
    device = next(network.parameters()).device
    A_tilde = perturb(A, sigma, noise).to(device)
    A, is_node, sigma = A.to(device), is_node.to(device), sigma.to(device)
    loss = score_matching_loss(network(A_tilde, sigma, is_node), A, A_tilde, sigma)
    return mean_over_pairs(loss, is_node)
