"""Dual Barabasi-Albert graphs of the paper."""

from __future__ import annotations

import networkx as nx
import numpy as np

from graphprior.paper.datasets.family import Family
from graphprior.types import Matrix

# Graphs to be judged on share not even their sizes with those to learn from.
TEST_SIZES = (46, 48, 50, 52)


def dual_barabasi_albert(
    count: int,
    rng: np.random.Generator,
    sizes: tuple[int, ...] = (47, 49, 51, 53),
    n1: int = 2,
    n2: int = 4,
    pi: float = 0.5,
) -> list[Matrix]:
    """Preferential attachment of n1 edges with probability pi, else of n2."""
    return [
        nx.to_numpy_array(
            nx.dual_barabasi_albert_graph(
                int(rng.choice(sizes)), n1, n2, pi, seed=int(rng.integers(2**31))
            )
        )
        for _ in range(count)
    ]


def _test(count: int, rng: np.random.Generator) -> list[Matrix]:
    return dual_barabasi_albert(count, rng, TEST_SIZES)


FAMILY = Family("barabasi-albert", dual_barabasi_albert, _test)
