"""Spikes and slabs by drawing precision matrices.

Whether an entry of Theta is zero and, if not, its strength are drawn column by column
(columns.py). One sweep over all pairs costs about n**3, whatever the number of unknown pairs, and
nothing is taken as Gaussian that is not.

How strong edges are (`Slab`: size, shape, sign) and how common is drawn with the rest, so
that probabilities are averages over what is not known of it.

Two chains start apart: one with no edge, one with every pair an edge, at a first estimate of
Theta. They run in rounds, each as long as all before it, until both say the same: then they have
forgotten their start. Where they do not, several graphs may fit, between which chains hardly move.
Then more chains start, of which each sees the data gradually, and their mean is taken: where they
end apart it is cautious. Variables are visited in
an order that the data tell, so that naming them in another order changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import logit

from graphprior.errors import GraphPriorError
from graphprior.evidence.columns import ABSENT, EDGE, LEAST, REFRESH, UNKNOWN, USUAL, many_sweeps
from graphprior.evidence.slab import Rate, Slab
from graphprior.gaussian.linalg import is_definite
from graphprior.problem.problem import Problem
from graphprior.types import Matrix, Pairs, Vector

Codes = npt.NDArray[np.int8]
Flags = npt.NDArray[np.bool_]
# Sweeps of n**3 multiplications that a run may cost; of these ENOUGH are kept, and more where there
# are few variables (SMALL over their number).
WORK, FEWEST, ENOUGH, SMALL = 1e9, 40, 240, 3000
# A run settles in at most so many rounds, each as long as all before it, which are thrown away.
ROUNDS = 3
# Chains that start anew where two stand apart, the rows that they see first, and how often that
# number grows until they see all.
ANEW, FIRST_ROWS, GROWS = 6, 10.0, 10
# Chains agree if probabilities differ by so little on average and numbers of edges by this share,
# or, where the data leave the rate of edges open, both by so much of the spread of its draws.
CLOSE, CLOSE_EDGES, OF_SPREAD = 0.02, 0.15, 0.5
SAME = 0.1  # share of the edges: two chains that differ by less need no other round
CERTAIN = 20.0  # log-odds of a pair beyond which its evidence could not be told from them


class Drawn(NamedTuple):
    """One precision matrix, which of its entries are edges, and how strong and common they are.

    With slack entries that are no edges are not 0.
    """

    Theta: Matrix
    edges: Flags
    slab: Slab


class Beliefs(NamedTuple):
    """What is believed of each unknown pair.

    ``log_bf`` is the data's log Bayes factor for an edge, the other pairs
    averaged out; ``p`` the probability of an edge; ``mean`` and ``variance`` of
    the strength if there is an edge; ``precision`` that with which the data tell it.
    """

    log_bf: Vector
    p: Vector
    mean: Vector
    variance: Vector
    precision: Vector
    converged: bool


class Draws(NamedTuple):
    """Sums over sweeps: visits, probabilities, strengths of edges, squares, precisions, Theta.

    ``slabs`` has a row for each sweep: variance, rate, hump, positive.
    """

    visits: Matrix
    p: Matrix
    strength: Matrix
    square: Matrix
    precision: Matrix
    Theta: Matrix
    slabs: Matrix

    @classmethod
    def none(cls, n: int, sweeps: int) -> Draws:
        """Before the first sweep."""
        a, b, c, d, e, f = (np.zeros((n, n)) for _ in range(6))
        return cls(a, b, c, d, e, f, np.zeros((sweeps, 4)))

    @property
    def probabilities(self) -> Matrix:
        """Mean probability with which each pair was drawn an edge."""
        each: Matrix = self.p / np.maximum(self.visits, 1)
        return each


class Run(NamedTuple):
    """Where chains stand, the mean slab, what is believed of the unknown pairs, the mean Theta."""

    chains: Chains
    slab: Slab
    beliefs: Beliefs
    Theta: Matrix


@dataclass(frozen=True, eq=False)
class Chains:
    """The likelihood of Theta (S, k, what is known), and where two chains stand.

    Where ``share`` is given a pair tells of itself what k share_i share_j rows would. Pairs
    that are no edges have strengths N(0, slack), which edges have beside their own. ``rate``
    is the prior of the rate of edges; ``fixed`` takes the slab as given.
    """

    S: Matrix
    k: float
    free: Codes
    share: Vector
    slack: float
    rate: Rate
    fixed: bool
    states: tuple[Drawn, ...]

    @classmethod
    def create(
        cls, problem: Problem, S: Matrix, k: float, share: Vector | None, slack: float = 0.0,
        rate: Rate | None = None, fixed: Slab | None = None, full: Matrix | None = None,
    ) -> Chains:  # fmt: skip
        """Chains before their first sweep; S is such that Theta has about a unit diagonal.

        ``full`` is an estimate of Theta with all entries, from which one chain starts.
        """
        n, rate = problem.n, rate or Rate()
        slab = fixed or Slab(USUAL, rate.mean, 0.5)
        free = codes(problem.known)
        everything = free != ABSENT
        start = (
            np.eye(n)
            if full is None
            else _definite(np.where(everything | np.eye(n, dtype=np.bool_), full, 0.0))
        )
        states = (Drawn(np.eye(n), free == EDGE, slab), Drawn(start, everything, slab))
        ones = np.ones(n) if share is None else share
        return cls(S, k, free, ones, slack, rate, fixed is not None, states)

    @property
    def sweeps(self) -> int:
        """Sweeps that are kept of a run."""
        n = len(self.S)
        return int(np.clip(WORK / n**3, FEWEST, ENOUGH + SMALL / n))

    def in_units(self, log_odds: Matrix, with_rate: bool) -> tuple[Chains, Vector]:
        """The chains once Theta has a unit diagonal on average, and the unit of each variable.

        Some sweeps find the diagonal.
        """
        sweeps = max(self.sweeps // 8, 10)
        draws, states = self._run_all(log_odds, with_rate, sweeps, burn=sweeps)
        Theta = np.mean([part.Theta for part in draws], axis=0) / len(draws[0].slabs)
        unit = np.sqrt(np.diag(Theta))
        scale = np.outer(unit, unit)
        states = tuple(drawn._replace(Theta=drawn.Theta / scale) for drawn in states)
        return replace(self, S=self.S * scale, states=states), unit

    def beliefs(
        self, log_odds: Matrix, with_rate: bool = False, settle: bool = False, keep: int = 0
    ) -> Run:
        """Beliefs of the unknown pairs after a run.

        ``log_odds`` (n, n) are the pairs' prior log-odds; ``with_rate`` draws the rate of edges,
        whose log-odds come on top. To ``settle`` more chains are started where the two disagree.
        ``keep`` is how many sweeps of each of two chains are kept, if not as many as usual.
        """
        at = np.nonzero(np.triu(self.free == UNKNOWN))
        log_odds = np.clip(log_odds, -CERTAIN, CERTAIN)
        keep, here = keep or self.sweeps, self
        if settle:
            draws, states, agree = here._rounds(log_odds, with_rate, max(keep // 2, 1), at)
            if not agree:
                here = replace(self, states=self._anew(log_odds, with_rate, keep // 2))
                # Of more chains each need not be kept as long.
                keep = max(2 * keep // ANEW, 1)
                draws, states = here._run_all(log_odds, with_rate, keep, keep // 2)
                agree = _agree(draws, at, with_rate)
        else:
            keep = max(2 * keep // len(self.states), 1)
            draws, states = here._run_all(log_odds, with_rate, keep, keep // 4)
            agree = _agree(draws, at, with_rate)
        here = replace(here, states=states)
        slab = Slab(*np.mean([part.slabs.mean(axis=0) for part in draws], axis=0).tolist())
        prior = log_odds + (logit(slab.rate) if with_rate else 0.0)
        together = Draws(*(sum(parts[1:], parts[0]) for parts in zip(*draws, strict=True)))
        told = _believe(together, at, prior[at])
        # Beside the slack: of the whole an edge's own strength is this share, with an error.
        own = slab.variance / (slab.variance + self.slack)
        told = told._replace(
            mean=own * told.mean, variance=own**2 * told.variance + own * self.slack,
            converged=agree,
        )  # fmt: skip
        sweeps = sum(len(part.slabs) for part in draws)
        return Run(here, slab, told, together.Theta / sweeps)

    def draw(
        self, rng: np.random.Generator, drawn: Drawn, log_odds: Matrix, with_rate: bool,
        sweeps: int, free: Codes | None = None,
    ) -> tuple[Drawn, Draws]:  # fmt: skip
        """One chain after more sweeps; ``free`` codes (n, n) may hold some pairs as they are."""
        draws = Draws.none(len(self.S), sweeps)
        return self._run(rng, drawn, log_odds, with_rate, sweeps, draws, free), draws

    def conditional_log_bf(self, drawn: Drawn) -> Matrix:
        """Log Bayes factors (n, n) of all pairs, each given the other entries of one Theta.

        An entry may be seen from either of its columns; the mean of both.
        """
        W, Theta = np.linalg.inv(drawn.Theta), drawn.Theta
        own = np.diag(W)
        spread = own[:, None] - W**2 / own
        worth = self.k * np.outer(self.share, self.share)
        stretch = np.diag(self.S)
        precision = worth * stretch * spread
        shift = -worth * (self.S + stretch * (-W / own - spread * Theta))
        seen = drawn.slab.log_bf(precision, shift, self.slack)
        np.fill_diagonal(seen, 0.0)
        return (seen + seen.T) / 2

    def _anew(self, log_odds: Matrix, with_rate: bool, sweeps: int) -> tuple[Drawn, ...]:
        """Chains that see more and more rows, until after some sweeps they see all."""
        seen = np.geomspace(min(FIRST_ROWS, self.k), self.k, GROWS)
        states = []
        for at, rng in enumerate(np.random.default_rng(1).spawn(ANEW)):
            state = self.states[at % len(self.states)]
            for k in seen:
                less = replace(self, k=float(k))
                state = less._run(rng, state, log_odds, with_rate, max(sweeps // GROWS, 1))
            states.append(state)
        return tuple(states)

    def _rounds(
        self, log_odds: Matrix, with_rate: bool, sweeps: int, at: Pairs
    ) -> tuple[list[Draws], tuple[Drawn, ...], bool]:
        """All chains, in longer and longer rounds until they say the same; and whether they do."""
        here, burn = self, sweeps // 2
        for done in range(ROUNDS):
            draws, states = here._run_all(log_odds, with_rate, sweeps, burn, seed=2 + done)
            if _agree(draws, at, with_rate, tight=True):
                break
            here, sweeps, burn = replace(here, states=states), 2 * sweeps, 0
        return draws, states, _agree(draws, at, with_rate)

    def _run_all(
        self, log_odds: Matrix, with_rate: bool, keep: int, burn: int, seed: int = 0
    ) -> tuple[list[Draws], tuple[Drawn, ...]]:
        """All chains for some sweeps, those after ``burn`` summed up.

        Each has a generator of its own; the same data give the same draws.
        """
        every, states = [], []
        rngs = np.random.default_rng(seed).spawn(len(self.states))
        for state, rng in zip(self.states, rngs, strict=True):
            draws = Draws.none(len(self.S), keep)
            state = self._run(rng, state, log_odds, with_rate, burn)
            states.append(self._run(rng, state, log_odds, with_rate, keep, draws))
            every.append(draws)
        return every, tuple(states)

    @cached_property
    def _order(self) -> npt.NDArray[np.intp]:
        """Variables by how much they depend on others: the same whatever they are called."""
        unit = np.sqrt(np.diag(self.S))
        R = np.abs(self.S) / np.outer(unit, unit)
        return np.argsort(np.round(R.sum(axis=0) + self.free.sum(axis=0), 9), kind="stable")

    def _run(
        self, rng: np.random.Generator, start: Drawn, log_odds: Matrix, with_rate: bool,
        sweeps: int, draws: Draws | None = None, free: Codes | None = None,
    ) -> Drawn:  # fmt: skip
        """Theta after some sweeps, which are added to ``draws``."""
        Theta, edges, slab = start.Theta.copy(), start.edges.copy(), np.array(start.slab)
        into = Draws.none(len(self.S), sweeps) if draws is None else draws
        # In slices, between which a run can be stopped.
        for first in range(0, sweeps, REFRESH):
            part = into._replace(slabs=into.slabs[first : min(first + REFRESH, sweeps)])
            many_sweeps(
                rng, self._order, Theta, edges, self.S, self.k,
                self.free if free is None else free, self.free, self.share, log_odds, with_rate,
                slab, not self.fixed, np.array(self.rate), self.slack, *part,
            )  # fmt: skip
        if not np.isfinite(Theta).all():
            raise GraphPriorError(
                "drawing the precision matrix overflowed: some columns are almost exactly sums of "
                "others; leave one of these out"
            )
        return Drawn(Theta, edges, Slab(*slab.tolist()))


def _definite(Theta: Matrix) -> Matrix:
    """``Theta`` with entries off the diagonal made smaller until it is definite."""
    D = np.diag(np.diag(Theta))
    for share in (1.0, 0.9, 0.7, 0.5, 0.3, 0.1):
        smaller = share * Theta + (1 - share) * D
        if is_definite(smaller):
            return smaller
    return D


def codes(known: Matrix) -> Codes:
    """What may be of each pair: absent, unknown or an edge."""
    free = np.where(np.isnan(known), UNKNOWN, np.where(known == 1, EDGE, ABSENT))
    np.fill_diagonal(free, ABSENT)
    return free.astype(np.int8)


def _believe(draws: Draws, at: Pairs, log_odds: Vector) -> Beliefs:
    """Beliefs of the pairs ``at``, which have these prior log-odds."""
    visits, p, strength, square, precision = (part[at] for part in draws[:5])
    weight = np.maximum(p, 1e-300)
    mean = strength / weight
    variance = np.maximum(square / weight - mean**2, 1e-14)
    visits = np.maximum(visits, 1)
    p = np.clip(p / visits, 1e-300, 1 - LEAST)
    return Beliefs(logit(p) - log_odds, p, mean, variance, precision / visits, converged=False)


def _agree(draws: list[Draws], at: Pairs, with_rate: bool, tight: bool = False) -> bool:
    """Whether two halves of the chains say the same of the pairs ``at``, and of how many are edges.

    Where the rate of edges is drawn, within what its spread in a chain makes of it. A ``tight``
    answer would hardly change if chains ran on: where few pairs are edges it asks for more.
    """
    if not len(at[0]):
        return True
    each = [part.probabilities[at] for part in draws]
    first, second = np.mean(each[0::2], axis=0), np.mean(each[1::2], axis=0)
    spread = np.mean([part.slabs[:, 1].std() for part in draws]) if with_rate else 0.0
    edges, pairs = max((first.sum() + second.sum()) / 2, 5.0), len(first)
    close = min(CLOSE, SAME * edges / pairs) if tight else CLOSE
    gap, apart = np.abs(first - second).mean(), abs(first.sum() - second.sum())
    by_rate = OF_SPREAD * spread
    return bool(gap <= max(close, by_rate) and apart <= max(CLOSE_EDGES * edges, by_rate * pairs))
