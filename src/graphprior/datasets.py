"""The graph families of the paper.

Grids, dual Barabasi-Albert and ERGM graphs are generated; ego-nets are read
from the folder that the environment variable GRAPHPRIOR_DATA names.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np

from graphprior.errors import GraphPriorError
from graphprior.graphs import Matrix, pairs, unvech, vech
from graphprior.graphsets import read_npz

GRID_SHAPES = tuple(
    (rows, cols) for rows in range(5, 10) for cols in range(rows, 10) if 40 <= rows * cols <= 49
)
EGONETS_SOURCE = (
    "SNAP's `deezer_ego_nets` (https://snap.stanford.edu/data/deezer_ego_nets.html), "
    "graphs of 16 to 24 nodes"
)


def grids(count: int, rng: np.random.Generator) -> list[Matrix]:
    """Grids of 40 to 49 nodes with 2 to 4 random edges added."""
    return [_grid(rng) for _ in range(count)]


def _grid(rng: np.random.Generator) -> Matrix:
    rows, cols = GRID_SHAPES[rng.integers(len(GRID_SHAPES))]
    a = vech(nx.to_numpy_array(nx.grid_2d_graph(rows, cols)))
    a[rng.choice(np.flatnonzero(a == 0), rng.integers(2, 5), replace=False)] = 1.0
    return unvech(a)


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


def ergm_graphs(
    count: int,
    rng: np.random.Generator,
    n: int = 50,
    beta: tuple[float, float] = (0.7, -2.0),
    gamma: float = 0.3,
    toggles: int = 50_000,
) -> list[Matrix]:
    """Graphs from a toggle chain of the ERGM (Eqs. 41-43), one chain for each graph.

    Each step proposes to flip one random pair and accepts by Metropolis. With
    gamma = 0.3 the statistic alternates in sign and grows with the degree, so
    that a chain settles where every degree is even and then hardly moves: the
    graphs depend on the start. It is, as in the authors' tool, a Bernoulli graph
    with n expected edges.
    """
    if toggles < 0 or n < 2 or gamma <= 0:
        raise GraphPriorError(f"n = {n}, gamma = {gamma}, toggles = {toggles} make no ERGM chain")
    rows, cols = pairs(n)
    a = rng.random((count, len(rows))) < min(1.0, n / len(rows))
    degree = unvech(a.astype(np.int64)).sum(-1)
    chain = np.arange(count)
    # Adding an edge to a node of degree d changes the k-star statistic by gain[d].
    gain = gamma * (1 - (1 - 1 / gamma) ** np.arange(n))
    for _ in range(toggles):
        p = rng.integers(len(rows), size=count)
        i, j, present = rows[p], cols[p], a[chain, p]
        di, dj = degree[chain, i] - present, degree[chain, j] - present
        log_odds = beta[0] * (gain[di] + gain[dj]) + beta[1]
        accept = np.log(rng.random(count)) < np.where(present, -log_odds, log_odds)
        change = accept * np.where(present, -1, 1)
        a[chain, p] ^= accept
        degree[chain, i] += change
        degree[chain, j] += change
    return list(unvech(a.astype(np.float64)))


# Families that a name, a count and a seed make.
GENERATED: dict[str, Callable[[int, np.random.Generator], list[Matrix]]] = {
    "grids": grids,
    "barabasi-albert": dual_barabasi_albert,
    "ergm": ergm_graphs,
}


def generate(family: str, count: int, seed: int) -> list[Matrix]:
    """``count`` graphs of a generated family; same seed, same graphs."""
    if family not in GENERATED:
        raise GraphPriorError(f"no family is called {family!r}: there are {', '.join(GENERATED)}")
    if count < 1:
        raise GraphPriorError(f"{count} graphs: expected at least one")
    return GENERATED[family](count, np.random.default_rng([seed, count]))


def data_folder() -> Path:
    """The folder of real graphs and observations, from GRAPHPRIOR_DATA."""
    folder = os.environ.get("GRAPHPRIOR_DATA", "")
    if not folder or not Path(folder).is_dir():
        raise GraphPriorError(
            f"GRAPHPRIOR_DATA is {folder!r}: set it to the folder of data sets "
            "(it has egonets/train.npz and egonets/test.npz)"
        )
    return Path(folder)


def egonets(part: str = "train") -> list[Matrix]:
    """Deezer ego-nets, ``part`` "train" (2926 graphs) or "test" (100)."""
    path = data_folder() / "egonets" / f"{part}.npz"
    if not path.is_file():
        raise GraphPriorError(f"{path} is missing: make it from {EGONETS_SOURCE}")
    return read_npz(path)
