"""The evidence network: what the rest of the graph says about a pair.

A pair of nodes carries channels. A layer lets three kinds of knowledge reach
it: the paths of length two between its nodes (so that triangles, and after two
layers squares, are seen), what its two nodes have around them, and the parity
of the rest of its two rows. Every sum is weighted by how likely an edge is
believed to be: it then runs over a node's neighbours, whose number does not
grow with the graph, and a network trained on small graphs works on large ones.

Pairs i < j are stored once, channels last. Relabelling the nodes relabels the
output; the number of nodes is free.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from graphprior.prior.protocol import EvidencePrior

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


class PairIndex(NamedTuple):
    """Where pair p = (i, j), i < j, lies in an (n, n) matrix, and which pair lies at (i, j)."""

    rows: Tensor
    cols: Tensor
    upper: Tensor
    lower: Tensor
    pair_at: Tensor


@lru_cache(maxsize=64)
@torch.inference_mode(False)  # the tables outlive the first caller, who may be in inference mode
def pair_index(n: int, device: torch.device) -> PairIndex:
    """Index tables of n nodes. The diagonal of ``pair_at`` points at pair 0: mask it."""
    rows, cols = torch.triu_indices(n, n, 1, device=device)
    upper, lower = rows * n + cols, cols * n + rows
    pair_at = torch.zeros(n * n, dtype=torch.long, device=device)
    pair_at[upper] = pair_at[lower] = torch.arange(len(rows), device=device)
    return PairIndex(rows, cols, upper, lower, pair_at)


def _matrices(x: Tensor, n: int) -> Tensor:
    """Pairs (B, P, C) as matrices (B, n, n, C) with a zero diagonal."""
    full = x.index_select(1, pair_index(n, x.device).pair_at).view(len(x), n, n, -1)
    full.diagonal(dim1=1, dim2=2).zero_()
    return full


def _both_triangles(M: Tensor) -> Tensor:
    """Channels of matrices (B, C, n, n) as pairs (B, P, C), the two triangles added."""
    index, flat = pair_index(M.shape[-1], M.device), M.flatten(2)
    return flat.index_select(2, index.upper).add_(flat.index_select(2, index.lower)).mT


def _sum_of_ends(x: Tensor) -> Tensor:
    """Nodes (B, n, C) to pairs (B, P, C)."""
    index = pair_index(x.shape[1], x.device)
    return x.index_select(1, index.rows).add_(x.index_select(1, index.cols))


# Torch's own derivatives of these gathers cost several times the gathers: they are written here.
class Ends(torch.autograd.Function):
    """Nodes (B, n, C) to the sum over both ends of each pair (B, P, C)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        """Gather."""
        ctx.n = x.shape[1]
        return _sum_of_ends(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        """Its transpose."""
        index = pair_index(ctx.n, grad.device)
        total = grad.new_zeros(len(grad), ctx.n, grad.shape[2])
        return total.index_add_(1, index.rows, grad).index_add_(1, index.cols, grad)


class Paths(torch.autograd.Function):
    """Messages (B, P, 2K) to what paths of length two bring to each pair, and edges to each node.

    (B, P, K): the first K channels times the other K as matrices, both ways
    added. (B, n, 2K): the sum of each row.
    """

    @staticmethod
    def forward(ctx: Any, messages: Tensor, n: int) -> tuple[Tensor, Tensor]:
        """Gather."""
        full = _matrices(messages, n)
        channels = full.permute(0, 3, 1, 2).contiguous()
        ctx.save_for_backward(channels)
        P, Q = channels.chunk(2, 1)
        return _both_triangles(P @ Q), full.sum(2)

    @staticmethod
    def backward(ctx: Any, of_paths: Tensor, of_rows: Tensor) -> tuple[Tensor, None]:
        """Slopes of both outputs."""
        (channels,) = ctx.saved_tensors
        G = _matrices(of_paths.contiguous(), channels.shape[-1]).permute(0, 3, 1, 2).contiguous()
        P, Q = channels.chunk(2, 1)
        # P, Q and G are symmetric, so that no transpose is needed.
        return _both_triangles(torch.cat([G @ Q, P @ G], 1)) + _sum_of_ends(of_rows), None


class RowSums(torch.autograd.Function):
    """Pairs (B, P, C) to the sum over the pairs of each node (B, n, C)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, n: int) -> Tensor:
        """Gather."""
        return _matrices(x, n).sum(2)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        """Its transpose."""
        return _sum_of_ends(grad), None


def parity_features(w: Tensor, n: int) -> Tensor:
    """What the rest of both rows says of a pair if degrees were even: (B, P, 3).

    The product of 1 - 2 w over a row, the pair left out, is the chance that the
    number of its edges is even less the chance that it is odd.
    """
    t = 1 - 2 * w
    log_size = t.abs().clamp(min=1e-6).log()
    odd = (t < 0).to(t)
    both = torch.stack([log_size, odd], -1)
    rows, index = RowSums.apply(both, n), pair_index(n, w.device)
    ends = [rows.index_select(1, end) - both for end in (index.rows, index.cols)]
    first, second = (
        (end[..., 0].clamp(max=0).exp() * (1 - 2 * torch.remainder(end[..., 1].round(), 2)))
        for end in ends
    )
    strength = torch.atanh(0.999 * first) + torch.atanh(0.999 * second)
    return torch.stack([first + second, first * second, strength], -1)


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
        """Channels h (B, P, C) and evidence ``base`` (B, P) -> updated channels."""
        n = _nodes(h.shape[1])
        x = self.norm(h)
        w = (base + self.belief(x)[..., 0]).sigmoid() * is_pair
        far, near = self.message(x).chunk(2, -1)
        messages = torch.cat([far * is_pair[..., None], near * w[..., None]], -1)
        paths, around = Paths.apply(messages, n)
        around = around * self.row_scale(size)
        parts = [x, 0.25 * paths]
        if self.parity:
            parts.append(parity_features(w, n))
        graph = around.sum(1, keepdim=True) / size
        node = torch.cat([around, graph.expand_as(around)], -1)
        ends: Tensor = Ends.apply(self.node_out(F.relu(self.node_in(node))))
        y = self.pair_in(torch.cat(parts, -1)).add_(ends).add_(self.whole(graph))
        return torch.add(h, self.out(F.relu(y, inplace=True)))

    def row_scale(self, size: Tensor) -> Tensor:
        """Means over all pairs of a node, sums over its edges."""
        K = self.message.out_features // 2
        one = torch.ones_like(size)
        return torch.cat([(1 / size).expand(-1, -1, K), 0.5 * one.expand(-1, -1, K)], -1)


def _nodes(pairs: int) -> int:
    return round((1 + math.sqrt(1 + 8 * pairs)) / 2)


class EvidenceNetwork(nn.Module):
    """f with eta = ell + f(ell): evidence about pairs in, posterior log-odds out."""

    def __init__(self, config: EvidenceNetworkConfig | None = None) -> None:
        super().__init__()
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
            [base.sigmoid(), unknown, torch.tanh(ell / 4), torch.tanh(ell), torch.tanh(base / 2)],
            -1,
        )
        share = unknown.sum(1, keepdim=True) / real
        graph = torch.stack(
            [size.log() - 3, share, rate / 2, (size * rate.sigmoid()).log() - 1], -1
        )
        h = (self.pair_start(told) + self.graph_start(graph)) * is_pair[..., None]
        for layer in self.layers:
            h = layer(h, base, is_pair, size[..., None])
        f: Tensor = self.logit(self.norm(h))[..., 0]
        return base + f


class EvidenceNetworkPrior(EvidencePrior):
    """A trained evidence network as a prior."""

    kind = "evidence"

    def __init__(self, network: EvidenceNetwork) -> None:
        self.network = network.eval()

    @torch.inference_mode()
    def posterior_logits(self, ell: Tensor) -> Tensor:
        """eta (..., n, n): the network's answer on the pairs, 0 on the diagonal."""
        n = ell.shape[-1]
        network = self.network
        if next(network.parameters()).device != ell.device:
            network = copy.deepcopy(network).to(ell.device)  # the user's own stays where it is
        rows, cols, *_ = pair_index(n, ell.device)
        dtype = next(network.parameters()).dtype
        told = ell[..., rows, cols].reshape(-1, len(rows)).to(dtype)
        # A few graphs at a time stay in the processor's cache.
        answers = [network(part) for part in told.split(max(1, BATCH_PAIRS // len(rows)))]
        eta = torch.zeros_like(ell)
        eta[..., rows, cols] = torch.cat(answers).to(ell.dtype).view(*ell.shape[:-2], -1)
        eta[..., cols, rows] = eta[..., rows, cols]
        return eta

    def memory(self, n: int, M: int) -> int:
        """Activations alive at once in one layer, of as many graphs as are passed together."""
        c = self.network.config
        at_once = min(M, max(1, BATCH_PAIRS // max(1, n * (n - 1) // 2)))
        floats = n * n * (2 * c.channels + 2 * c.hidden + 4 * c.paths + 12)
        return 4 * at_once * floats + super().memory(n, M)
