"""Graphs with a plan: lattices, rings, cliques, and what is made of two graphs."""

from __future__ import annotations

import numpy as np

from graphprior.priors.general.chances import Adjacency, Draws, groups_of, mean_degree, toss


def lattice(rng: Draws, n: int) -> Adjacency:
    """Part of a lattice: squares, with one or both diagonals, hexagons, boxes; bent round or not.

    Nodes are the first n in order, so that the last row may be short.
    """
    width = int(rng.integers(2, max(3, int(np.sqrt(n) * 1.5) + 1)))
    i = np.arange(n)
    row, column, layer, kind = i // width, i % width, np.zeros(n, int), rng.integers(5)
    if kind == 4:
        depth = int(rng.integers(2, 4))
        layer, row = row % depth, row // depth
    across, down = np.abs(column[:, None] - column), np.abs(row[:, None] - row)
    if rng.random() < 0.2 and width > 3:
        across = np.minimum(across, width - across)
    up = np.abs(layer[:, None] - layer)
    A: Adjacency = across + down + up == 1
    if kind == 1:
        A |= (across == 1) & (down == 1)
    elif kind == 2:
        A |= (column[:, None] - column == 1) & (row[:, None] - row == 1)
        A |= A.T
    elif kind == 3:
        upper = np.minimum(row[:, None], row)
        A &= (down == 0) | ((upper + column) % 2 == 0)
    return A


def small_world(rng: Draws, n: int) -> Adjacency:
    """A ring in which each node is linked to its nearest; some edges then go elsewhere."""
    i = np.arange(n)
    apart = np.minimum(np.abs(i[:, None] - i), n - np.abs(i[:, None] - i))
    A: Adjacency = (apart > 0) & (apart <= int(rng.integers(1, max(2, min(5, n // 3) + 1))))
    rows, cols = np.nonzero(np.triu(A))
    for e in np.flatnonzero(rng.random(len(rows)) < rng.choice([0.0, 0.05, 0.2, 0.5])):
        other = int(rng.integers(n))
        if other != rows[e] and not A[rows[e], other]:
            A[rows[e], cols[e]] = A[cols[e], rows[e]] = False
            A[rows[e], other] = A[other, rows[e]] = True
    return A


def cliques(rng: Draws, n: int) -> Adjacency:
    """Cliques side by side, joined in a chain, a ring or at random; a few pairs missing."""
    size = int(rng.integers(3, max(4, min(12, n // 2) + 1)))
    group = np.sort(groups_of(rng, n, most=max(2, n // 4))) if rng.random() < 0.5 else (
        np.arange(n) // size)  # fmt: skip
    A = (group[:, None] == group) & (rng.random((n, n)) < rng.uniform(0.7, 1.0))
    A = np.triu(A, 1)
    first = np.unique(group, return_index=True)[1]
    if rng.random() < 0.6:
        A[np.maximum(first[1:] - 1, 0), first[1:]] = True
    else:
        A |= np.triu(rng.random((n, n)) < 1.0 / n, 1)
    both: Adjacency = A | A.T
    return both


def even_degrees(rng: Draws, n: int) -> Adjacency:
    """All nodes have about the same number of edges, or a number from a short list."""
    wanted = rng.choice(rng.integers(1, 6, int(rng.integers(1, 4))), n).clip(max=n - 1)
    left, A = wanted.copy(), np.zeros((n, n), bool)
    for _ in range(4 * n):
        open_ = np.flatnonzero(left > 0)
        if len(open_) < 2:
            break
        i = int(open_[left[open_].argmax()])
        others = open_[(open_ != i) & ~A[i, open_]]
        if not len(others):
            left[i] = 0
            continue
        j = int(rng.choice(others))
        A[i, j] = A[j, i] = True
        left[[i, j]] -= 1
    return A


def stars(rng: Draws, n: int) -> Adjacency:
    """Centres with leaves of their own; the centres are linked among each other in some way."""
    count = max(1, min(n // 2, int(rng.integers(1, max(2, n // 5) + 1))))
    shares = rng.dirichlet(np.full(count, rng.choice([0.3, 1.0, 10.0])))
    owner = rng.choice(count, n - count, p=shares)
    A = np.zeros((n, n), bool)
    A[np.arange(count, n), owner] = True
    centres = rng.random((count, count)) < rng.choice([0.0, 0.3, 1.0])
    A[:count, :count] = np.tril(centres, -1)
    if rng.random() < 0.5:
        A[np.arange(1, count), np.arange(count - 1)] = True
    return A | A.T


def two_layers(rng: Draws, n: int, part: Adjacency) -> Adjacency:
    """A graph and a copy of it with some entries changed; each node linked to its copy or not."""
    half = n // 2
    A = np.zeros((n, n), bool)
    A[:half, :half] = part[:half, :half]
    other = part[:half, :half] ^ toss(rng, np.full((half, half), rng.choice([0.0, 0.02, 0.05])))
    A[half : 2 * half, half : 2 * half] = other
    i = np.flatnonzero(rng.random(half) < rng.choice([0.0, 0.5, 1.0]))
    A[i, half + i] = A[half + i, i] = True
    across = np.triu(rng.random((half, half)) < rng.choice([0.0, 0.02]), 1)
    A[:half, half : 2 * half] |= across | across.T
    A[half : 2 * half, :half] |= across | across.T
    return A


def complement(rng: Draws, n: int) -> Adjacency:
    """All pairs but those of a sparse graph."""
    chance = min(mean_degree(rng, n) / max(n - 1, 1), 0.6)
    A = ~toss(rng, np.full((n, n), max(chance, 0.25)))
    np.fill_diagonal(A, False)
    return A
