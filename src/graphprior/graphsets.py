"""Reading sets of example graphs: files, folders, and objects of other libraries.

Every reader gives a list of adjacency matrices and refuses what is not a set
of simple undirected graphs. Nothing here unpickles.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt

from graphprior.errors import GraphPriorError
from graphprior.graphs import Matrix, check_adjacency

EDGE_LISTS = (".edgelist", ".edges", ".txt", ".csv", ".tsv")


def from_edges(n: int, edges: npt.ArrayLike, name: str = "graph") -> Matrix:
    """Adjacency of n nodes and an (E, 2) list of undirected edges."""
    e = np.asarray(edges)
    if e.size == 0:
        e = np.zeros((0, 2), dtype=np.int64)
    if e.ndim != 2 or e.shape[1] != 2 or e.dtype.kind not in "iu":
        raise GraphPriorError(
            f"{name} is not a list of edges (shape {e.shape}, type {e.dtype}): "
            "expected pairs of node numbers, without weights"
        )
    outside = e[(e < 0) | (e >= n)]
    if len(outside):
        raise GraphPriorError(
            f"{name}: an edge names node {outside[0]}, but there are {n} nodes, 0 to {n - 1}"
        )
    A = np.zeros((n, n))
    A[e[:, 0], e[:, 1]] = A[e[:, 1], e[:, 0]] = 1.0
    return check_adjacency(A, name=name)


def from_networkx(graph: Any, name: str = "graph") -> Matrix:
    """Adjacency of a networkx graph; directed, multiple and weighted ones are refused."""
    if graph.is_directed():
        raise GraphPriorError(
            f"{name} is directed: expected an undirected graph; use `.to_undirected()`"
        )
    if graph.is_multigraph():
        raise GraphPriorError(f"{name} has multiple edges: expected a simple graph")
    weights = [w for _, _, w in graph.edges(data="weight", default=1) if w != 1]
    if weights:
        raise _weighted(name, f" (for example {weights[0]!r})")
    return check_adjacency(nx.to_numpy_array(graph, weight=None), name=name)


def _weighted(name: str, example: str = "") -> GraphPriorError:
    return GraphPriorError(
        f"{name} is weighted{example}: "
        "expected edges without weights; decide which ones count and drop the weights"
    )


def as_adjacency(graph: Any, name: str = "graph") -> Matrix:
    """Adjacency of an array or of a networkx, igraph or PyTorch Geometric graph."""
    if isinstance(graph, nx.Graph):
        return from_networkx(graph, name)
    if hasattr(graph, "get_edgelist"):  # igraph
        if graph.is_directed():
            raise GraphPriorError(f"{name} is directed: expected an undirected graph")
        if graph.is_weighted():
            raise _weighted(name)
        if graph.has_multiple():
            raise GraphPriorError(f"{name} has multiple edges: expected a simple graph")
        return from_edges(graph.vcount(), graph.get_edgelist(), name)
    if hasattr(graph, "edge_index"):  # PyTorch Geometric: both directions are listed
        if graph.is_directed():
            raise GraphPriorError(f"{name} is directed: expected an undirected graph")
        if getattr(graph, "edge_weight", None) is not None:
            raise _weighted(name)
        return from_edges(int(graph.num_nodes), np.asarray(graph.edge_index).T, name)
    return check_adjacency(graph, name)


def read_npz(path: Path) -> list[Matrix]:
    """Graphs as arrays ``num_nodes``, ``edge_ptr`` and ``edges``."""
    try:
        with np.load(path, allow_pickle=False) as z:
            sizes, pointers, edges = (z[key] for key in ("num_nodes", "edge_ptr", "edges"))
    except Exception as error:  # a damaged zip raises anything: zlib.error, NotImplementedError
        raise GraphPriorError(
            f"{path} is not a set of graphs ({error}): expected arrays num_nodes, edge_ptr, edges"
        ) from None
    whole = all(a.dtype.kind in "iu" for a in (sizes, pointers, edges))
    if not whole or sizes.ndim != 1 or edges.ndim != 2 or pointers.shape != (len(sizes) + 1,):
        raise GraphPriorError(
            f"{path}: num_nodes, edge_ptr and edges must be whole numbers, "
            "with one pointer more than graphs"
        )
    bounds = pointers.astype(np.int64)
    fits = bounds[0] == 0 and bounds[-1] == len(edges) and (np.diff(bounds) >= 0).all()
    if not fits or (sizes < 0).any() or edges.shape[1] != 2:
        raise GraphPriorError(f"{path}: num_nodes, edge_ptr and edges do not fit each other")
    return [
        from_edges(int(n), edges[start:stop], name=f"{path.name} graph {g}")
        for g, (n, start, stop) in enumerate(zip(sizes, pointers, pointers[1:], strict=False))
    ]


def write_npz(path: Path, graphs: Sequence[Matrix]) -> None:
    """The graphs in the format of `read_npz`."""
    edges = [np.argwhere(np.triu(A, 1) == 1) for A in graphs]
    np.savez_compressed(
        path,
        num_nodes=np.array([len(A) for A in graphs], dtype=np.int32),
        edge_ptr=np.cumsum([0, *(len(e) for e in edges)], dtype=np.int64),
        edges=np.concatenate([*edges, np.zeros((0, 2), dtype=int)]).astype(np.int32),
    )


def read_json(path: Path) -> list[Matrix]:
    """SNAP's JSON: an object from graph id to a list of edges."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        edge_lists = {str(key): np.asarray(value) for key, value in content.items()}
    except (ValueError, AttributeError, TypeError) as error:
        raise GraphPriorError(f"{path} is not a JSON object of edge lists: {error}") from None
    firsts = [e.min() for e in edge_lists.values() if e.size and e.dtype.kind in "iu"]
    if firsts and min(firsts) == 1:
        raise GraphPriorError(f"{path}: no edge names node 0; nodes must be counted from 0, not 1")
    return [
        from_edges(_node_count(e), e, name=f"{path.name} graph {key}")
        for key, e in edge_lists.items()
    ]


def _node_count(edges: npt.NDArray[Any]) -> int:
    return int(edges.max(initial=-1)) + 1 if edges.dtype.kind in "iu" else 0


def read_tudataset(folder: Path) -> list[Matrix]:
    """TUDataset text files: NAME_A.txt (edges) and NAME_graph_indicator.txt."""
    edge_file = next(iter(sorted(folder.glob("*_A.txt"))))
    indicator = edge_file.with_name(edge_file.name.replace("_A.txt", "_graph_indicator.txt"))
    try:
        edges = np.loadtxt(edge_file, delimiter=",", dtype=np.int64, ndmin=2) - 1
        graph_of = np.loadtxt(indicator, dtype=np.int64, ndmin=1)
        ids, sizes = np.unique(graph_of, return_counts=True)
        first = {g: int(np.flatnonzero(graph_of == g)[0]) for g in ids}
        if edges.shape[1] != 2 and edges.size:
            raise ValueError(f"{edge_file.name} has {edges.shape[1]} columns: expected 2")
        edges = edges.reshape(-1, 2)
        if edges.size and edges.min() < 0:
            raise ValueError(f"{edge_file.name} names node 0: nodes are counted from 1")
        owner = graph_of[edges[:, 0]]
        across = np.flatnonzero(owner != graph_of[edges[:, 1]])
        if len(across):
            raise ValueError(f"{edge_file.name} line {across[0] + 1} joins two graphs")
    except (OSError, ValueError, IndexError) as error:
        raise GraphPriorError(f"{folder} is not a TUDataset: {error}") from None
    return [
        from_edges(int(n), edges[owner == g] - first[g], name=f"{folder.name} graph {g}")
        for g, n in zip(ids, sizes, strict=True)
    ]


def read_edge_list(path: Path) -> Matrix:
    """One graph: a line for each edge, two node names apart by space, tab or comma."""
    graph = nx.Graph()
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except ValueError as error:
        raise GraphPriorError(f"{path.name} cannot be read: {error}") from None
    if _has_header(lines):
        lines[0] = ""
    for number, line in enumerate(lines, start=1):
        words = line.split("#")[0].replace(",", " ").split()
        if len(words) == 1:
            graph.add_node(words[0])
        elif len(words) == 2:
            graph.add_edge(*words)
        elif words:
            raise GraphPriorError(
                f"{path.name} line {number} has {len(words)} fields: expected two node names "
                "(an edge, without weight) or one (a node without edges)"
            )
    return from_networkx(graph, path.name)


def _has_header(lines: list[str]) -> bool:
    """Whether the first line names columns: "source target", or words above numbers only."""
    rows = [line.split("#")[0].replace(",", " ").split() for line in lines]
    if not rows or len(rows[0]) != 2:
        return False
    below = [word for row in rows[1:] for word in row]
    numbered = bool(below) and all(word.lstrip("-").isdigit() for word in below)
    words = not any(word.lstrip("-").isdigit() for word in rows[0])
    return [word.lower() for word in rows[0]] == ["source", "target"] or (numbered and words)


def _with_networkx(read: Callable[[Path], Any]) -> Callable[[Path], Matrix]:
    def reader(path: Path) -> Matrix:
        try:
            graph = read(path)
        except Exception as error:  # parsers of other libraries raise anything
            raise GraphPriorError(f"{path.name} cannot be read: {error}") from None
        return from_networkx(graph, path.name)

    return reader


READERS: dict[str, Callable[[Path], Matrix]] = {
    ".graphml": _with_networkx(nx.read_graphml),
    ".gml": _with_networkx(lambda path: nx.read_gml(path, label=None)),
    **dict.fromkeys(EDGE_LISTS, read_edge_list),
}


def read_folder(folder: Path) -> list[Matrix]:
    """All GraphML, GML and edge-list files of a folder, by name; or a TUDataset."""
    if any(folder.glob("*_A.txt")):
        return read_tudataset(folder)
    files = sorted(p for p in folder.iterdir() if p.is_file() and p.suffix.lower() in READERS)
    if not files:
        raise GraphPriorError(
            f"{folder} holds no graph: expected files ending in {', '.join(sorted(READERS))}, "
            "or a TUDataset"
        )
    return [READERS[p.suffix.lower()](p) for p in files]


def read_graphs(path: str | Path) -> list[Matrix]:
    """A set of graphs from a folder, an .npz or a .json file."""
    path = Path(path)
    if path.is_dir():
        return read_folder(path)
    if not path.exists():
        raise GraphPriorError(f"{path}: no such file or folder")
    readers = {".npz": read_npz, ".json": read_json}
    if path.suffix.lower() not in readers:
        raise GraphPriorError(
            f"{path}: a set of graphs is a folder (GraphML, GML, edge lists, TUDataset), "
            "an .npz or a .json file"
        )
    return readers[path.suffix.lower()](path)


def as_graphs(graphs: str | Path | Iterable[Any]) -> list[Matrix]:
    """A path, or a collection of graphs of any library, as adjacency matrices."""
    if isinstance(graphs, str | Path):
        return read_graphs(graphs)
    return [as_adjacency(graph, name=f"graph {g}") for g, graph in enumerate(graphs)]
