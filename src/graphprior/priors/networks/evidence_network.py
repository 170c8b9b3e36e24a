"""The evidence network: what the rest of the graph says about a pair.

A pair of nodes carries channels. A layer lets three kinds of knowledge reach
it: the paths of length two between its nodes (so that triangles, and after two
layers squares, are seen), what its two nodes have around them, and the parity
of the rest of its two rows. Every sum is weighted by how likely an edge is
believed to be: it then runs over a node's neighbours, whose number does not
grow with the graph, and a network trained on small graphs works on large ones.

Pairs i < j are stored once, channels first: a channel is a matrix, as the path
products need it, and a linear map is one product with all pairs. Relabelling
the nodes relabels the output; the number of nodes is free.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from graphprior.priors.networks.memory import keep_freed_memory
from graphprior.priors.networks.norms import Standardised, centred, map_standardised
from graphprior.priors.networks.pairs import Ends, Paths, RowSums, number_of_nodes, pair_index
from graphprior.priors.protocol import EvidencePrior

INPUTS = 5
GLOBALS = 4
PARITY = 3
LARGEST_LOG_ODDS = 30.0
BATCH_PAIRS = 1 << 14


@dataclass(frozen=True)
class EvidenceNetworkConfig:
    """Sizes of the network."""

    layers: int = 6
    channels: int = 32
    paths: int = 16
    hidden: int = 64
    parity: bool = True


def parity_features(w: Tensor) -> Tensor:
    """What the rest of both rows says of a pair if degrees were even: (3, B, P).

    The product of 1 - 2 w over a row, the pair left out, is the chance that the
    number of its edges is even less the chance that it is odd.
    """
    t = 1 - 2 * w
    log_size, odd = t.abs().clamp(min=1e-6).log(), (t < 0).to(t)
    log_sizes, odds = RowSums.apply(torch.stack([log_size, odd]))
    signs = 1 - 2 * torch.remainder(odds, 2)
    ends = pair_index(number_of_nodes(w.shape[1]), w.device).ends
    row_size, row_sign = (x.index_select(1, ends).view(len(w), 2, -1) for x in (log_sizes, signs))
    both = (row_size - log_size[:, None]).clamp(max=0).exp() * row_sign * (1 - 2 * odd)[:, None]
    first, second = both.unbind(1)
    return torch.stack([first + second, first * second, torch.atanh(0.999 * both).sum(1)])


class Layer(nn.Module):
    """Paths, nodes and parities reach the pairs; then each pair updates its channels."""

    def __init__(self, config: EvidenceNetworkConfig) -> None:
        super().__init__()
        C, K, H = config.channels, config.paths, config.hidden
        self.parity = config.parity
        self.norm = nn.LayerNorm(C)
        self.belief = nn.Linear(C, 1)
        self.message = nn.Linear(C, 2 * K)
        self.pair_in = nn.Linear(C + K + PARITY * config.parity, H)
        self.node_in, self.node_out = nn.Linear(4 * K, H), nn.Linear(H, H)
        self.whole = nn.Linear(2 * K, H)
        self.out = nn.Linear(H, C)
        for zero in (self.belief, self.out):
            nn.init.zeros_(zero.weight)
            nn.init.zeros_(zero.bias)

    def forward(self, h: Tensor, base: Tensor, is_pair: Tensor, size: Tensor) -> Tensor:
        """Channels h (C, B * P) and evidence ``base`` (B, P) -> updated channels."""
        x = Standardised.apply(h, self.norm.eps)
        w = (base + map_standardised(self.belief, self.norm, x).view_as(base)).sigmoid() * is_pair
        paths, mean, total = self.send(x, w, is_pair)
        parts = [len(x), len(paths), PARITY * self.parity]
        of_x, of_paths, of_parity = self.pair_in.weight.split(parts, 1)
        node, graph = self.hear(mean, total, size)
        # A pair has two ends: each brings half of what all pairs of a graph have in common.
        alike = self.whole(graph) + torch.addmv(self.pair_in.bias, of_x, self.norm.bias)
        y: Tensor = Ends.apply(node.add_(alike[:, None], alpha=0.5))
        y.addmm_(x.T, (of_x * self.norm.weight).T)
        rest = torch.cat([paths, parity_features(w)]) if self.parity else paths
        y.addmm_(rest.flatten(1).T, torch.cat([0.25 * of_paths, of_parity], 1).T)
        y = F.relu(y, inplace=True)
        W, b = centred(self.out)
        return torch.addmm(b, W, y.T).add_(h)

    def send(self, x: Tensor, w: Tensor, is_pair: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """What paths bring to each pair (K, B, P), and all pairs and edges to each node."""
        far, near = map_standardised(self.message, self.norm, x).view(2, -1, *w.shape)
        far, near = far * is_pair, near * w
        sent: tuple[Tensor, Tensor, Tensor] = Paths.apply(far, near)
        return sent

    def hear(self, mean: Tensor, total: Tensor, size: Tensor) -> tuple[Tensor, Tensor]:
        """Hidden channels of each node (B, n, H), and what the graph hears (B, 2K)."""
        # Means over all pairs of a node, sums over its edges.
        around = torch.cat([mean / size, 0.5 * total]).permute(1, 2, 0)
        graph = around.sum(1) / size
        of_node, of_graph = self.node_in.weight.chunk(2, 1)
        alike = F.linear(graph, of_graph, self.node_in.bias)
        node = F.relu(F.linear(around, of_node).add_(alike[:, None]), inplace=True)
        return self.node_out(node), graph


class EvidenceNetwork(nn.Module):
    """f with eta = ell + f(ell): evidence about pairs in, posterior log-odds out."""

    def __init__(self, config: EvidenceNetworkConfig | None = None) -> None:
        super().__init__()
        keep_freed_memory()
        self.config = config = config or EvidenceNetworkConfig()
        self.usual_log_odds = nn.Parameter(torch.tensor(-2.0))
        self.pair_start = nn.Linear(INPUTS, config.channels)
        self.graph_start = nn.Linear(GLOBALS, config.channels)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.channels)
        self.logit = nn.Linear(config.channels, 1)
        nn.init.zeros_(self.logit.weight)

    def rate_log_odds(self, ell: Tensor, is_pair: Tensor) -> Tensor:
        """Log-odds of an edge at the rate of the known pairs, ten usual ones added: (B, 1)."""
        known = ell.isinf() & (is_pair > 0)
        edges, count = (known & (ell > 0)).sum(1), known.sum(1)
        rate = (edges + 10 * self.usual_log_odds.sigmoid()) / (count + 10)
        return torch.logit(rate)[:, None]

    def forward(self, ell: Tensor, is_pair: Tensor | None = None) -> Tensor:
        """eta (B, P) of evidence ``ell`` (B, P) about the pairs i < j in vech's order.

        ``is_pair`` (B, P) is 0 on padding when graphs of different size share a
        batch; padding must be the last nodes.
        """
        is_pair = torch.ones_like(ell) if is_pair is None else is_pair.to(ell)
        ell = torch.where(ell.isinf(), ell, ell.clamp(-LARGEST_LOG_ODDS, LARGEST_LOG_ODDS))
        real = is_pair.sum(1, keepdim=True)
        size = 0.5 + (0.25 + 2 * real).sqrt()
        rate = self.rate_log_odds(ell, is_pair)
        base = ell + rate
        unknown = (~ell.isinf()).to(ell) * is_pair
        told = torch.stack(
            [base.sigmoid(), unknown, torch.tanh(ell / 4), torch.tanh(ell), torch.tanh(base / 2)]
        )
        share = unknown.sum(1, keepdim=True) / real
        edges = (size * rate.sigmoid()).log()
        graph = torch.cat([size.log() - 3, share, rate / 2, edges - 1], 1).T
        (W, b), (W_graph, b_graph) = centred(self.pair_start), centred(self.graph_start)
        start = torch.addmm(b, W, told.flatten(1)).view(-1, *ell.shape)
        h = start.add_(torch.addmm(b_graph, W_graph, graph)[..., None]).mul_(is_pair).flatten(1)
        for layer in self.layers:
            h = layer(h, base, is_pair, size)
        f = map_standardised(self.logit, self.norm, Standardised.apply(h, self.norm.eps))
        return base + f.view_as(base)


class EvidenceNetworkPrior(EvidencePrior):
    """A trained evidence network as a prior."""

    kind = "evidence"
    is_learned = True

    def __init__(self, network: EvidenceNetwork, card: dict[str, Any] | None = None) -> None:
        self.network = network.eval()
        self.card = card

    @torch.inference_mode()
    def posterior_logits(self, ell: Tensor) -> Tensor:
        """eta (..., n, n): the network's answer on the pairs, 0 on the diagonal."""
        n = ell.shape[-1]
        if n < 2 or not ell.numel():  # no pair to ask about
            return torch.zeros_like(ell)
        network = self.network
        if next(network.parameters()).device != ell.device:
            network = copy.deepcopy(network).to(ell.device)  # the user's own stays where it is
        rows, cols, *_ = pair_index(n, ell.device)
        dtype = next(network.parameters()).dtype
        full = ell[..., rows, cols].reshape(-1, len(rows))
        told = full.to(dtype)
        # A few graphs at a time stay in the processor's cache.
        answers = [network(part) for part in told.split(max(1, BATCH_PAIRS // len(rows)))]
        eta = torch.zeros_like(ell)
        # The network hears large evidence as LARGEST_LOG_ODDS; the pair's own counts in full.
        unheard = full - full.clamp(-LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)
        answer = torch.cat(answers).to(ell.dtype) + unheard.nan_to_num(posinf=0.0, neginf=0.0)
        eta[..., rows, cols] = answer.view(*ell.shape[:-2], -1)
        eta[..., cols, rows] = eta[..., rows, cols]
        return eta

    def memory(self, n: int, M: int) -> int:
        """Activations alive at once in one layer, of as many graphs as are passed together."""
        c = self.network.config
        at_once = min(M, max(1, BATCH_PAIRS // max(1, n * (n - 1) // 2)))
        floats = n * n * (2 * c.channels + 2 * c.hidden + 4 * c.paths + 12)
        return 4 * at_once * floats + super().memory(n, M)
