"""Graphs that grow node by node or edge by edge."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from graphprior.priors.general.chances import Adjacency, Draws, independent, log_uniform


def _link(A: Adjacency, i: int, j: int) -> None:
    A[i, j] = A[j, i] = i != j


def attachment(rng: Draws, n: int) -> Adjacency:
    """New nodes choose old ones by a power of their degree, and at times a neighbour's neighbour.

    Some graphs begin with many edges for each new node and go on with few, or mix the two.
    """
    power, closing = rng.uniform(-0.5, 1.6), rng.choice([0.0, 0.3, 0.8]) * rng.random()
    low, high = sorted(rng.integers(1, 6, 2)) if rng.random() < 0.5 else [rng.integers(1, 6)] * 2
    mixed, A, degree = rng.random(), np.zeros((n, n), bool), np.zeros(n)
    for i in range(1, n):
        count = min(i, int(low if rng.random() < mixed else high))
        weight = (degree[:i] + 1.0) ** power
        chosen = list(rng.choice(i, count, replace=False, p=weight / weight.sum()))
        for place, j in enumerate(chosen):
            near = np.flatnonzero(A[chosen[0]])
            if place and len(near) and rng.random() < closing:
                j = int(rng.choice(near))
            _link(A, i, int(j))
        degree = A.sum(0).astype(float)
    return A


def tree(rng: Draws, n: int) -> Adjacency:
    """Each node hangs on an earlier one: any, a recent one, a popular one, one with room left."""
    A, kind = np.zeros((n, n), bool), rng.integers(4)
    room, recent = int(rng.integers(2, 5)), log_uniform(rng, 1.0, 20.0)
    for i in range(1, n):
        degree = A[:i, :i].sum(0)
        weight = np.ones(i)
        if kind == 1:
            weight = np.exp(-(i - 1 - np.arange(i)) / recent)
        elif kind == 2:
            weight = (degree + 0.5) ** rng.uniform(0.8, 1.8)
        elif kind == 3:
            weight = (degree < room) * np.exp(-(i - 1 - np.arange(i)) / (4 * recent)) + 1e-12
        _link(A, i, int(rng.choice(i, p=weight / weight.sum())))
    return A


def tree_with_rings(rng: Draws, n: int) -> Adjacency:
    """Chains and rings of a few sizes in which no node has more edges than it has room for.

    A ring shares a node with what is there, or an edge, or hangs on a new edge.
    """
    shares = rng.dirichlet(np.array([0.5, 1.0, 2.0, 1.0]))
    room = rng.choice(np.arange(1, 5), n, p=shares)
    sizes, share = rng.integers(3, 9, int(rng.integers(1, 4))), rng.uniform(0.1, 0.9)
    by_edge, by_bond = rng.dirichlet(np.ones(3))[:2]
    A, used = np.zeros((n, n), bool), 1
    room[0] = max(room[0], 2)
    while used < n:
        degree = A[:used, :used].sum(0)
        free = np.flatnonzero(degree < room[:used])
        start = int(rng.choice(free)) if len(free) else used - 1
        how, near = rng.random(), np.flatnonzero(A[start] & (A.sum(0) < room))
        if rng.random() >= share:  # a chain
            _walk(A, [start, *range(used, min(used + int(rng.integers(1, 4)), n))])
        elif how < by_edge and len(near):
            end = min(used + int(rng.choice(sizes)) - 2, n)
            _walk(A, [start, *range(used, end), int(near[0])])
        elif how < by_edge + by_bond:
            end = min(used + int(rng.choice(sizes)), n)
            _walk(A, [start, *range(used, end), used])
        else:
            _walk(A, [start, *range(used, min(used + int(rng.choice(sizes)) - 1, n)), start])
        used = 1 + int(np.flatnonzero(A.any(0)).max())
    return A


def _walk(A: Adjacency, places: list[int]) -> None:
    """Edges from each place to the next, to make a chain, or a ring where it ends as it began."""
    for i, j in pairwise(places):
        _link(A, i, j)


def copies_with_loss(rng: Draws, n: int) -> Adjacency:
    """A node is copied with its edges, some of which are then lost on one side or the other."""
    keep, partner = rng.uniform(0.2, 0.75), rng.random() * rng.choice([0.0, 1.0])
    A = np.zeros((n, n), bool)
    _link(A, 0, 1)
    for i in range(2, n):
        source = int(rng.integers(i))
        for j in np.flatnonzero(A[source, :i] & (rng.random(i) < keep)):
            _link(A, i, int(j))
        if rng.random() < partner or not A[i].any():
            _link(A, i, source)
    return A


def friends_of_friends(rng: Draws, n: int) -> Adjacency:
    """New nodes link to one, then spread along its edges as a fire does."""
    spread, A = rng.uniform(0.1, 0.6), np.zeros((n, n), bool)
    for i in range(1, n):
        seen = {int(rng.integers(i))}
        edge = list(seen)
        while edge and len(seen) < 12:
            near = np.flatnonzero(A[edge.pop(), :i] & (rng.random(i) < spread))
            edge += [int(j) for j in near if int(j) not in seen]
            seen |= {int(j) for j in near}
        for j in seen:
            _link(A, i, j)
    return A


def closed_triangles(rng: Draws, n: int) -> Adjacency:
    """Independent edges, then pairs with common neighbours are linked again and again."""
    A = independent(rng, n)
    for _ in range(int(rng.integers(1, 4))):
        common = A.astype(float) @ A
        chance = 1 - (1 - rng.uniform(0.02, 0.4)) ** common
        more = np.triu((rng.random((n, n)) < chance) & (common > 0), 1)
        if (A | more | more.T).mean() > 0.6:
            break
        A = A | more | more.T
    np.fill_diagonal(A, False)
    return A


def spread_lines(rng: Draws, n: int) -> Adjacency:
    """Places in a plane joined by the shortest tree and some of the next shortest lines."""
    places = rng.random((n, 2))
    apart = ((places[:, None] - places[None]) ** 2).sum(2)
    A, inside = np.zeros((n, n), bool), np.zeros(n, bool)
    inside[0] = True
    for _ in range(n - 1):
        open_ = np.where(inside[:, None] & ~inside, apart, np.inf)
        i, j = np.unravel_index(open_.argmin(), open_.shape)
        _link(A, int(i), int(j))
        inside[j] = True
    rows, cols = np.triu_indices(n, 1)
    noisy = apart[rows, cols] * np.exp(rng.uniform(0, 1.0) * rng.normal(size=len(rows)))
    noisy[A[rows, cols]] = np.inf
    more = noisy.argsort()[: int(n * rng.uniform(0, 1.0))]
    A[rows[more], cols[more]] = A[cols[more], rows[more]] = True
    return A
