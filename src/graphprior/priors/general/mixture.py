"""Graphs of many kinds and sizes, no two alike, drawn as training goes.

A graph is of one of the kinds, sometimes part of a larger one, sometimes two
side by side or one on the other, sometimes with entries flipped or its hubs
taken out or one added: what real graphs are is none of the kinds in pure form.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from graphprior.priors.general import chances, grown, regular
from graphprior.priors.general.chances import Adjacency, Draws, log_uniform, toss
from graphprior.types import Matrix

SIZES = (5, 100)
LARGEST, LARGE_SHARE = 300, 0.02
PAIRS_IN_BATCH, MOST_IN_BATCH = 5000, 32

# How often each kind is drawn.
KINDS: dict[Callable[[Draws, int], Adjacency], float] = {
    chances.independent: 1.0,
    chances.uneven_degrees: 1.5,
    chances.blocks: 2.0,
    chances.nested_groups: 1.0,
    chances.overlapping_groups: 1.5,
    chances.in_space: 2.0,
    chances.hidden_traits: 1.5,
    chances.core_and_rim: 1.0,
    chances.few_to_many: 1.5,
    chances.two_sides: 1.0,
    chances.nested_neighbours: 0.5,
    chances.along_a_line: 0.7,
    grown.attachment: 2.0,
    grown.tree: 1.5,
    grown.tree_with_rings: 1.5,
    grown.copies_with_loss: 1.0,
    grown.friends_of_friends: 1.0,
    grown.closed_triangles: 1.5,
    grown.spread_lines: 1.0,
    regular.lattice: 1.5,
    regular.small_world: 1.0,
    regular.cliques: 1.0,
    regular.even_degrees: 0.7,
    regular.stars: 1.0,
    regular.complement: 0.4,
}
_KINDS = list(KINDS)
_SHARES = np.array(list(KINDS.values())) / sum(KINDS.values())


def draw_graph(rng: Draws, n: int) -> Matrix:
    """One graph of n nodes."""
    u = rng.random(6)
    larger = n < 100 and u[0] < 0.2
    A = _of_a_kind(rng, min(round(n * log_uniform(rng, 1.2, 3.0)), 200) if larger else n)
    if u[1] < 0.06 and n >= 8:
        A = _side_by_side(A, _of_a_kind(rng, len(A)), int(rng.uniform(0.25, 0.75) * len(A)))
    elif u[1] < 0.1:
        A = A | _of_a_kind(rng, len(A))
    elif u[1] < 0.14 and n >= 8:
        A = regular.two_layers(rng, len(A), A)
    if u[2] < 0.07:
        A = _without_hubs(rng, A)
    elif u[2] < 0.15:
        A = _with_hub(rng, A)
    if len(A) > n:
        A = _part(rng, A, n)
    if u[3] < 0.4:
        A = _flipped(rng, A)
    order = rng.permutation(n)
    graph: Matrix = A[np.ix_(order, order)].astype(np.float64)
    return graph


def draw_size(rng: Draws) -> int:
    """A number of nodes: as often 10 to 20 as 20 to 40."""
    if rng.random() < LARGE_SHARE:
        return round(log_uniform(rng, SIZES[1], LARGEST))
    return round(log_uniform(rng, *SIZES))


class Mixture:
    """Examples without end: each batch is new, its graphs are of like size."""

    def __init__(self, validation: int = 200) -> None:
        self.validation = validation

    def batch(self, rng: Draws) -> list[Matrix]:
        """As many graphs of about one size as make a batch."""
        n = draw_size(rng)
        count = min(max(PAIRS_IN_BATCH // (n * (n - 1) // 2), 1), MOST_IN_BATCH)
        low = max(SIZES[0], round(0.9 * n))
        return [draw_graph(rng, int(size)) for size in rng.integers(low, n + 1, count)]

    def held_out(self, seed: int) -> list[Matrix]:
        """Graphs for validation, sorted by size; none is learned from but by chance."""
        rng = np.random.default_rng([seed, 2])
        return [draw_graph(rng, n) for n in sorted(draw_size(rng) for _ in range(self.validation))]


def _of_a_kind(rng: Draws, n: int) -> Adjacency:
    A = _KINDS[rng.choice(len(_KINDS), p=_SHARES)](rng, n)
    np.fill_diagonal(A, False)
    return A


def _side_by_side(A: Adjacency, B: Adjacency, first: int) -> Adjacency:
    """The first nodes of one graph and the others of another, without edges between."""
    both = np.zeros_like(A)
    both[:first, :first], both[first:, first:] = A[:first, :first], B[first:, first:]
    return both


def _without_hubs(rng: Draws, A: Adjacency) -> Adjacency:
    """The nodes with most edges lose them."""
    A = A.copy()
    hubs = A.sum(0).argsort()[::-1][: int(rng.integers(1, 4))]
    A[hubs] = False
    A[:, hubs] = False
    return A


def _with_hub(rng: Draws, A: Adjacency) -> Adjacency:
    """One node more is linked to nearly all, or to a share of them."""
    A, hub = A.copy(), int(rng.integers(len(A)))
    reached = rng.random(len(A)) < 1 - rng.choice([0.0, 0.1, 0.5]) * rng.random()
    A[hub], A[:, hub] = reached, reached
    A[hub, hub] = False
    return A


def _part(rng: Draws, A: Adjacency, n: int) -> Adjacency:
    """n nodes of a larger graph: any, or those found first going from node to neighbour."""
    order = list(rng.permutation(len(A)))
    if rng.random() < 0.7:
        found: list[int] = []
        seen = np.zeros(len(A), bool)
        while len(found) < n:
            start = next(i for i in order if not seen[i])
            seen[start], open_ = True, [start]
            while open_ and len(found) < n:
                found.append(open_.pop(0))
                near = rng.permutation(np.flatnonzero(A[found[-1]] & ~seen))
                seen[near] = True
                open_ += list(near)
        order = found
    chosen = np.array(order[:n])
    part: Adjacency = A[np.ix_(chosen, chosen)]
    return part


def _flipped(rng: Draws, A: Adjacency) -> Adjacency:
    """A share of the edges is lost; as many appear elsewhere, or fewer."""
    density, share = A.mean(), log_uniform(rng, 0.005, 0.15)
    lost = toss(rng, np.full(A.shape, share))
    new = toss(rng, np.full(A.shape, min(share * density * rng.uniform(0.2, 1.2), 0.2)))
    return (A & ~lost) | (new & ~A)
