"""Convert graphs of other libraries and lists of edges to adjacency matrices, and back.

Only simple undirected graphs are accepted. If the caller passes a `Changes`
counter, loops are dropped, and directions and repeated edges are ignored; the
counter says in how many graphs. Weighted graphs are always refused, because
only the user can say which weights count as an edge.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt

from graphprior.errors import GraphPriorError
from graphprior.graphs.matrices import check_adjacency, check_nodes, pairs
from graphprior.types import Matrix

Changes = Counter[str]  # the number of graphs that each change was made to
LOOPS = "loops dropped"
DIRECTED = "directed edges taken as undirected"
MULTIPLE = "multiple edges taken as one"


def from_edges(
    n: int, edges: npt.ArrayLike, name: str = "graph", changes: Changes | None = None
) -> Matrix:
    """Return the adjacency matrix of n nodes from an (E, 2) list of undirected edges."""
    e = np.asarray(edges)
    if e.size == 0:
        e = np.zeros((0, 2), dtype=np.int64)
    if e.ndim != 2 or e.shape[1] != 2 or e.dtype.kind not in "iu":
        raise GraphPriorError(
            f"{name} is not a list of edges (shape {e.shape}, type {e.dtype}): "
            "expected one pair of node numbers for each edge, without weights"
        )
    check_nodes(n, name)
    outside = e[(e < 0) | (e >= n)]
    if len(outside):
        raise GraphPriorError(
            f"{name}: an edge refers to node {outside[0]}, but there are {n} nodes, numbered from 0"
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
    """Return the adjacency matrix of a networkx graph, which must be simple and unweighted."""
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
        "expected edges without weights; decide which of them to keep, and drop the weights"
    )


def as_adjacency(graph: Any, name: str = "graph", changes: Changes | None = None) -> Matrix:
    """Return the adjacency matrix of an array or a networkx, igraph or PyTorch Geometric graph."""
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


def as_networkx(A: Matrix, names: Sequence[str], **attributes: npt.NDArray[Any]) -> nx.Graph:
    """Return ``A`` as a networkx graph with named nodes.

    Each edge gets its entry of each matrix in ``attributes``.
    """
    graph = nx.Graph()
    graph.add_nodes_from(names)
    for i, j in np.argwhere(np.triu(A, 1) == 1):
        carried = {name: values[i, j].item() for name, values in attributes.items()}
        graph.add_edge(names[i], names[j], **carried)
    return graph


def as_igraph(graph: nx.Graph) -> Any:
    """Convert a networkx graph to igraph: nodes become the vertex attribute ``name``.

    Edge attributes are kept.
    """
    _need("igraph", "igraph")
    import igraph

    names = list(graph)
    place = {name: i for i, name in enumerate(names)}
    edges = [(place[a], place[b]) for a, b in graph.edges]
    told = [attributes for _, _, attributes in graph.edges(data=True)]
    carried = {key: [attributes[key] for attributes in told] for key in (told[0] if told else ())}
    return igraph.Graph(len(names), edges, vertex_attrs={"name": names}, edge_attrs=carried)


def as_arviz(samples: npt.NDArray[Any], names: Sequence[str]) -> Any:
    """Return sampled graphs (M, n, n) for ArviZ: variable ``edge`` by chain, draw and pair.

    Every graph is the last state of its own chain, so there are M chains of one draw each.
    """
    if not len(samples):
        raise GraphPriorError(
            "no graphs were drawn: fit with engine 'gibbs' or 'langevin', because 'direct' "
            "only gives probabilities"
        )
    _need("arviz_base", "arviz")
    from arviz_base import from_dict

    rows, cols = pairs(len(names))
    source, target = ([str(names[i]) for i in ends] for ends in (rows, cols))
    with warnings.catch_warnings():  # ArviZ warns about more chains than draws, as intended here
        warnings.simplefilter("ignore")
        tree = from_dict(
            {"posterior": {"edge": samples[:, None, rows, cols]}},
            coords={"pair": np.arange(len(rows))},
            dims={"edge": ["pair"]},
        )
    ends = {"source": ("pair", source), "target": ("pair", target)}
    tree["posterior"].dataset = tree["posterior"].to_dataset().assign_coords(ends)
    return tree


def _need(library: str, extra: str) -> None:
    if find_spec(library) is None:
        raise GraphPriorError(f"this needs {library}: pip install 'graphprior[{extra}]'")
