"""Results as objects of other libraries: networkx, igraph, ArviZ."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt

from graphprior.errors import GraphPriorError
from graphprior.graphs import Matrix, pairs


def as_networkx(A: Matrix, names: Sequence[str], **attributes: npt.NDArray[Any]) -> nx.Graph:
    """The graph ``A`` with named nodes; each edge carries its entry of each attribute."""
    graph = nx.Graph()
    graph.add_nodes_from(names)
    for i, j in np.argwhere(np.triu(A, 1) == 1):
        carried = {name: values[i, j].item() for name, values in attributes.items()}
        graph.add_edge(names[i], names[j], **carried)
    return graph


def as_igraph(graph: nx.Graph) -> Any:
    """The igraph graph of a networkx one: vertex attribute ``name``, edge attributes as there."""
    _need("igraph", "igraph")
    import igraph

    names = list(graph)
    place = {name: i for i, name in enumerate(names)}
    edges = [(place[a], place[b]) for a, b in graph.edges]
    told = [attributes for _, _, attributes in graph.edges(data=True)]
    carried = {key: [attributes[key] for attributes in told] for key in (told[0] if told else ())}
    return igraph.Graph(len(names), edges, vertex_attrs={"name": names}, edge_attrs=carried)


def as_arviz(samples: npt.NDArray[Any], names: Sequence[str]) -> Any:
    """Graphs drawn (M, n, n) as an ArviZ tree: variable ``edge`` by chain, draw and pair.

    Every graph is the last state of a chain of its own: M chains of one draw each.
    """
    if not len(samples):
        raise GraphPriorError(
            "no graphs were drawn: engines 'gibbs' and 'langevin' draw some, 'direct' none"
        )
    _need("arviz_base", "arviz")
    from arviz_base import from_dict

    rows, cols = pairs(len(names))
    source, target = ([str(names[i]) for i in ends] for ends in (rows, cols))
    with warnings.catch_warnings():  # more chains than draws is as it should be
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
