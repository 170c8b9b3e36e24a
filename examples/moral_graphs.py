"""Moral graphs of random sparse causal networks, to learn a prior of gene networks from.

In a causal network each gene has a few parents. Its Gaussian's graph joins
parents and children, and marries parents of one child. Parents are chosen the
more often the more children they have, as regulators are; how strongly, and
how many parents there are, varies from network to network.

    python examples/moral_graphs.py build/moral.npz
    graphprior train build/moral.npz --out examples/priors/moral.safetensors \
        --steps 300 --batch 8 --licence MIT
"""

from __future__ import annotations

import numpy as np

from graph_files import write_graphs
from graphprior.types import Matrix

SIZES = (30, 60)


def causal_network(rng: np.random.Generator, n: int) -> Matrix:
    """W[parent, child] of 0 and 1: parents come before their children in some order."""
    mean, rich = rng.uniform(0.8, 2.0), rng.uniform(0.0, 1.5)
    W = np.zeros((n, n))
    for child in range(1, n):
        weight = (1.0 + W[:child].sum(1)) ** rich
        count = min(child, int(rng.poisson(mean)))
        W[rng.choice(child, count, replace=False, p=weight / weight.sum()), child] = 1.0
    order = rng.permutation(n)
    return W[np.ix_(order, order)]


def moral_graph(W: Matrix) -> Matrix:
    """The graph of a causal network: parents and children, and parents of one child."""
    linked = (W != 0).astype(float)
    A = ((linked + linked.T + linked @ linked.T) > 0).astype(float)
    np.fill_diagonal(A, 0.0)
    return A


def moral_graphs(
    count: int, rng: np.random.Generator, sizes: tuple[int, int] = SIZES
) -> list[Matrix]:
    """Moral graphs of ``sizes`` from and to."""
    drawn = (causal_network(rng, int(rng.integers(sizes[0], sizes[1] + 1))) for _ in range(count))
    return [moral_graph(W) for W in drawn]


if __name__ == "__main__":
    write_graphs(moral_graphs)
