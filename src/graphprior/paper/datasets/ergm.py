"""Graphs of the exponential random graph model of the paper's supplement."""

from __future__ import annotations

import numpy as np

from graphprior.errors import GraphPriorError
from graphprior.graphs.matrices import pairs, unvech
from graphprior.paper.datasets.family import Family
from graphprior.types import Matrix


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


FAMILY = Family("ergm", ergm_graphs, ergm_graphs)
