"""Trees that look like gauging stations of a river basin, to learn a prior from.

No real river is looked at. A landscape is a square lattice whose neighbours
are joined at random costs; the cheapest spanning tree drains every cell to an
outlet on the border, so the river fills space and branches. Stations stand at
the outlet and at cells chosen by how much water passes; each is joined to the
next one downstream.

    python examples/rivers.py build/rivers.npz
    graphprior train build/rivers.npz --out examples/priors/rivers.safetensors \
        --steps 800 --batch 8 --licence MIT
"""

from __future__ import annotations

import networkx as nx
import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

from graph_files import write_graphs
from graphprior.types import Matrix

SIDE = 16
SIZES = (20, 40)


def drainage(rng: np.random.Generator, side: int = SIDE) -> tuple[np.ndarray, np.ndarray]:
    """Cells from the outlet upwards, and the cell that each drains to (-9999 for the outlet)."""
    lattice = nx.convert_node_labels_to_integers(nx.grid_2d_graph(side, side))
    i, j = np.array(lattice.edges).T
    cost = csr_array((rng.uniform(0.1, 1.0, len(i)), (i, j)), shape=(side**2, side**2))
    outlet = int(rng.integers(side))
    return breadth_first_order(minimum_spanning_tree(cost), outlet, directed=False)


def catchments(order: np.ndarray, downstream: np.ndarray) -> np.ndarray:
    """Number of cells whose water passes each cell."""
    area = np.ones(len(order))
    for cell in order[:0:-1]:
        area[downstream[cell]] += area[cell]
    return area


def river(rng: np.random.Generator, n: int, side: int = SIDE) -> Matrix:
    """The tree of n stations.

    How much gauges prefer the large rivers varies from basin to basin.
    """
    order, downstream = drainage(rng, side)
    weight = catchments(order, downstream)[order[1:]] ** rng.uniform(0.3, 1.2)
    chosen = rng.choice(order[1:], n - 1, replace=False, p=weight / weight.sum())
    station = dict(zip(rng.permutation([order[0], *chosen]).tolist(), range(n), strict=True))
    A = np.zeros((n, n))
    for cell in chosen:
        below = downstream[cell]
        while below not in station:
            below = downstream[below]
        i, j = station[cell], station[below]
        A[i, j] = A[j, i] = 1.0
    return A


def rivers(count: int, rng: np.random.Generator, sizes: tuple[int, int] = SIZES) -> list[Matrix]:
    """River trees of ``sizes`` from and to."""
    return [river(rng, int(rng.integers(sizes[0], sizes[1] + 1))) for _ in range(count)]


if __name__ == "__main__":
    write_graphs(rivers)
