"""How strong edges are and how many: a first guess, and what follows from beliefs."""

from __future__ import annotations

from typing import NamedTuple

from graphprior.graphs import Problem, guessed_rate
from graphprior.spike_slab import Beliefs, Vector
from graphprior.wishart import WishartPrior

LARGEST_SLAB = 0.25


class Slab(NamedTuple):
    """An edge's strength is N(0, variance); a share ``rate`` of unknown pairs are edges."""

    variance: float
    rate: float


def start_slab(problem: Problem, wishart: WishartPrior) -> Slab:
    """Before the pairs are looked at: the Wishart's strength, were it all in the edges."""
    n, edges = problem.n, float((problem.known == 1).sum()) / 2
    unknown, pairs = float(problem.U.sum()) / 2, problem.n * (problem.n - 1) / 2
    rate = guessed_rate(problem.known)
    density = max((edges + rate * unknown) / pairs, 1 / n)
    return Slab(min(LARGEST_SLAB, 1 / (wishart.nu * density)), rate)


def maximise(beliefs: Beliefs, known_edges: Vector, start: float) -> Slab:
    """The M-step; two edges of the strength first guessed, and one of five pairs, are added."""
    p = beliefs.p
    strength = float((p * (beliefs.variance + beliefs.mean**2)).sum() + known_edges.sum())
    count = float(p.sum()) + len(known_edges)
    variance = (strength + 2 * start) / (count + 2)
    return Slab(min(variance, LARGEST_SLAB), float((p.sum() + 1) / (len(p) + 5)))
