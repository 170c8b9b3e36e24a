"""Numbers of a graph that can be asked for by name.

A quantity is a function of a networkx graph that gives a number, or a dict
with one for each node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import networkx as nx
import numpy as np

Quantity = Callable[[nx.Graph], Any]
Groups = Callable[[nx.Graph], Iterable[Iterable[str]]]
SEED = 0  # of Louvain's order of visits


def communities(graph: nx.Graph) -> list[set[str]]:
    """Louvain's communities, visited in one fixed order."""
    found: list[set[str]] = nx.community.louvain_communities(graph, seed=SEED)
    return found


def modularity(graph: nx.Graph) -> float:
    """Of Louvain's communities: edges inside them beyond chance; 0 without edges."""
    if not graph.number_of_edges():
        return 0.0
    return float(nx.community.modularity(graph, communities(graph)))


def eigenvector_centrality(graph: nx.Graph) -> dict[str, float]:
    """Where power iteration from equal weights ends, also with several components."""
    values, vectors = np.linalg.eigh(nx.to_numpy_array(graph))
    top = vectors[:, values > values[-1] - 1e-9]
    x = top @ top.sum(0)
    return dict(zip(graph, np.abs(x) / np.linalg.norm(x), strict=True))


def largest_component(graph: nx.Graph) -> int:
    """Nodes of the largest connected part."""
    return max(len(part) for part in nx.connected_components(graph))


QUANTITIES: dict[str, Quantity] = {
    "degree": lambda graph: dict(graph.degree()),
    "clustering": nx.clustering,
    "betweenness": nx.betweenness_centrality,
    "closeness": nx.closeness_centrality,
    "eigenvector": eigenvector_centrality,
    "edges": nx.number_of_edges,
    "density": nx.density,
    "components": nx.number_connected_components,
    "largest_component": largest_component,
    "average_clustering": nx.average_clustering,
    "communities": lambda graph: len(communities(graph)),
    "modularity": modularity,
}
GROUPS: dict[str, Groups] = {
    "communities": communities,
    "components": nx.connected_components,
}
