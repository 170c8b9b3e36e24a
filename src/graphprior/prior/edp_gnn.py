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

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from graphprior.noise import Score, noise_log_odds, tweedie_score


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

    def forward(
        self, E: Tensor, x: Tensor, level: Tensor, is_pair: Tensor, size: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Channels E (B, n, n, C), features x (B, n, H) -> the same, updated."""
        B, n, _, C = E.shape
        e, y = self.pair_norm(E), self.node_norm(x)
        graphs = (e * is_pair).transpose(-1, -2).reshape(B, n * C, n)
        received = (graphs @ y / size.sqrt()[:, None, None]).view(B, n, C, -1)
        messages = received + (1 + self.own_weight)[:, None] * y[:, :, None]
        gain, shift = self.node_level(level)[:, None].chunk(2, -1)
        h = self.node_in(messages.view(B, n, -1))
        x = x + self.node_out(F.silu(h * (1 + gain) + shift))

        y = self.node_norm(x)
        ends, factor = self.ends(y), self.product(y)
        gain, shift = self.pair_level(level)[:, None, None].chunk(2, -1)
        # Pairs are many, so their sums are taken in place: half of the time was spent on memory.
        h = self.pair_in(e).add_(ends[:, :, None]).add_(ends[:, None])
        h = h.addcmul_(factor[:, :, None], factor[:, None])
        h = F.silu(torch.addcmul(shift, h, 1 + gain), inplace=True)
        E = E + self.pair_out(h)
        return E, x


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

    def rest_log_odds(self, A_tilde: Tensor, sigma: Tensor, is_node: Tensor) -> Tensor:
        """f (B, n, n): what the other pairs say of each pair, in log-odds."""
        size = is_node.sum(1).to(A_tilde)
        off_diagonal = ~torch.eye(A_tilde.shape[-1], dtype=torch.bool, device=A_tilde.device)
        is_pair = (is_node[:, :, None] & is_node[:, None] & off_diagonal)[..., None].to(A_tilde)
        noisy = A_tilde * is_pair[..., 0]
        likely = noise_log_odds(noisy, sigma[:, None, None]).sigmoid() * is_pair[..., 0]
        E = self.pair_start(torch.stack([noisy, likely, is_pair[..., 0]], -1))
        per_node = torch.stack([noisy.sum(2), likely.sum(2)], -1) / size[:, None, None].sqrt()
        log_size = size.log()[:, None, None].expand(-1, A_tilde.shape[-1], 1)
        x = self.node_start(torch.cat([per_node, log_size], -1))
        level = self.embed(sigma)
        for layer in self.layers:
            E, x = layer(E, x, level, is_pair, size)
        f: Tensor = self.logit(self.norm(E))[..., 0]
        return f

    def forward(self, A_tilde: Tensor, sigma: Tensor, is_node: Tensor | None = None) -> Tensor:
        """Score (B, n, n) of noisy graphs at levels ``sigma`` (B,).

        ``is_node`` (B, n) tells nodes from padding when graphs of different
        size share a batch; a node without edges is a node.
        """
        if is_node is None:
            is_node = torch.ones(A_tilde.shape[:2], dtype=torch.bool, device=A_tilde.device)
        level = sigma[:, None, None]
        f = self.rest_log_odds(A_tilde, sigma, is_node)
        A_mean = (noise_log_odds(A_tilde, level) + f).sigmoid()
        return tweedie_score(A_mean, A_tilde, level)


class EDPGNNPrior:
    """A trained network as a prior.

    As in the paper, known entries enter the network as clean values although
    it was trained on noisy ones.
    """

    kind = "edp-gnn"

    def __init__(self, network: EDPGNN) -> None:
        self.network = network.eval()

    def score(self, known: Tensor) -> Score:
        """The network's score; ``known`` is already in the noisy graphs it is shown."""
        network = self.network
        if next(network.parameters()).device != known.device:
            network = copy.deepcopy(network).to(known.device)  # the user's own stays where it is
        dtype = next(network.parameters()).dtype

        @torch.inference_mode()
        def score(A_tilde: Tensor, sigma: float) -> Tensor:
            levels = torch.full((len(A_tilde),), sigma, dtype=dtype, device=A_tilde.device)
            out: Tensor = network(A_tilde.to(dtype), levels)
            return out.to(A_tilde.dtype)

        return score

    def memory(self, n: int, M: int) -> int:
        """Activations alive at once: hidden and channel arrays of one layer."""
        c = self.network.config
        return 4 * M * n * n * (4 * c.hidden + 4 * c.channels) + 4 * M * n * c.channels * c.features


def count_parameters(network: nn.Module) -> int:
    """Number of trained numbers."""
    return sum(math.prod(p.shape) for p in network.parameters())
