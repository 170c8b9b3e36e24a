"""Graphs of other libraries, and lists of edges, as adjacency matrices.

What is not a simple undirected graph is refused, or mended where the caller
hands a `Changes` to count in: loops dropped, directions and repeats ignored.
Weights are always refused: which of them make an edge is not ours to say.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt

from graphprior.errors import GraphPriorError
from graphprior.graphs import Matrix, check_adjacency
from graphprior.guards import check_nodes

Changes = Counter[str]  # what was done to graphs, and to how many of them
LOOPS = "loops dropped"
DIRECTED = "directed edges taken as undirected"
MULTIPLE = "multiple edges taken as one"


def from_edges(
    n: int, edges: npt.ArrayLike, name: str = "graph", changes: Changes | None = None
) -> Matrix:
    """Adjacency of n nodes and an (E, 2) list of undirected edges."""
    e = np.asarray(edges)
    if e.size == 0:
        e = np.zeros((0, 2), dtype=np.int64)
    if e.ndim != 2 or e.shape[1] != 2 or e.dtype.kind not in "iu":
        raise GraphPriorError(
            f"{name} is not a list of edges (shape {e.shape}, type {e.dtype}): "
            "expected pairs of node numbers, without weights"
        )
    check_nodes(n, name)
    outside = e[(e < 0) | (e >= n)]
    if len(outside):
        raise GraphPriorError(
            f"{name}: an edge names node {outside[0]}, but there are {n} nodes, 0 to {n - 1}"
        )
    A = np.zeros((n, n))
    A[e[:, 0], e[:, 1]] = A[e[:, 1], e[:, 0]] = 1.0
    return _finish(A, name, changes)


def _finish(A: Matrix, name: str, changes: Changes | None) -> Matrix:
    if changes is not None and np.diag(A).any():
        changes[LOOPS] += 1
        np.fill_diagonal(A, 0.0)
    return check_adjacency(A, name=name)


def from_networkx(graph: Any, name: str = "graph", changes: Changes | None = None) -> Matrix:
    """Adjacency of a networkx graph; directed, multiple and weighted ones are refused."""
    check_nodes(graph.number_of_nodes(), name)
    _note(graph.is_directed(), DIRECTED, changes, f"{name} is directed: expected an undirected "
          "graph; use `.to_undirected()`")  # fmt: skip
    _note(graph.is_multigraph(), MULTIPLE, changes, f"{name} has multiple edges: expected a "
          "simple graph")  # fmt: skip
    weights = [w for _, _, w in graph.edges(data="weight", default=1) if w != 1]
    if weights:
        raise _weighted(name, f" (for example {weights[0]!r})")
    A = nx.to_numpy_array(graph, weight=None)
    return _finish(np.maximum(A, A.T).clip(max=1.0), name, changes)


def _note(found: bool, what: str, changes: Changes | None, refusal: str) -> None:
    if found and changes is None:
        raise GraphPriorError(refusal)
    if found and changes is not None:
        changes[what] += 1


def _weighted(name: str, example: str = "") -> GraphPriorError:
    return GraphPriorError(
        f"{name} is weighted{example}: "
        "expected edges without weights; decide which ones count and drop the weights"
    )


def as_adjacency(graph: Any, name: str = "graph", changes: Changes | None = None) -> Matrix:
    """Adjacency of an array or of a networkx, igraph or PyTorch Geometric graph."""
    if isinstance(graph, nx.Graph):
        return from_networkx(graph, name, changes)
    directed = f"{name} is directed: expected an undirected graph"
    if hasattr(graph, "get_edgelist"):  # igraph
        _note(graph.is_directed(), DIRECTED, changes, directed)
        if graph.is_weighted():
            raise _weighted(name)
        multiple = f"{name} has multiple edges: expected a simple graph"
        _note(graph.has_multiple(), MULTIPLE, changes, multiple)
        return from_edges(graph.vcount(), graph.get_edgelist(), name, changes)
    if hasattr(graph, "edge_index"):  # PyTorch Geometric: both directions are listed
        _note(graph.is_directed(), DIRECTED, changes, directed)
        if getattr(graph, "edge_weight", None) is not None:
            raise _weighted(name)
        return from_edges(int(graph.num_nodes), np.asarray(graph.edge_index).T, name, changes)
    return check_adjacency(graph, name)
