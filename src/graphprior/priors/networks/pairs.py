"""Pairs of nodes i < j, stored once: their matrices, their ends, and paths of length two.

Pairs are (C, B, P): channels first, so that a channel of a graph is a matrix
in one piece. Hidden channels of pairs and nodes come last, (B * P, H) and
(B, n, H), so that those of a node are one piece.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F


def number_of_nodes(pairs: int) -> int:
    """n with n (n - 1) / 2 pairs."""
    return round((1 + math.sqrt(1 + 8 * pairs)) / 2)


class PairIndex(NamedTuple):
    """Where pair p = (i, j), i < j, lies in an (n, n) matrix, and which pair lies at (i, j).

    ``ends`` is all i, then all j.
    """

    rows: Tensor
    cols: Tensor
    ends: Tensor
    upper: Tensor
    lower: Tensor
    pair_at: Tensor


@lru_cache(maxsize=64)
@torch.inference_mode(False)  # the tables outlive the first caller, who may be in inference mode
def pair_index(n: int, device: torch.device) -> PairIndex:
    """Index tables of n nodes. The diagonal of ``pair_at`` points at pair 0: mask it."""
    ends = torch.triu_indices(n, n, 1, device=device)
    rows, cols = ends
    upper, lower = rows * n + cols, cols * n + rows
    pair_at = torch.zeros(n * n, dtype=torch.long, device=device)
    pair_at[upper] = pair_at[lower] = torch.arange(len(rows), device=device)
    return PairIndex(rows, cols, ends.flatten(), upper, lower, pair_at)


@lru_cache(maxsize=8)
@torch.inference_mode(False)
def ends_of_pairs(B: int, n: int, device: torch.device) -> Tensor:
    """Both ends of every pair of B graphs among their B * n nodes: (B * P, 2)."""
    index = pair_index(n, device)
    first = n * torch.arange(B, device=device)[:, None, None]
    return (torch.stack([index.rows, index.cols], 1) + first).view(-1, 2)


def _gather(x: Tensor, places: Tensor) -> Tensor:
    """(C, B, L) at ``places`` of its last axis."""
    C, B, L = x.shape
    # Of all ways to say this in torch, this one is three times faster.
    return x.reshape(C * B, L).gather(1, places.expand(C * B, -1)).view(C, B, -1)


def _matrices(x: Tensor) -> Tensor:
    """Pairs (C, B, P) as matrices (C * B, n, n) with a zero diagonal."""
    n = number_of_nodes(x.shape[2])
    full = _gather(x, pair_index(n, x.device).pair_at).view(-1, n, n)
    full.diagonal(dim1=1, dim2=2).zero_()
    return full


def _both_triangles(M: Tensor, B: int) -> Tensor:
    """Matrices (C * B, n, n) as pairs (C, B, P), the two triangles added."""
    index, flat = pair_index(M.shape[-1], M.device), M.view(-1, B, M.shape[-1] ** 2)
    return _gather(flat, index.upper).add_(_gather(flat, index.lower))


# Torch's own derivatives of these gathers cost several times the gathers: they are written here.
class Ends(torch.autograd.Function):
    """Nodes (B, n, H) to the sum over both ends of each pair (B * P, H)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        """Gather."""
        B, ctx.n, H = x.shape
        ends = ends_of_pairs(B, ctx.n, x.device)
        return F.embedding_bag(ends, x.reshape(-1, H), mode="sum")

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        """Its transpose."""
        index = pair_index(ctx.n, grad.device)
        grad = grad.reshape(-1, len(index.rows), grad.shape[1])
        total = grad.new_zeros(len(grad), ctx.n, grad.shape[2])
        return total.index_add_(1, index.rows, grad).index_add_(1, index.cols, grad)


class Paths(torch.autograd.Function):
    """Two messages (K, B, P) to what paths of length two bring to each pair, and each to nodes.

    (K, B, P): one times the other as matrices, both ways added. (K, B, n) twice:
    the sums of the rows of each.
    """

    @staticmethod
    def forward(ctx: Any, far: Tensor, near: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Gather."""
        P, Q = _matrices(far), _matrices(near)
        ctx.save_for_backward(P, Q)
        ctx.shape = (*far.shape[:2], P.shape[-1])
        mean, total = (M.sum(1).view(ctx.shape) for M in (P, Q))
        return _both_triangles(P @ Q, far.shape[1]), mean, total

    @staticmethod
    def backward(ctx: Any, of_paths: Tensor, *of_sums: Tensor) -> tuple[Tensor, Tensor]:
        """Slopes of all outputs."""
        P, Q = ctx.saved_tensors
        _, B, n = ctx.shape
        G = _matrices(of_paths)
        far, near = (grad.reshape(-1, n, 1).expand(-1, n, n) for grad in of_sums)
        # P, Q and G are symmetric, so that no transpose is needed.
        far, near = torch.baddbmm(far, G, Q), torch.baddbmm(near, P, G)
        return _both_triangles(far, B), _both_triangles(near, B)


class RowSums(torch.autograd.Function):
    """Pairs (C, B, P) to the sum over the pairs of each node (C, B, n)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        """Gather."""
        full = _matrices(x)
        return full.sum(1).view(*x.shape[:2], full.shape[-1])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        """Its transpose."""
        index = pair_index(grad.shape[-1], grad.device)
        return _gather(grad, index.rows).add_(_gather(grad, index.cols))
