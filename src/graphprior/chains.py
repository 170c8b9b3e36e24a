"""Spikes and slabs by drawing precision matrices.

With m unknown pairs the Fisher information is (m, m), slow to work with from some
hundreds on. Drawing Theta needs no such matrix. Given all other columns, the
likelihood of an entry of column j is a Gaussian in that entry, so whether it is
zero and, if not, its strength are drawn exactly; the diagonal entry is then a
Gamma draw, and Theta stays positive definite. The inverse is carried along. One
sweep over all pairs costs n**3.

Two chains start apart: one with no edge, one with every pair an edge. Where both
say the same they have forgotten their start. Variables are visited in an order that
the data tell, so that naming them in another order changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit
from scipy.special import logit

from graphprior.graphs import Matrix, Problem
from graphprior.slab import LARGEST_SLAB, Slab
from graphprior.spike_slab import Beliefs, Vector

Codes = npt.NDArray[np.int8]
Flags = npt.NDArray[np.bool_]
ABSENT, UNKNOWN, EDGE = 0, 1, 2
# Multiplications that a run may cost, in units of n**3, and the sweeps that this may buy.
WORK, FEWEST, MOST = 4e9, 60, 250
REFRESH = 25  # sweeps after which the inverse is made anew: rounding adds up
# Chains agree if probabilities differ by so little on average, and numbers of edges by this share.
CLOSE, CLOSE_EDGES = 0.02, 0.15
LEAST = 1e-12


class Drawn(NamedTuple):
    """One precision matrix, and which of its entries are edges (with slack others are not 0)."""

    Theta: Matrix
    edges: Flags

    @classmethod
    def independent(cls, n: int) -> Drawn:
        """Variables that do not depend on each other."""
        return cls(np.eye(n), np.zeros((n, n), dtype=np.bool_))


class Draws(NamedTuple):
    """Sums over sweeps: visits, probabilities, strengths of edges and their squares, Theta."""

    visits: Matrix
    p: Matrix
    strength: Matrix
    square: Matrix
    Theta: Matrix

    @classmethod
    def none(cls, n: int) -> Draws:
        """Before the first sweep."""
        return cls(*(np.zeros((n, n)) for _ in range(5)))


@dataclass(frozen=True, eq=False)
class Chains:
    """The likelihood of Theta (S, k, what is known), and where two chains stand.

    Where ``share`` is given a pair tells of itself what k share_i share_j rows would. Pairs
    that are no edges have strengths N(0, slack), which edges have beside their own.
    """

    S: Matrix
    k: float
    free: Codes
    share: Vector
    slack: float
    states: tuple[Drawn, Drawn]

    @classmethod
    def create(
        cls, problem: Problem, S: Matrix, k: float, share: Vector | None, slack: float = 0.0
    ) -> Chains:
        """Chains before their first sweep; S is such that Theta has about a unit diagonal."""
        n, known = problem.n, problem.known
        free = np.where(np.isnan(known), UNKNOWN, np.where(known == 1, EDGE, ABSENT))
        np.fill_diagonal(free, ABSENT)
        ones = np.ones(n) if share is None else share
        start = Drawn.independent(n)
        return cls(S, k, free.astype(np.int8), ones, slack, (start, start))

    @property
    def sweeps(self) -> int:
        """Sweeps that are kept of a run."""
        return int(np.clip(WORK / len(self.S) ** 3, FEWEST, MOST))

    def learn(
        self, start: Slab, fixed: Slab | None = None, sweeps: int | None = None
    ) -> tuple[Chains, Slab, Matrix]:
        """Where chains stand once settled, size and rate of edges, and the mean of Theta.

        Both are drawn with the rest, as if two edges of the first guess and one of five
        pairs had been seen before. As many sweeps as are kept are thrown away before.
        """
        slabs, states, Theta, keep = [], [], [], sweeps or self.sweeps
        for chain, rng in self._generators():
            slab, kept, state = fixed or start, Draws.none(len(self.S)), self.states[chain]
            everything = Slab(slab.variance, 1 - LEAST)
            fresh = not state.edges.any()
            for sweep in range(2 * keep):
                used = everything if chain == 1 and sweep == 0 and fresh else slab
                into = kept if sweep >= keep else None
                log_odds = np.full(self.S.shape, logit(used.rate))
                state = self._run(rng, state, log_odds, used, 1, into)
                slab = fixed or _draw_slab(rng, state, self.free, self.slack, start.variance)
                if into is not None:
                    slabs.append(slab)
            states.append(state)
            Theta.append(kept.Theta / keep)
        variance, rate = np.mean(slabs, axis=0)
        found = fixed or Slab(float(variance), float(rate))
        return replace(self, states=(states[0], states[1])), found, np.mean(Theta, axis=0)

    def rescaled(self, diagonal: Vector) -> Chains:
        """The same chains in units in which a Theta of this diagonal has a unit one."""
        unit = np.sqrt(diagonal)
        scale = np.outer(unit, unit)
        first, second = (Drawn(drawn.Theta / scale, drawn.edges) for drawn in self.states)
        return replace(self, S=self.S * scale, states=(first, second))

    def beliefs(self, slab: Slab, log_odds: Matrix) -> tuple[Chains, Beliefs]:
        """Beliefs of the unknown pairs when their prior log-odds are ``log_odds`` (n, n)."""
        rows, cols = np.nonzero(np.triu(self.free == UNKNOWN))
        both, states = [], []
        for chain, rng in self._generators():
            draws = Draws.none(len(self.S))
            state = self._run(rng, self.states[chain], log_odds, slab, self.sweeps // 4)
            states.append(self._run(rng, state, log_odds, slab, self.sweeps, draws))
            both.append(Draws(*(part[rows, cols] for part in draws)))
        each = [draws.p / np.maximum(draws.visits, 1) for draws in both]
        visits, p, strength, square, _ = (sum(part) for part in zip(*both, strict=True))
        weight = np.maximum(p, 1e-300)
        mean = strength / weight
        variance = np.maximum(square / weight - mean**2, 1e-14)
        # Beside the slack: of the whole an edge's own strength is this share, with an error.
        own = slab.variance / (slab.variance + self.slack)
        mean, variance = own * mean, own**2 * variance + own * self.slack
        p = np.clip(p / np.maximum(visits, 1), LEAST, 1 - LEAST)
        log_bf = logit(p) - log_odds[rows, cols]
        sites = (np.zeros(0), np.zeros(0))
        told = Beliefs(log_bf, p, mean, variance, sites, _agree(*each), len(states))
        return replace(self, states=(states[0], states[1])), told

    def _generators(self) -> Iterator[tuple[int, np.random.Generator]]:
        """Each chain with a generator of its own; the same data give the same draws."""
        yield from enumerate(np.random.default_rng(0).spawn(len(self.states)))

    @cached_property
    def _order(self) -> npt.NDArray[np.intp]:
        """Variables by how much they depend on others: the same whatever they are called."""
        unit = np.sqrt(np.diag(self.S))
        R = np.abs(self.S) / np.outer(unit, unit)
        return np.argsort(np.round(R.sum(axis=0) + self.free.sum(axis=0), 9), kind="stable")

    def _run(
        self, rng: np.random.Generator, start: Drawn, log_odds: Matrix, slab: Slab, sweeps: int,
        draws: Draws | None = None,
    ) -> Drawn:  # fmt: skip
        """Theta after some sweeps, which are added to ``draws``."""
        n, Theta, edges = len(self.S), start.Theta.copy(), start.edges.copy()
        into = Draws.none(n) if draws is None else draws
        for done in range(sweeps):
            if done % REFRESH == 0:
                W = np.linalg.inv(Theta)
            _sweep(
                rng, self._order, rng.permutation(n), Theta, W, edges, self.S, self.k, self.free,
                self.share, log_odds, slab.variance, self.slack,
                into.visits, into.p, into.strength, into.square,
            )  # fmt: skip
            into.Theta[:] += Theta
        return Drawn(Theta, edges)


def _agree(first: Vector, second: Vector) -> bool:
    """Whether two chains say the same of the probabilities and of how many edges there are."""
    apart = abs(first.sum() - second.sum())
    most = CLOSE_EDGES * max((first.sum() + second.sum()) / 2, 5.0)
    return bool(np.abs(first - second).mean() <= CLOSE and apart <= most)


def _draw_slab(
    rng: np.random.Generator, drawn: Drawn, free: Codes, slack: float, start: float
) -> Slab:
    """Size and rate of edges given the edges of one draw."""
    edges, unknown = np.triu(drawn.edges, 1), np.triu(free == UNKNOWN)
    strength, count = float((drawn.Theta[edges] ** 2).sum()), int(edges.sum())
    found = int((edges & unknown).sum())
    variance = (strength + 2 * (start + slack)) / 2 / rng.standard_gamma((count + 2) / 2 + 1)
    variance = max(variance - slack, start / 100)
    rate = rng.beta(1 + found, 4 + unknown.sum() - found)
    return Slab(float(min(variance, LARGEST_SLAB)), float(np.clip(rate, LEAST, 1 - LEAST)))


@njit(cache=True)
def _sweep(  # type: ignore[no-untyped-def]
    rng, names, order, Theta, W, edges, S, k, free, share, log_odds, s2, slack,
    visits, p, strength, square,
):  # fmt: skip
    """Draw every entry of Theta once from each of its two columns, in place; W is its inverse.

    y is inv(Theta without j) times column j, found from W without another inverse.
    """
    n, whole = len(S), s2 + slack
    for c in order:
        j = names[c]
        own = W[j, j]
        row = W[j].copy()
        y, u = -row / own, Theta[j].copy()
        y[j] = u[j] = 0.0
        for i in names:
            if i == j or (free[i, j] == 0 and slack == 0):
                continue
            worth = k * share[i] * share[j]
            spread = W[i, i] - row[i] * row[i] / own
            precision = worth * S[j, j] * spread
            shift = -worth * (S[i, j] + S[j, j] * (y[i] - spread * u[i]))
            full, less = precision + 1 / whole, precision
            mean = shift / full
            chance = 1.0 if free[i, j] == 2 else 0.0
            if slack > 0:
                less = precision + 1 / slack
            if free[i, j] == 1:
                eta = log_odds[i, j] - 0.5 * np.log(whole * full) + 0.5 * shift * mean
                if slack > 0:
                    eta += 0.5 * np.log(slack * less) - 0.5 * shift * shift / less
                chance = 1 / (1 + np.exp(-min(max(eta, -700.0), 700.0)))
            a, b = min(i, j), max(i, j)
            visits[a, b] += 1
            p[a, b] += chance
            strength[a, b] += chance * mean
            square[a, b] += chance * (mean * mean + 1 / full)
            new, is_edge = 0.0, rng.random() < chance
            if is_edge:
                new = mean + rng.standard_normal() / np.sqrt(full)
            elif slack > 0:
                new = shift / less + rng.standard_normal() / np.sqrt(less)
            edges[i, j] = edges[j, i] = is_edge
            move = new - u[i]
            if move != 0:
                u[i] = new
                slope = row[i] / own
                for m in range(n):
                    y[m] += move * (W[i, m] - slope * row[m])
                y[j] = 0.0
        rows = k * share[j] * share[j]
        rest = rng.standard_gamma(rows / 2 + 1) * 2 / (rows * S[j, j])
        for a in range(n):
            down, up = row[a] / own, y[a] / rest
            for b in range(n):
                W[a, b] += up * y[b] - down * row[b]
        Theta[j] = Theta[:, j] = u
        Theta[j, j] = rest + (u * y).sum()
        W[j] = W[:, j] = -y / rest
        W[j, j] = 1 / rest
