"""Positions of nodes in a drawing, and an order of nodes for a matrix plot.

Both are deterministic.
"""

from __future__ import annotations

from collections.abc import Iterable

import networkx as nx
import numpy as np
import numpy.typing as npt
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import pdist

from graphprior.types import Matrix

EXACT = 60  # up to this many nodes, distances along the graph are fitted, which costs n**3
LARGE = 200  # above this many nodes, the layout takes fewer steps
WIDE = 1.5  # ratio of the width of the drawing to its height


def places(A: Matrix) -> Matrix:
    """Return the positions (n, 2) of all nodes.

    Connected components are drawn apart from each other, the largest first and
    single nodes last.
    """
    graph = nx.from_numpy_array(A)
    parts = sorted((sorted(part) for part in nx.connected_components(graph)), key=_rank)
    xy = np.zeros((len(A), 2))
    corners = _shelves([_box(len(part)) for part in parts])
    for part, corner in zip(parts, corners, strict=True):
        xy[part] = corner + _unit_places(graph.subgraph(part), part) * _box(len(part))
    xy[:, 1] = xy[:, 1].max() - xy[:, 1]  # the largest part on top
    return _unit(xy)


def _rank(part: list[int]) -> tuple[int, int]:
    return -len(part), part[0]


def _box(size: int) -> npt.NDArray[np.float64]:
    """Return the width and height of the area for ``size`` nodes."""
    side = np.sqrt(size)
    return np.array([side * np.sqrt(WIDE), side / np.sqrt(WIDE)])


def _shelves(boxes: list[npt.NDArray[np.float64]]) -> Iterable[npt.NDArray[np.float64]]:
    """Yield the corners of boxes that are placed side by side in rows, the highest first."""
    area = sum(float(np.prod(box + 1)) for box in boxes)
    width = max(float(boxes[0][0]), np.sqrt(WIDE * area))
    x = y = height = 0.0
    for box in boxes:
        if x > 0 and x + box[0] > width:
            x, y, height = 0.0, y + height + 1, 0.0
        yield np.array([x, y])
        x, height = x + box[0] + 1, max(height, float(box[1]))


def _unit_places(graph: nx.Graph, nodes: list[int]) -> Matrix:
    """Return the positions of the nodes of a connected graph within the unit square."""
    if len(nodes) == 1:
        return np.full((1, 2), 0.5)
    ordered = nx.Graph()
    ordered.add_nodes_from(nodes)  # networkx does not promise the order of a subgraph's nodes
    ordered.add_edges_from(graph.edges)
    if len(nodes) <= EXACT:
        found = nx.kamada_kawai_layout(ordered)
    else:
        found = nx.spring_layout(ordered, seed=1, iterations=50 if len(nodes) > LARGE else 200)
    return _unit(np.array([found[i] for i in nodes]))


def _unit(xy: Matrix) -> Matrix:
    """Scale positions to fill the unit square; a direction without extent is centred."""
    low, span = xy.min(axis=0), np.ptp(xy, axis=0)
    flat = span < 1e-9 * max(float(span.max()), 1e-300)
    unit: Matrix = np.where(flat, 0.5, (xy - low) / np.where(flat, 1.0, span))
    return unit


def matrix_order(P: Matrix) -> npt.NDArray[np.intp]:
    """Return an order of the nodes in which nodes with similar neighbours are adjacent."""
    rows = P.copy()
    np.fill_diagonal(rows, 1.0)
    tree = linkage(pdist(rows, "cosine"), "average", optimal_ordering=True)
    order: npt.NDArray[np.intp] = leaves_list(tree).astype(np.intp)
    return order
