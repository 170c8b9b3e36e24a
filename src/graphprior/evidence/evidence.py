"""What the data say about each unknown pair, as log-odds.

The plug-in likelihood of the paper never prefers a missing edge: taking one
out always lowers it. Integrating the strength of the edge out does, and gives
the log Bayes factor of the pair. Strengths are partial correlations, so units
do not matter.

1. A Wishart prior for Theta by empirical Bayes gives a first scale of each variable.
2. Theta is drawn (chains.py): unknown pairs are spikes or slabs. How strong edges are,
   of what shape and sign, and how common they are is drawn with it; known edges tell it too.
3. At the mean of Theta, with the variances of the data, the likelihood of the absent pairs is
   taken as Gaussian. Where they are clearly not zero (slack.py) step 2 is made again.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import logit

from graphprior.errors import GraphPriorError
from graphprior.evidence.by_pair import ByPair, by_pair
from graphprior.evidence.chains import Beliefs, Chains
from graphprior.evidence.quadratic import Coupled, integrate_out, linearise, with_variances
from graphprior.evidence.slab import LARGEST_SLAB, Rate, Slab, rate_prior
from graphprior.evidence.slack import (
    MOST_PAIRS,
    Doubt,
    Slack,
    clear_slack,
    doubts,
    linearise_with_slack,
    tells_slack,
)
from graphprior.gaussian.linalg import LEAST_EIGENVALUE, apart, to_unit_diagonal
from graphprior.gaussian.wishart import WishartPrior, fit_wishart
from graphprior.problem.problem import Problem
from graphprior.types import Index, Matrix, Vector

ROUNDS, SAME = 3, 0.1  # of finding slack: at most so many, or until its size hardly moves
SMALLEST_WEIGHT = 0.02
MOST_COUPLED = 1500
SILENT = 0.08
# Edges are doubted where there are so many times as many as pairs by themselves say, and so many
# times as weak (mean squares).
MORE, AT_LEAST, WEAKER = 1.2, 10, 0.5


@dataclass(frozen=True)
class EvidenceFacts:
    """What was estimated along with the evidence: size, shape, sign and rate of edges, and more.

    ``edge_rate`` is None where a prior tells how common edges are. ``slack`` is the size of partial
    correlations of pairs known to be absent, ``edges_by_pair`` how many edges there are by each
    pair's own partial correlation, None where that cannot be told.
    """

    slab_variance: float = 0.0
    slab_hump: float = 0.0
    slab_positive: float = 0.5
    edge_rate: float | None = None
    wishart_nu: float = 0.0
    evidence_converged: bool = True
    evidence_spread: float = 0.0
    slack: float = 0.0
    edges_by_pair: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values; an edge rate that is not told is left out."""
        told = asdict(self)
        if self.edge_rate is None:
            del told["edge_rate"]
        return told


@dataclass(frozen=True, eq=False)
class Evidence:
    """The data's log Bayes factors for edges at the pairs (rows, cols), and what made them.

    ``beliefs`` are those when edges have the rate that the data tell, or what `given` was told.
    ``units`` takes the chains' Theta to that of the variables as they came.
    """

    n: int
    rows: Index
    cols: Index
    chains: Chains
    slab: Slab
    wishart: WishartPrior
    beliefs: Beliefs
    Theta: Matrix
    units: Vector
    data: _Data
    slack: Slack = Slack()  # noqa: RUF009 (it is a tuple)
    doubts: tuple[Doubt, ...] = ()

    def coupled(self) -> Coupled:
        """F and b of the unknown pairs' strengths, all else integrated out.

        Refused where there are too many pairs.
        """
        problem = self.data.problem
        refuse_coupled(problem)
        scale = np.outer(self.units, self.units)
        edges = np.nonzero(np.triu(problem.known == 1))
        nuisance = tuple(np.concatenate([np.arange(problem.n), part]) for part in edges)
        rows, cols = (
            np.concatenate(part) for part in zip(nuisance, (self.rows, self.cols), strict=True)
        )
        absent, v = np.nonzero(np.triu(problem.known == 0, 1)), self.slack.variance
        S, k, share = self.chains.S, self.data.k, self.data.share
        told = linearise_with_slack(self.Theta / scale, S, k, rows, cols, absent, v, share)
        each = np.full(len(edges[0]), 1 / self.slab.variance)
        ridge = np.concatenate([np.zeros(problem.n), each])
        is_nuisance = np.arange(len(told.b)) < len(ridge)
        F, b, *_ = integrate_out(told.F, told.b, is_nuisance, ridge)
        return Coupled(F, b)

    @property
    def log_bf(self) -> Matrix:
        """(n, n) log Bayes factors, 0 on known pairs."""
        return self.matrix(self.beliefs.log_bf)

    def matrix(self, values: Vector) -> Matrix:
        """Values of the unknown pairs as an (n, n) matrix."""
        A = np.zeros((self.n, self.n))
        A[self.rows, self.cols] = A[self.cols, self.rows] = values
        return A

    def facts(self) -> EvidenceFacts:
        """What was estimated, for diagnostics."""
        return EvidenceFacts(
            slab_variance=self.slab.variance,
            slab_hump=self.slab.hump,
            slab_positive=self.slab.positive,
            edge_rate=self.slab.rate,
            wishart_nu=self.wishart.nu,
            evidence_converged=bool(self.beliefs.converged),
            evidence_spread=float(self.beliefs.log_bf.std()),
            slack=self.slack.size,
            edges_by_pair=None if self.by_pair is None else self.by_pair.edges,
        )

    @cached_property
    def by_pair(self) -> ByPair | None:
        """How many edges there are by each pair's own partial correlation, and how strong."""
        return by_pair(self.data.R, self.data.k, (self.rows, self.cols))

    @property
    def weak_instead_of_few(self) -> bool:
        """Whether edges are more and weaker than each pair by itself says, clearly."""
        found = self.by_pair
        if found is None:
            return False
        expected = self.beliefs.p.sum()
        more = expected > MORE * found.edges and expected - found.edges > AT_LEAST
        return bool(more and self.slab.variance < WEAKER * min(found.variance, LARGEST_SLAB))

    @property
    def is_silent(self) -> bool:
        """Whether no pair stands out; where all pairs are edges none does, but they speak."""
        log_bf = self.beliefs.log_bf
        return bool(log_bf.std() < SILENT and abs(log_bf.mean()) < 1)

    def given(self, log_odds: Matrix, with_rate: bool = False, rough: bool = False) -> Evidence:
        """The same data when the pairs' prior log-odds are ``log_odds`` (n, n).

        ``with_rate`` draws the rate of edges too, whose log-odds come on top. A ``rough`` answer
        takes a fifth of the time.
        """
        keep = self.chains.sweeps // (5 if rough else 1)
        chains, slab, beliefs, _ = self.chains.beliefs(log_odds, with_rate, not rough, keep)
        if not with_rate:
            slab = slab._replace(rate=self.slab.rate)
        return replace(self, chains=chains, slab=slab, beliefs=beliefs)


@dataclass(frozen=True, eq=False)
class _Data:
    """What every round reads: correlations, what they are worth, what is known."""

    problem: Problem
    R: Matrix
    k: float
    share: Vector | None
    rate: Rate
    fixed: Slab | None


@dataclass(frozen=True, eq=False)
class _Learned:
    """What one round of drawing learns; Theta, the mean, is on the scale of the chains' S."""

    chains: Chains
    units: Vector
    slab: Slab
    beliefs: Beliefs
    slack: Slack
    Theta: Matrix
    variance: Matrix


def refuse_coupled(problem: Problem) -> None:
    """Refuse to hold how each unknown pair depends on each where there are too many pairs."""
    unknown = int(problem.U.sum() // 2)
    if unknown > MOST_COUPLED:
        raise GraphPriorError(
            f"{unknown} unknown pairs are too many to hold how each depends on each "
            f"(at most {MOST_COUPLED}): use engine 'direct' or 'gibbs'"
        )


def data_evidence(
    problem: Problem,
    fixed: Slab | None = None,
    slack: float | None = None,
    rate: Rate | None = None,
) -> Evidence:
    """The evidence of the data for each unknown pair, the others taken as alike.

    ``fixed`` takes size and rate of edges as given instead of estimating them.
    ``slack`` is the size of partial correlations that are no edges; None
    estimates it from the pairs known to be absent. ``rate`` is the prior of the rate of edges;
    None is what the known pairs tell.
    """
    told = problem.moments
    R, units = to_unit_diagonal(told.S)
    # Of copies of a variable no digit of the inverse would be left.
    R = apart(R, LEAST_EIGENVALUE)
    # A mean that was estimated costs one observation.
    k = told.k - (0 if problem.observations.assume_centered else 1)
    data = _Data(
        problem,
        R,
        k,
        told.share,
        rate or rate_prior(problem.known, problem.unknown_at_random),
        fixed,
    )
    wishart = fit_wishart(R, k)
    first = wishart.posterior_mean(R, k)
    learned = _learn(data, first, Slack((slack or 0.0) ** 2))
    found: tuple[Doubt, ...] = ()
    pairs = problem.n * (problem.n - 1) // 2
    if pairs <= MOST_PAIRS and tells_slack(problem):
        learned, found = _with_slack(data, learned, ROUNDS if slack is None else 0)
    rows, cols = np.nonzero(np.triu(problem.U))
    own = learned.units / units
    return Evidence(
        problem.n, rows, cols, learned.chains, learned.slab, wishart, learned.beliefs,
        learned.Theta * np.outer(own, own), own, data, learned.slack, found,
    )  # fmt: skip


def _learn(data: _Data, first: Matrix, slack: Slack) -> _Learned:
    """Draw Theta with size, shape and rate of edges; ``first`` is a first estimate of it."""
    problem, units = data.problem, np.sqrt(np.diag(first))
    scale = np.outer(units, units)
    chains = Chains.create(
        problem, data.R * scale, data.k, data.share, slack.variance, data.rate, data.fixed,
        first / scale,
    )  # fmt: skip
    told = np.full(scale.shape, 0.0 if data.fixed is None else logit(data.fixed.rate))
    chains, more = chains.in_units(told, with_rate=data.fixed is None)
    chains, slab, beliefs, Theta = chains.beliefs(told, with_rate=data.fixed is None, settle=True)
    rows, cols = np.nonzero(np.triu(problem.U))
    p = (problem.known == 1).astype(float)
    p[rows, cols] = p[cols, rows] = np.maximum(beliefs.p, SMALLEST_WEIGHT)
    variance = slab.variance * p + slack.variance
    return _Learned(chains, units * more, slab, beliefs, slack, Theta, variance)


def _with_slack(data: _Data, learned: _Learned, rounds: int) -> tuple[_Learned, tuple[Doubt, ...]]:
    """More rounds with slack, as long as the absent pairs clearly have some; then the doubts."""
    rows, cols = np.nonzero(np.triu(data.problem.known == 0, 1))
    told = exact = _absent_strengths(data, learned)
    for _ in range(rounds):
        found = clear_slack(told)
        if not found.variance or abs(found.size - learned.slack.size) < SAME * found.size:
            break
        scale = np.outer(learned.units, learned.units)
        learned = _learn(data, learned.Theta * scale, found)
        told = _absent_strengths(data, learned)
    return learned, doubts(told, learned.slack, rows, cols, exact)


def _absent_strengths(data: _Data, learned: _Learned) -> Coupled:
    """The likelihood of the absent pairs' strengths, all others integrated out."""
    n, known = data.problem.n, data.problem.known
    rows, cols = np.triu_indices(n)
    absent = (known[rows, cols] == 0) & (rows != cols)
    S = learned.chains.S
    told = linearise(with_variances(learned.Theta, S), S, data.k, rows, cols, data.share)
    diagonal = (rows == cols)[~absent]
    variance = np.where(diagonal, np.inf, learned.variance[rows, cols][~absent])
    F, b, *_ = integrate_out(told.F, told.b, ~absent, 1 / variance)
    return Coupled(F, b)
