"""Example graphs of several sizes as one batch."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from graphprior.types import Matrix


def pad(graphs: Sequence[Matrix]) -> tuple[Tensor, Tensor]:
    """Graphs of any size as one batch (B, n, n), and which rows are nodes (B, n)."""
    n = max(len(A) for A in graphs)
    A = torch.zeros(len(graphs), n, n)
    is_node = torch.zeros(len(graphs), n, dtype=torch.bool)
    for b, graph in enumerate(graphs):
        A[b, : len(graph), : len(graph)] = torch.as_tensor(graph)
        is_node[b, : len(graph)] = True
    return A, is_node
