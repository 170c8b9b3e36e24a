"""Reading sets of example graphs: files, folders, and objects of other libraries.

Every reader gives a list of adjacency matrices and refuses what is not a set
of simple undirected graphs. Nothing here unpickles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt
import psutil

from graphprior.errors import GraphPriorError
from graphprior.graphs.convert import Changes, as_adjacency, from_edges, from_networkx
from graphprior.io.safe import guarded, read_arrays, read_graphml
from graphprior.io.safe import read_json as parse_json
from graphprior.types import Matrix

EDGE_LISTS = (".edgelist", ".edges", ".txt", ".csv", ".tsv")
HEADERS = {("source", "target"), ("from", "to")}
KINDS = {"node", "gene", "protein", "id", "name", "vertex", "variable", "var", "user", "person"}


def read_npz(path: Path, changes: Changes | None = None) -> list[Matrix]:
    """Graphs as arrays ``num_nodes``, ``edge_ptr`` and ``edges``."""
    with guarded(path, "a set of graphs", ": expected arrays num_nodes, edge_ptr, edges"):
        arrays = read_arrays(path, "a set of graphs")
        sizes, pointers, edges = (arrays[key] for key in ("num_nodes", "edge_ptr", "edges"))
    whole = all(a.dtype.kind in "iu" for a in (sizes, pointers, edges))
    if not whole or sizes.ndim != 1 or edges.ndim != 2 or pointers.shape != (len(sizes) + 1,):
        raise GraphPriorError(
            f"{path}: num_nodes, edge_ptr and edges must be whole numbers, "
            "with one pointer more than graphs"
        )
    bounds, nodes = pointers.astype(np.int64), sizes.astype(np.int64)
    fits = bounds[0] == 0 and bounds[-1] == len(edges) and (np.diff(bounds) >= 0).all()
    if not fits or (sizes < 0).any() or edges.shape[1] != 2:
        raise GraphPriorError(f"{path}: num_nodes, edge_ptr and edges do not fit each other")
    check_memory(nodes, path)
    return [
        from_edges(int(n), edges[start:stop], f"{path.name} graph {g}", changes)
        for g, (n, start, stop) in enumerate(zip(nodes, bounds, bounds[1:], strict=False))
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


def read_json(path: Path, changes: Changes | None = None) -> list[Matrix]:
    """SNAP's JSON: an object from graph id to a list of edges."""
    with guarded(path, "a JSON object of edge lists"):
        content = parse_json(path)
        edge_lists = {str(key): np.asarray(value) for key, value in content.items()}
    firsts = [e.min() for e in edge_lists.values() if e.size and e.dtype.kind in "iu"]
    if firsts and min(firsts) == 1:
        raise GraphPriorError(f"{path}: no edge names node 0; nodes must be counted from 0, not 1")
    check_memory(np.array([_node_count(e) for e in edge_lists.values()]), path)
    return [
        from_edges(_node_count(e), e, f"{path.name} graph {key}", changes)
        for key, e in edge_lists.items()
    ]


def _node_count(edges: npt.NDArray[Any]) -> int:
    return int(edges.max(initial=-1)) + 1 if edges.dtype.kind in "iu" and edges.size else 0


def _integers(path: Path, columns: int) -> npt.NDArray[np.int64]:
    """Lines of whole numbers parted by commas; numpy.loadtxt crashed on a damaged file."""
    rows = [line.split(",") for line in path.read_text("utf-8").splitlines() if line.strip()]
    for number, row in enumerate(rows, start=1):
        if len(row) != columns:
            raise ValueError(f"{path.name} row {number} has {len(row)} entries: expected {columns}")
    return np.array([[int(word) for word in row] for row in rows], np.int64).reshape(-1, columns)


def read_tudataset(folder: Path, changes: Changes | None = None) -> list[Matrix]:
    """TUDataset text files: NAME_A.txt (edges) and NAME_graph_indicator.txt."""
    edge_file = next(iter(sorted(folder.glob("*_A.txt"))))
    indicator = edge_file.with_name(edge_file.name.replace("_A.txt", "_graph_indicator.txt"))
    with guarded(folder, "a TUDataset"):
        edges = _integers(edge_file, 2) - 1
        graph_of = _integers(indicator, 1)[:, 0]
        if edges.size and edges.min() < 0:
            raise ValueError(f"{edge_file.name} names node 0: nodes are counted from 1")
        if (np.diff(graph_of) < 0).any():
            raise ValueError(f"{indicator.name} does not list the nodes graph by graph")
        owner = graph_of[edges[:, 0]]
        across = np.flatnonzero(owner != graph_of[edges[:, 1]])
        if len(across):
            raise ValueError(f"{edge_file.name} line {across[0] + 1} joins two graphs")
    ids, first, sizes = np.unique(graph_of, return_index=True, return_counts=True)
    check_memory(sizes, folder)
    # Edges of a graph next to each other: looking for those of each would take G times as long.
    order = np.argsort(owner, kind="stable")
    cuts = np.searchsorted(owner[order], ids)
    parts = np.split(edges[order], cuts[1:])
    return [
        from_edges(int(n), part - start, f"{folder.name} graph {g}", changes)
        for g, n, start, part in zip(ids, sizes, first, parts, strict=False)
    ]


def check_memory(sizes: npt.NDArray[Any], path: str | Path) -> None:
    """Refuse a set whose matrices together would not fit in half of the free memory."""
    needed = 8 * sum(int(n) ** 2 for n in sizes)
    free = psutil.virtual_memory().available
    if needed > free // 2:
        raise GraphPriorError(
            f"{path}: its {len(sizes)} graphs need {needed / 1e9:.1f} GB and {free / 1e9:.1f} GB "
            "are free: give fewer or smaller graphs"
        )


def read_edge_list(path: Path, changes: Changes | None = None) -> Matrix:
    """One graph: a line for each edge, two node names apart by space, tab or comma."""
    graph = nx.Graph()
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except ValueError as error:
        raise GraphPriorError(f"{path.name} cannot be read: {error}") from None
    rows = [line.split("#")[0].replace(",", " ").split() for line in lines]
    header = _header(rows)
    for number, words in enumerate(rows, start=1):
        if number - 1 == header:
            continue
        if len(words) == 1:
            graph.add_node(words[0])
        elif len(words) == 2:
            graph.add_edge(*words)
        elif words:
            raise GraphPriorError(
                f"{path.name} line {number} has {len(words)} fields: expected two node names "
                "(an edge, without weight) or one (a node without edges)"
            )
    return from_networkx(graph, path.name, changes)


def _header(rows: list[list[str]]) -> int | None:
    """The row that names columns: "source target", "gene1 gene2", or words above numbers only."""
    first, *rest = [t for t, row in enumerate(rows) if row] or [0]
    if not rows or len(rows[first]) != 2:
        return None
    one, two = (word.lower() for word in rows[first])
    numbered = [word.lstrip("-").isdigit() for t in rest for word in rows[t]]
    words = not any(word.lstrip("-").isdigit() for word in rows[first])
    if (one, two) in HEADERS or (words and numbered and all(numbered)):
        return first
    # Genes may be called BRCA1 and BRCA2, so only words that name a kind of node are taken.
    is_twin = one[:-1] == two[:-1] and one[-1] + two[-1] in ("12", "ab")
    is_kind = one[:-1].rstrip("_.-") in KINDS
    again = any(word.lower().startswith(one[:-1]) for t in rest for word in rows[t])
    return first if rest and is_twin and is_kind and not again else None


def _with_networkx(read: Callable[[Path], Any]) -> Callable[[Path, Changes | None], Matrix]:
    def reader(path: Path, changes: Changes | None = None) -> Matrix:
        try:
            graph = read(path)
        except Exception as error:  # parsers of other libraries raise anything
            raise GraphPriorError(f"{path.name} cannot be read: {error}") from None
        return from_networkx(graph, path.name, changes)

    return reader


READERS: dict[str, Callable[[Path, Changes | None], Matrix]] = {
    ".graphml": _with_networkx(read_graphml),
    ".gml": _with_networkx(lambda path: nx.read_gml(path, label=None)),
    **dict.fromkeys(EDGE_LISTS, read_edge_list),
}


def read_folder(folder: Path, changes: Changes | None = None) -> list[Matrix]:
    """All GraphML, GML and edge-list files of a folder, by name; or a TUDataset."""
    if any(folder.glob("*_A.txt")):
        return read_tudataset(folder, changes)
    files = sorted(p for p in folder.iterdir() if p.is_file() and p.suffix.lower() in READERS)
    if not files:
        raise GraphPriorError(
            f"{folder} holds no graph: expected files ending in {', '.join(sorted(READERS))}, "
            "or a TUDataset"
        )
    return [READERS[p.suffix.lower()](p, changes) for p in files]


def read_graphs(path: str | Path, changes: Changes | None = None) -> list[Matrix]:
    """A set of graphs from a folder, an .npz or a .json file.

    Graphs that are not simple and undirected are refused; with ``changes`` they are made so,
    and what was done is counted there.
    """
    path = Path(path)
    if path.is_dir():
        return read_folder(path, changes)
    if not path.exists():
        raise GraphPriorError(f"{path}: no such file or folder")
    readers = {".npz": read_npz, ".json": read_json}
    if path.suffix.lower() not in readers:
        raise GraphPriorError(
            f"{path}: a set of graphs is a folder (GraphML, GML, edge lists, TUDataset), "
            "an .npz or a .json file"
        )
    return readers[path.suffix.lower()](path, changes)


def as_graphs(graphs: str | Path | Iterable[Any], changes: Changes | None = None) -> list[Matrix]:
    """A path, or a collection of graphs of any library, as adjacency matrices."""
    if isinstance(graphs, str | Path):
        return read_graphs(graphs, changes)
    return [as_adjacency(graph, f"graph {g}", changes) for g, graph in enumerate(graphs)]


def drop_small(graphs: list[Matrix], changes: Changes) -> list[Matrix]:
    """The graphs with a pair in them; the others are counted."""
    changes["graphs of fewer than 2 nodes left out"] += sum(len(A) < 2 for A in graphs)
    return [A for A in graphs if len(A) >= 2]


def changes_in_words(changes: Changes) -> str:
    """What was done to how many graphs, or ''."""
    return "; ".join(f"{what}: {count}" for what, count in sorted(changes.items()) if count)
