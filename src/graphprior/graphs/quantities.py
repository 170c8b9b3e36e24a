"""Quantities of a graph that can be requested by name, such as "degree".

A quantity is a function that takes a networkx graph and returns a number, or a
dict with one number for each node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import networkx as nx
import numpy as np

Quantity = Callable[[nx.Graph], Any]
Groups = Callable[[nx.Graph], Iterable[Iterable[str]]]
SEED = 0  # of the order in which the Louvain algorithm visits the nodes


def communities(graph: nx.Graph) -> list[set[str]]:
    """Return the communities that the Louvain algorithm finds with a fixed seed."""
    found: list[set[str]] = nx.community.louvain_communities(graph, seed=SEED)
    return found


def modularity(graph: nx.Graph) -> float:
    """Return the modularity of the Louvain communities, or 0 for a graph without edges."""
    if not graph.number_of_edges():
        return 0.0
    return float(nx.community.modularity(graph, communities(graph)))


def eigenvector_centrality(graph: nx.Graph) -> dict[str, float]:
    """Return the eigenvector centrality of each node, also for graphs of several components.

    It is the limit of power iteration that starts from equal weights.
    """
    values, vectors = np.linalg.eigh(nx.to_numpy_array(graph))
    top = vectors[:, values > values[-1] - 1e-9]
    x = top @ top.sum(0)
    return dict(zip(graph, np.abs(x) / np.linalg.norm(x), strict=True))


def largest_component(graph: nx.Graph) -> int:
    """Return the number of nodes in the largest connected component."""
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
