"""Learning what evidence implies: cross-entropy on the pairs that are not known.

A graph is drawn from the examples, then evidence that is true to it: some
pairs known, the others with log-odds drawn from a channel whose log-odds are
exact. Cross-entropy is a proper score, so its optimum is the exact conditional
probability, whatever mix of evidence is drawn; the mix decides only where the
network spends its capacity. It covers what will be asked: any share known,
pairs hidden at random, node by node, or because of their value; no, weak and
strong evidence; the noise of Algorithm 1; and the log Bayes factors of data.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from graphprior.graphs.matrices import pairs
from graphprior.priors.networks.evidence_network import (
    EvidenceNetwork,
    EvidenceNetworkConfig,
    EvidenceNetworkPrior,
)
from graphprior.priors.noise import noise_log_odds
from graphprior.priors.training.batches import pad
from graphprior.types import Matrix, Vector

# Where validation looks: share of pairs unknown, and data (variance of an estimate over that of
# an edge's strength; None without data).
VALIDATION = tuple((share, ratio) for share in (1.0, 0.5, 0.2, 0.1) for ratio in (None, 0.2))
# Validation asks about at least so many pairs: a small set is asked repeatedly, not without end.
FEWEST_PAIRS, MOST_REPEATS = 5000, 24


@dataclass(frozen=True)
class CrossEntropy:
    """Settings of the objective; they are part of a training's identity."""

    kind: ClassVar[str] = "evidence"
    unit: ClassVar[str] = "bits"
    selection_scale: float = 1.5
    strength: tuple[float, float] = (0.05, 100.0)
    ratio: tuple[float, float] = (1e-3, 30.0)
    network: EvidenceNetworkConfig = field(default_factory=EvidenceNetworkConfig)

    def build(self) -> EvidenceNetwork:
        """An untrained network."""
        return EvidenceNetwork(self.network)

    def prior(self, network: nn.Module) -> EvidenceNetworkPrior:
        """The network as a prior."""
        assert isinstance(network, EvidenceNetwork)
        return EvidenceNetworkPrior(network)

    def loss(
        self, network: nn.Module, graphs: Sequence[Matrix], rng: np.random.Generator
    ) -> Tensor:
        """Cross-entropy of a batch with evidence drawn from ``rng``."""
        a, is_pair = pad_pairs(graphs)
        ell = draw_evidence(a, is_pair, self, _generator(rng))
        return weighted_cross_entropy(network, a, ell, is_pair)

    @torch.inference_mode()
    def validate(self, network: nn.Module, graphs: Sequence[Matrix], seed: int) -> dict[str, float]:
        """Bits for each unknown pair on held-out graphs, by share unknown and evidence.

        ``rate ...`` is the same for a prior that knows only the density of these
        graphs: what there is to beat. ``loss`` is the mean of the bits.
        """
        row: dict[str, float] = {}
        for name, bits, count in _answers(network, graphs, seed):
            row[name], row[f"rate {name}"] = (bits.sum(1) / count.sum()).tolist()
        loss = float(np.mean([value for name, value in row.items() if name.startswith("unknown")]))
        return {"loss": loss, **row}

    @torch.inference_mode()
    def standard_errors(
        self, network: nn.Module, graphs: Sequence[Matrix], seed: int
    ) -> dict[str, float]:
        """How far the bits of `validate` may be off, from how much the held-out graphs differ.

        ``gain ...`` is that of the gain over the edge rate, which is surer than
        the bits themselves: graphs that are hard are hard for both. Empty where
        fewer than two graphs were held out.
        """
        if len(graphs) < 2:
            return {}
        errors: dict[str, float] = {}
        for name, bits, count in _answers(network, graphs, seed):
            errors[name] = _error_of_ratio(bits[0], count)
            errors[f"gain {name}"] = _error_of_ratio(bits[1] - bits[0], count)
        return errors


def _generator(rng: np.random.Generator) -> torch.Generator:
    return torch.Generator().manual_seed(int(rng.integers(2**62)))


def pad_pairs(graphs: Sequence[Matrix]) -> tuple[Tensor, Tensor]:
    """Graphs of any size as pairs (B, P), and which of them are real (B, P)."""
    A, is_node = pad(graphs)
    rows, cols = pairs(A.shape[-1])
    return A[:, rows, cols], is_node[:, rows] & is_node[:, cols]


def weighted_cross_entropy(network: nn.Module, a: Tensor, ell: Tensor, is_pair: Tensor) -> Tensor:
    """Mean over graphs of the loss on unknown pairs.

    A graph counts by the root of how many are unknown: by their number, those
    with few would not be heard; equally, their chance would drown the rest.
    """
    device = next(network.parameters()).device
    a, ell, is_pair = a.to(device), ell.to(device), is_pair.to(device)
    asked = is_pair & ~ell.isinf()
    eta = network(ell, is_pair)
    # Known pairs have infinite log-odds: they are replaced before the loss, or their nan would
    # survive the mask in the gradient.
    loss = F.binary_cross_entropy_with_logits(eta.masked_fill(~asked, 0.0), a, reduction="none")
    count = asked.sum(1)
    by_graph = (loss * asked).sum(1) / (count * is_pair.sum(1)).clamp(min=1).sqrt()
    return by_graph.mean()


def draw_hidden(
    a: Tensor, is_pair: Tensor, scale: float, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Which pairs are unknown (B, P), and the log-odds that being hidden gives them (B, 1).

    A quarter of the graphs is all unknown and an eighth has unknown nodes: that
    says nothing of a pair. In the others pairs are hidden one by one, in half of
    them with a chance that depends on their value, by a ratio that is told.
    """
    B, P = a.shape
    u = torch.rand(B, 4, 1, generator=generator)
    kind, share = u[:, 0], u[:, 1] ** 1.5
    share = torch.where(kind < 0.125, 0.05 * share, share)  # nearly all known
    by_value = (u[:, 2] < 0.5) & (kind < 0.625)
    told = by_value * scale * torch.randn(B, 1, generator=generator)
    ratio = torch.where(a == 1, told.clamp(max=0), (-told).clamp(max=0)).exp()
    hidden = torch.rand(B, P, generator=generator) < share * ratio
    rows, cols = pairs(round((1 + math.sqrt(1 + 8 * P)) / 2))
    new = torch.rand(B, int(cols[-1]) + 1, generator=generator) < 0.5 * u[:, 3]
    of_new_nodes = new[:, rows] | new[:, cols]
    hidden = torch.where((kind >= 0.625) & (kind < 0.75), of_new_nodes, hidden)
    hidden = (hidden | (kind >= 0.75)) & is_pair
    # A graph without a question teaches nothing: one is asked, and told that it was not hidden.
    empty = ~hidden.any(1)
    one = torch.rand(B, P, generator=generator).masked_fill(~is_pair, -1.0).argmax(1)
    hidden[empty, one[empty]] = True
    shown = torch.log1p(-share * told.clamp(max=0).exp())
    shown = shown - torch.log1p(-share * (-told).clamp(max=0).exp())
    return hidden, torch.where(empty[:, None], shown, told)


def gaussian_channel(a: Tensor, strength: Tensor, generator: torch.Generator) -> Tensor:
    """Log-odds from a noisy entry with ``strength`` = 1 / sigma**2."""
    sigma = strength.rsqrt()
    return noise_log_odds(a + sigma * torch.randn(a.shape, generator=generator), sigma)


def slab_channel(a: Tensor, ratio: Tensor, generator: torch.Generator) -> Tensor:
    """Log Bayes factors as data give them.

    An estimate has variance ``ratio``, an edge adds a strength of variance one:
    an edge may be too weak to be seen, a non-edge is never seen clearly.
    """
    x = torch.randn(a.shape, generator=generator) * (ratio + a).sqrt()
    return 0.5 * (ratio / (1 + ratio)).log() + 0.5 * x**2 / (ratio * (1 + ratio))


def draw_evidence(
    a: Tensor, is_pair: Tensor, config: CrossEntropy, generator: torch.Generator
) -> Tensor:
    """Evidence (B, P) true to the graphs ``a``: infinite where a pair is known."""
    B, P = a.shape
    hidden, told = draw_hidden(a, is_pair, config.selection_scale, generator)
    u = torch.rand(B, 5, 1, generator=generator)
    kind = u[:, 0]
    spread = torch.exp(torch.randn(B, P, generator=generator) * u[:, 1])
    gaussian = gaussian_channel(a, _between(*config.strength, u[:, 2]) * spread, generator)
    slab = slab_channel(a, _between(*config.ratio, u[:, 2]) * spread, generator)
    ell = torch.where(kind < 0.25, 0.0, torch.where(kind < 0.5, gaussian, slab))
    silent = torch.rand(B, P, generator=generator) < 0.5 * u[:, 4] * (u[:, 3] < 0.2)
    ell = told + ell.masked_fill(silent, 0.0)
    return torch.where(hidden, ell, torch.where(a == 1, torch.inf, -torch.inf))


def _between(low: float, high: float, u: Tensor) -> Tensor:
    return low * (high / low) ** u


def validation_repeats(graphs: Sequence[Matrix]) -> int:
    """How often validation asks about each of the graphs."""
    count = sum(len(A) * (len(A) - 1) // 2 for A in graphs)
    return min(math.ceil(FEWEST_PAIRS / count), MOST_REPEATS)


def _answers(
    network: nn.Module, graphs: Sequence[Matrix], seed: int
) -> Iterator[tuple[str, Matrix, Vector]]:
    """For each cell of VALIDATION its name, the bits (2, G) by graph, and the pairs asked (G,)."""
    repeats = validation_repeats(graphs)
    for cell, (share, ratio) in enumerate(VALIDATION):
        generator = torch.Generator().manual_seed(seed + 1000 + cell)
        name = f"unknown={share:g} {'with' if ratio else 'no'} data"
        bits, count = _bits(network, list(graphs) * repeats, share, ratio, generator)
        yield (
            name,
            bits.reshape(2, repeats, len(graphs)).sum(1),
            count.reshape(repeats, len(graphs)).sum(0),
        )


def _bits(
    network: nn.Module,
    graphs: Sequence[Matrix],
    share: float,
    ratio: float | None,
    generator: torch.Generator,
    batch: int = 20,
) -> tuple[Matrix, Vector]:
    """Bits (2, G) that unknown pairs need, and their number (G,), by graph.

    First those of the network, then those of the graphs' density alone.
    """
    device = next(network.parameters()).device
    coded, count = [], []
    density = _density(graphs)
    for start in range(0, len(graphs), batch):
        a, is_pair = pad_pairs(graphs[start : start + batch])
        chance = torch.rand(a.shape, generator=generator).masked_fill(~is_pair, 2.0)
        hidden = (chance < share) | (chance == chance.amin(1, keepdim=True))  # at least one
        data = torch.zeros_like(a)
        if ratio is not None:
            data = slab_channel(a, torch.full_like(a, ratio), generator)
        ell = torch.where(hidden, data, torch.where(a == 1, torch.inf, -torch.inf))
        eta = network(ell.to(device), is_pair.to(device)).cpu()
        usual = data + math.log(density / (1 - density))
        # Log-odds of known pairs are infinite: replaced, or their nan would survive the product.
        logits = torch.stack([eta, usual]).masked_fill(~hidden, 0.0)
        loss = F.binary_cross_entropy_with_logits(logits, a.expand_as(logits), reduction="none")
        coded.append((loss * hidden).sum(-1).double() / math.log(2))
        count.append(hidden.sum(1))
    return torch.cat(coded, 1).numpy(), torch.cat(count).double().numpy()


def _error_of_ratio(total: Vector, count: Vector) -> float:
    """Standard error of sum(total) / sum(count) over graphs."""
    rest = total - count * (total.sum() / count.sum())
    spread = (rest**2).sum() * len(count) / (len(count) - 1)
    return float(np.sqrt(spread) / count.sum())


def _density(graphs: Sequence[Matrix]) -> float:
    """Edges over pairs, never 0 or 1."""
    edges = sum(float(A.sum()) / 2 for A in graphs)
    return (edges + 0.5) / (sum(len(A) * (len(A) - 1) / 2 for A in graphs) + 1)
