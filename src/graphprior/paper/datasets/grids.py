"""Grids of the paper."""

from __future__ import annotations

import networkx as nx
import numpy as np

from graphprior.graphs.matrices import unvech, vech
from graphprior.paper.datasets.family import Family
from graphprior.types import Matrix

GRID_SHAPES = tuple(
    (rows, cols) for rows in range(5, 10) for cols in range(rows, 10) if 40 <= rows * cols <= 49
)


def grids(count: int, rng: np.random.Generator) -> list[Matrix]:
    """Grids of 40 to 49 nodes with 2 to 4 random edges added."""
    return [_grid(rng) for _ in range(count)]


def _grid(rng: np.random.Generator) -> Matrix:
    rows, cols = GRID_SHAPES[rng.integers(len(GRID_SHAPES))]
    a = vech(nx.to_numpy_array(nx.grid_2d_graph(rows, cols)))
    a[rng.choice(np.flatnonzero(a == 0), rng.integers(2, 5), replace=False)] = 1.0
    return unvech(a)


FAMILY = Family("grids", grids, grids)
