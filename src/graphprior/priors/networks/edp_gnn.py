"""The paper's learned prior: an edge-wise dense prediction graph network.

Every pair carries channels and every node features. A layer passes messages
along each channel as if it were a weighted graph (multi-channel GIN), then
updates each pair from its own channels and its two nodes. Relabelling the
nodes relabels the output; the number of nodes is free.

The entries of a graph are 0 or 1, so the network does not give the score
itself: it gives ``f``, what the rest of the graph says about a pair, in
log-odds. Added to what the pair's own noisy entry says, that is the posterior
mean of the entry, and Tweedie's formula makes it the score. A network that has
learned nothing (f = 0) is then the exact score of a fair coin on every pair.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from graphprior.priors.networks.norms import centred
from graphprior.priors.networks.ring import OfBothEnds, Square, ring
from graphprior.priors.noise import noise_log_odds, tweedie_score
from graphprior.types import Score


@dataclass(frozen=True)
class EDPGNNConfig:
    """Sizes of the network."""

    layers: int = 4
    channels: int = 16
    features: int = 24
    hidden: int = 32


class NoiseEmbedding(nn.Module):
    """The noise level as a vector: log sigma and a few of its waves."""

    def __init__(self, size: int, waves: int = 6) -> None:
        super().__init__()
        self.waves = waves
        self.mix = nn.Sequential(nn.Linear(1 + 2 * waves, size), nn.SiLU(), nn.Linear(size, size))

    def forward(self, sigma: Tensor) -> Tensor:
        """(B,) -> (B, size)."""
        t = sigma.log()[:, None]
        phase = t * torch.arange(1, self.waves + 1, dtype=t.dtype, device=t.device)
        embedding: Tensor = self.mix(torch.cat([t, phase.sin(), phase.cos()], -1))
        return embedding


def _inverse_size(x: Tensor, eps: float) -> Tensor:
    """What LayerNorm divides by, over channels (B, C, P) of mean zero, as a factor (B, 1, P)."""
    return x.square().mean(1, keepdim=True).add_(eps).rsqrt_()


class LayerWeights(NamedTuple):
    """The maps of a layer at given noise levels, all that is known before the graphs folded in."""

    received: Tensor  # (D, H * C)
    own: Tensor  # (D, 2 H)
    node_gain: Tensor  # (S, D, 1), as all below whose first axis is the noise level
    node_shift: Tensor
    node_out: tuple[Tensor, Tensor]
    pair: Tensor  # (S, D, C)
    ends: Tensor  # (S, 3 D, H)
    ends_bias: Tensor  # (S, 3 D, 1)
    pair_out: tuple[Tensor, Tensor]


class Given(NamedTuple):
    """All that a pass knows before it sees the noisy graphs: kept from step to step."""

    sigma: Tensor  # (S, 1, 1)
    is_pair: Tensor  # (G, n, n)
    pairs: Tensor  # (G, 1, P): the same in a ring
    share: Tensor  # (G, 1, n): how much of a node's features is sent
    pair_start: tuple[Tensor, Tensor]
    node_start: tuple[Tensor, Tensor]
    layers: list[LayerWeights]
    logit: tuple[Tensor, Tensor]


class EDPLayer(nn.Module):
    """Messages along every channel, then an update of every pair."""

    def __init__(self, config: EDPGNNConfig, noise: int) -> None:
        super().__init__()
        C, H, D = config.channels, config.features, config.hidden
        self.pair_norm, self.node_norm = nn.LayerNorm(C), nn.LayerNorm(H)
        self.own_weight = nn.Parameter(torch.zeros(C))
        self.node_in, self.node_out = nn.Linear(C * H, D), nn.Linear(D, H)
        self.pair_in, self.pair_out = nn.Linear(C, D), nn.Linear(D, C)
        self.ends, self.product = nn.Linear(H, D), nn.Linear(H, D)
        self.node_level, self.pair_level = nn.Linear(noise, 2 * D), nn.Linear(noise, 2 * D)
        for out in (self.node_out, self.pair_out, self.node_level, self.pair_level):
            nn.init.zeros_(out.weight)
            nn.init.zeros_(out.bias)

    def weights(self, level: Tensor) -> LayerWeights:
        """The maps at noise levels (S, noise).

        A pass over all pairs is dear and one over the weights is not: the gain
        and bias of the pairs' norm, and gain and shift of the noise level, go
        into the weights that follow or precede them.
        """
        scale, bias = self.pair_norm.weight, self.pair_norm.bias
        W = self.node_in.weight.unflatten(1, (len(scale), -1))
        by_channel = torch.stack([1 + self.own_weight, bias])
        own = (by_channel @ W).flatten(1)
        gain, shift = self.node_level(level)[..., None].chunk(2, 1)
        node_shift = shift + (1 + gain) * self.node_in.bias[:, None]

        gain_p, shift = self.pair_level(level)[..., None].chunk(2, 1)
        gain_p = 1 + gain_p
        constant = self.pair_in.bias + self.pair_in.weight @ bias + 2 * self.ends.bias
        half_shift = 0.5 * (shift + gain_p * constant[:, None])  # a pair gets it from each end
        factor, factor_bias = self.product.weight, self.product.bias[:, None]
        one = torch.ones_like(gain_p)
        return LayerWeights(
            (W * scale[:, None]).transpose(1, 2).flatten(1),
            own,
            1 + gain,
            node_shift,
            centred(self.node_out),
            gain_p * (self.pair_in.weight * scale),
            torch.cat([gain_p * self.ends.weight, one * factor, gain_p * factor], 1),
            torch.cat([half_shift, one * factor_bias, gain_p * factor_bias], 1),
            centred(self.pair_out),
        )

    def forward(
        self, E: Tensor, x: Tensor, w: LayerWeights, is_pair: Tensor, is_node: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Channels E (B, C, P), features x (B, H, n) -> the same, updated."""
        B, C, P = E.shape
        n = x.shape[-1]

        def each(W: Tensor) -> Tensor:
            return W.expand(B, -1, -1)

        e = E * (_inverse_size(E, self.pair_norm.eps) * is_pair)
        y = self.normed(x)
        sent = y * is_node
        graphs = Square.apply(e.view(B * C, P), n).view(B, C * n, n)
        received = (sent @ graphs.mT).view(B, -1, n)
        others = sent.sum(2, keepdim=True) - sent
        h = torch.bmm(each(w.own), torch.cat([y, others], 1)).baddbmm_(each(w.received), received)
        h = F.silu(torch.addcmul(w.node_shift, h, w.node_gain), inplace=True)
        W, b = w.node_out
        x = (x + b).baddbmm_(each(W), h)

        ends = torch.baddbmm(each(w.ends_bias), each(w.ends), self.normed(x))
        # Pairs are many, so their sums are taken in place: half of the time was spent on memory.
        h = OfBothEnds.apply(ends)
        h = F.silu(h.baddbmm_(each(w.pair), e), inplace=True)
        W, b = w.pair_out
        return (E + b).baddbmm_(each(W), h), x

    def normed(self, x: Tensor) -> Tensor:
        """Features (B, H, n) through the nodes' norm."""
        norm = self.node_norm
        y = x * _inverse_size(x, norm.eps)
        return torch.addcmul(norm.bias[:, None], y, norm.weight[:, None])


class EDPGNN(nn.Module):
    """The score network g_xi(A_tilde, sigma). Eq. (28)."""

    def __init__(self, config: EDPGNNConfig | None = None) -> None:
        super().__init__()
        self.config = config = config or EDPGNNConfig()
        noise = config.hidden
        self.embed = NoiseEmbedding(noise)
        self.pair_start = nn.Linear(3, config.channels)
        self.node_start = nn.Linear(3, config.features)
        self.layers = nn.ModuleList(EDPLayer(config, noise) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.channels)
        self.logit = nn.Linear(config.channels, 1)

    def given(self, sigma: Tensor, is_node: Tensor) -> Given:
        """What does not depend on the graphs; ``sigma`` (B,) or (1,), ``is_node`` (B, n) or (1, n).

        ``is_node`` tells nodes from padding when graphs of different size
        share a batch; a node without edges is a node.
        """
        n = is_node.shape[-1]
        off_diagonal = ~torch.eye(n, dtype=torch.bool, device=is_node.device)
        is_pair = (is_node[:, :, None] & is_node[:, None] & off_diagonal).to(sigma)
        size = is_node.sum(1).to(sigma)[:, None, None]
        W, b = centred(self.pair_start)
        V, c = centred(self.node_start)
        level = self.embed(sigma)
        return Given(
            sigma[:, None, None],
            is_pair,
            is_pair.flatten(1).index_select(1, ring(n, is_pair.device).there)[:, None],
            is_node.to(sigma)[:, None] / size.sqrt(),
            # The third input tells pairs from padding, and no one looks at the padding.
            (W[:, :2], b + W[:, 2:]),
            (V[:, :2] / size.sqrt(), c + V[:, 2:] * size.log()),
            [cast(EDPLayer, layer).weights(level) for layer in self.layers],
            (
                self.logit.weight * self.norm.weight,
                self.logit.weight @ self.norm.bias + self.logit.bias,
            ),
        )

    def rest_log_odds(self, A_tilde: Tensor, given: Given) -> Tensor:
        """f (B, n, n): what the other pairs say of each pair, in log-odds. 0 on the diagonal."""
        n = A_tilde.shape[-1]
        likely = noise_log_odds(A_tilde, given.sigma).sigmoid()
        told = torch.stack([A_tilde, likely], 1) * given.is_pair[:, None]
        W, b = given.pair_start
        packed = told.view(-1, n * n).index_select(1, ring(n, told.device).there)
        E = W @ packed.view(len(told), 2, -1) + b
        W, b = given.node_start
        x = W @ told.sum(3) + b
        for layer, weights in zip(self.layers, given.layers, strict=True):
            E, x = layer(E, x, weights, given.pairs, given.share)
        W, b = given.logit
        f = (W @ E * _inverse_size(E, self.norm.eps)).flatten(1) + b
        full: Tensor = Square.apply(f, n)
        return full.view_as(A_tilde)

    def score(self, A_tilde: Tensor, given: Given) -> Tensor:
        """Score (B, n, n) of symmetric noisy graphs, of which each pair is read once."""
        f = self.rest_log_odds(A_tilde, given)
        A_mean = (noise_log_odds(A_tilde, given.sigma) + f).sigmoid()
        return tweedie_score(A_mean, A_tilde, given.sigma)

    def forward(self, A_tilde: Tensor, sigma: Tensor, is_node: Tensor | None = None) -> Tensor:
        """Score (B, n, n) of symmetric noisy graphs at levels ``sigma`` (B,)."""
        if is_node is None:
            is_node = torch.ones(1, A_tilde.shape[-1], dtype=torch.bool, device=A_tilde.device)
        return self.score(A_tilde, self.given(sigma, is_node))


class EDPGNNPrior:
    """A trained network as a prior.

    As in the paper, known entries enter the network as clean values although
    it was trained on noisy ones.
    """

    kind = "edp-gnn"
    name: str | None = None

    def __init__(self, network: EDPGNN, card: dict[str, Any] | None = None) -> None:
        self.network = network.eval()
        self.card = card

    def score(self, known: Tensor) -> Score:
        """The network's score; ``known`` is already in the noisy graphs it is shown."""
        network = self.network
        if next(network.parameters()).device != known.device:
            network = copy.deepcopy(network).to(known.device)  # the user's own stays where it is
        dtype = next(network.parameters()).dtype

        everyone = torch.ones(1, len(known), dtype=torch.bool, device=known.device)

        @lru_cache(maxsize=1)  # a sampler takes many steps at each level
        def given(sigma: float) -> Given:
            return network.given(everyone.new_full((1,), sigma, dtype=dtype), everyone)

        @torch.inference_mode()
        def score(A_tilde: Tensor, sigma: float) -> Tensor:
            return network.score(A_tilde.to(dtype), given(float(sigma))).to(A_tilde.dtype)

        return score

    def memory(self, n: int, M: int) -> int:
        """Activations alive at once in one layer: of pairs kept once, and of whole matrices."""
        c = self.network.config
        pairs = n * n // 2 * (2 * c.hidden + 4 * c.channels)
        return 4 * M * (pairs + n * n * c.channels + n * c.channels * c.features)


def count_parameters(network: nn.Module) -> int:
    """Number of trained numbers."""
    return sum(math.prod(p.shape) for p in network.parameters())
