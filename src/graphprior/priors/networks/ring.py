"""Symmetric matrices with each pair of nodes kept once, channels first.

The pairs lie by their distance along the ring of nodes 0, 1, ..., n - 1, 0.
Rows are then contiguous, and what two nodes give a pair is read from the nodes
by a sliding window instead of a gather.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F


class Ring(NamedTuple):
    """Where the pairs of n nodes are kept: (k - 1, i) holds the pair of i and i + k mod n.

    Each pair is kept once (n even: those with k = n / 2 twice, once from each
    end), and a node's neighbours at every distance k are a sliding window:
    what two nodes give a pair needs no gather.
    """

    steps: int
    there: Tensor
    back: Tensor
    at: Tensor


@lru_cache(maxsize=64)
@torch.inference_mode(False)  # the tables outlive the first caller, who may be in inference mode
def ring(n: int, device: torch.device) -> Ring:
    """Index tables of n nodes. The diagonal of ``at`` points at a pair: mask it."""
    steps = max(1, n // 2)
    k, i = torch.arange(1, steps + 1, device=device)[:, None], torch.arange(n, device=device)
    other = (i + k) % n
    there, back = (i * n + other).flatten(), (other * n + i).flatten()
    at = torch.zeros(n * n, dtype=torch.long, device=device)
    places = torch.arange(len(there), device=device)
    at[back] = places
    at[there] = places
    return Ring(steps, there, back[: (n - 1) // 2 * n], at)


class Square(torch.autograd.Function):
    """Pairs (R, P) to symmetric matrices (R, n * n) with a zero diagonal."""

    @staticmethod
    def forward(ctx: Any, pairs: Tensor, n: int) -> Tensor:
        """Gather."""
        ctx.n = n
        full = pairs.index_select(1, ring(n, pairs.device).at)
        full[:, :: n + 1] = 0
        return full

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        """Its transpose, by gathers: torch's own scatters, which costs several times as much."""
        _, there, back, _ = ring(ctx.n, grad.device)
        total = grad.index_select(1, there)
        total[:, : len(back)] += grad.index_select(1, back)
        return (total if ctx.n > 1 else torch.zeros_like(total)), None


def _other_end(x: Tensor) -> Tensor:
    """Nodes (B, D, n) as the second ends of pairs: a view (B, D, steps, n)."""
    n = x.shape[-1]
    twice = torch.cat([x, x[..., : max(1, n // 2)]], -1)
    return twice[..., 1:].unfold(-1, n, 1)


def _sum_at_other_end(pairs: Tensor) -> Tensor:
    """Pairs (B, D, steps, n) summed at their second ends: (B, D, n)."""
    steps, n = pairs.shape[2:]
    # Rows one shorter than they are stored move each row one further: the ends line up.
    skewed = F.pad(pairs, (0, steps)).flatten(2)[..., :-steps].unflatten(2, (steps, -1))
    total = F.pad(skewed.sum(2), (1, 0))
    total[..., :steps] += total[..., n:]
    return total[..., :n]


class OfBothEnds(torch.autograd.Function):
    """Nodes (B, 3 D, n), their channels a, f and g, to pairs i, j (B, D, P): a_i + a_j + f_i g_j.

    Torch's own would make the pairs' array three times over, and its derivative
    of the window is slow.
    """

    @staticmethod
    def forward(ctx: Any, nodes: Tensor) -> Tensor:
        """Written once, added to once."""
        B, _, n = nodes.shape
        ctx.save_for_backward(nodes)
        a, f, _ = nodes[:, :, None].chunk(3, 1)
        other_a, _, other_g = _other_end(nodes).chunk(3, 1)
        pairs = nodes.new_empty(B, a.shape[1], other_a.shape[2] * n)
        square = pairs.view_as(other_a)
        torch.add(a, other_a, out=square)
        square.addcmul_(f, other_g)
        return pairs

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        """Sums over the pairs of each node."""
        (nodes,) = ctx.saved_tensors
        _, f, g = nodes.chunk(3, 1)
        grad = grad.unflatten(2, (-1, nodes.shape[2]))
        of_a = grad.sum(2) + _sum_at_other_end(grad)
        of_f = (grad * _other_end(g)).sum(2)
        return torch.cat([of_a, of_f, _sum_at_other_end(grad * f[:, :, None])], 1)
