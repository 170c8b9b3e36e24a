"""What the data say about each unknown pair, as log-odds.

The plug-in likelihood of the paper never prefers a missing edge: taking one
out always lowers it. Integrating the strength of the edge out does, and gives
the log Bayes factor of the pair. Strengths are partial correlations, so units
do not matter.

1. A Wishart prior for Theta by empirical Bayes sets the scale of everything.
2. At the mode of Theta (zeros where known) the likelihood of the free entries
   is nearly Gaussian: natural parameters F (Fisher information) and b.
3. The diagonal and the known edges are integrated out.
4. Unknown pairs are spikes or slabs N(0, s2). Their rate and s2 are estimated
   by expectation-maximisation; known edges, where there are any, tell s2 too.

Steps 2 to 4 are repeated with what was learned, and again where the pairs known
to be absent are clearly not zero (slack.py). Above `FEW` unknown pairs, and where
beliefs of fewer do not settle, Theta is drawn instead (chains.py), with the same
spikes and slabs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.special import logit

from graphprior.chains import Chains
from graphprior.errors import GraphPriorError
from graphprior.graphs import Matrix, Problem
from graphprior.linalg import LEAST_EIGENVALUE, apart, to_unit_diagonal
from graphprior.moments import moments
from graphprior.quadratic import Coupled, integrate_out, linearise
from graphprior.ridge import ridge_mode
from graphprior.slab import Slab, maximise, start_slab
from graphprior.slack import (
    MOST_PAIRS,
    Doubt,
    Slack,
    clear_slack,
    doubts,
    doubts_in_words,
    linearise_with_slack,
    tells_slack,
)
from graphprior.spike_slab import Beliefs, Vector, expectation_propagation
from graphprior.strengths import coupled_likelihood
from graphprior.wishart import WishartPrior, fit_wishart

Index = npt.NDArray[np.intp]
ROUNDS = 3
EM_STEPS = 4
SMALLEST_WEIGHT = 0.02
FEW = 300
MOST_COUPLED = 1500
SILENT = 0.05


@dataclass(frozen=True, eq=False)
class Evidence:
    """The data's log Bayes factors for edges at the pairs (rows, cols), and what made them.

    ``likelihood`` is that of the unknown pairs' strengths with all else
    integrated out; ``beliefs`` what follows when edges have the slab's rate, or
    what `given` was told.
    """

    n: int
    rows: Index
    cols: Index
    likelihood: Coupled | Chains
    slab: Slab
    wishart: WishartPrior
    beliefs: Beliefs
    Theta: Matrix | None = None
    slack: Slack = Slack()  # noqa: RUF009 (it is a tuple)
    doubts: tuple[Doubt, ...] = ()
    touching: _Touching | None = None

    @cached_property
    def coupled(self) -> Coupled:
        """F and b; refused where there are too many pairs."""
        if isinstance(self.likelihood, Coupled):
            return self.likelihood
        if len(self.rows) > MOST_COUPLED:
            raise GraphPriorError(
                f"{len(self.rows)} unknown pairs are too many to hold how each depends on each "
                f"(at most {MOST_COUPLED}): use engine 'direct'"
            )
        assert self.touching is not None
        return self.touching.coupled()

    @property
    def log_bf(self) -> Matrix:
        """(n, n) log Bayes factors, 0 on known pairs."""
        return self.matrix(self.beliefs.log_bf)

    def matrix(self, values: Vector) -> Matrix:
        """Values of the unknown pairs as an (n, n) matrix."""
        A = np.zeros((self.n, self.n))
        A[self.rows, self.cols] = A[self.cols, self.rows] = values
        return A

    def facts(self) -> dict[str, float | bool]:
        """What was estimated, for diagnostics."""
        return {
            "slab_variance": self.slab.variance,
            "edge_rate": self.slab.rate,
            "wishart_nu": self.wishart.nu,
            "evidence_converged": bool(self.beliefs.converged),
            "evidence_spread": float(self.beliefs.log_bf.std()),
            "slack": self.slack.size,
        }

    def weaknesses(self, names: tuple[str, ...]) -> list[str]:
        """In words, why the data are a weak ground; none where they are not."""
        lines = doubts_in_words(self.doubts, names) + self.slack.words()
        if not self.beliefs.converged:
            lines.append(
                "the evidence of the data did not settle: pairs depend strongly on each other, "
                "and their log-odds are rough"
            )
        elif len(self.rows) > 1 and self._is_silent:
            lines.append(
                "the data hardly tell pairs apart (their log-odds differ by "
                f"{self.beliefs.log_bf.std():.2f}): the probabilities are the prior's; "
                "more observations would help"
            )
        return lines

    @property
    def _is_silent(self) -> bool:
        """Whether no pair stands out; where all pairs are edges none does, but they speak."""
        log_bf = self.beliefs.log_bf
        return bool(log_bf.std() < SILENT and abs(log_bf.mean()) < 1)

    def given(self, log_odds: Matrix) -> Evidence:
        """The same data when the pairs' prior log-odds are ``log_odds`` (n, n)."""
        likelihood, slab = self.likelihood, self.slab
        if isinstance(likelihood, Chains):
            likelihood, beliefs = likelihood.beliefs(slab, log_odds)
            return replace(self, likelihood=likelihood, beliefs=beliefs)
        told, sites = log_odds[self.rows, self.cols], self.beliefs.sites
        beliefs = expectation_propagation(*likelihood, slab.variance, told, sites)
        return replace(self, beliefs=beliefs)


@dataclass(frozen=True, eq=False)
class _Data:
    """What every round reads: correlations, what they are worth, what is known."""

    problem: Problem
    R: Matrix
    k: float
    share: Vector | None
    wishart: WishartPrior
    fixed: Slab | None


@dataclass(frozen=True, eq=False)
class _State:
    """What a round learns and the next starts from; Theta is on the scale of R."""

    diagonal: Vector
    p: Matrix
    slab: Slab
    slack: Slack
    Theta: Matrix | None = None
    evidence: Evidence | None = None
    doubts: tuple[Doubt, ...] = ()

    @property
    def scale(self) -> Matrix:
        """S = R * scale has a Theta of about unit diagonal: its entries are strengths."""
        unit = np.sqrt(self.diagonal)
        return np.outer(unit, unit)


def data_evidence(
    problem: Problem,
    assume_centered: bool = False,
    fixed: Slab | None = None,
    slack: float | None = None,
) -> Evidence:
    """The evidence of the data for each unknown pair, the others taken as alike.

    ``fixed`` takes size and rate of edges as given instead of estimating them.
    ``slack`` is the size of partial correlations that are no edges; None
    estimates it from the pairs known to be absent.
    """
    told = moments(problem, assume_centered)
    R, units = to_unit_diagonal(told.S)
    # F is made of products of two inverses: of copies of a variable no digit would be left.
    R = apart(R, LEAST_EIGENVALUE)
    # A mean that was estimated costs one observation.
    k = told.k - (0 if assume_centered else 1)
    data = _Data(problem, R, k, told.share, fit_wishart(R, k), fixed)
    state = _start(data, Slack((slack or 0.0) ** 2))
    if state.slack.variance > 0 and not _few_enough(problem):
        raise GraphPriorError(
            f"slack = {slack} with {problem.n} variables: it needs at most {MOST_PAIRS} pairs"
        )
    state = _learn(data, state)
    if _few_enough(problem) and tells_slack(problem):
        state = _with_slack(data, state, ROUNDS if slack is None else 0)
    assert state.evidence is not None
    assert state.Theta is not None
    Theta = state.Theta / np.outer(units, units)
    return replace(state.evidence, Theta=Theta, slack=state.slack, doubts=state.doubts)


def _start(data: _Data, slack: Slack) -> _State:
    problem, wishart = data.problem, data.wishart
    slab = data.fixed or start_slab(problem, wishart)
    p = np.where(problem.U, slab.rate, problem.known == 1)
    return _State(np.diag(wishart.posterior_mean(data.R, data.k)), p, slab, slack)


def _prior_variance(data: _Data, state: _State) -> Matrix:
    """Of every strength, edges and spikes as one Gaussian; 0 where a pair is exactly absent."""
    weight = np.where(data.problem.U, np.maximum(state.p, SMALLEST_WEIGHT), state.p)
    variance: Matrix = state.slab.variance * weight + state.slack.variance
    return variance


def _round(data: _Data, state: _State) -> _State:
    """Steps 2 to 4 at the mode for what was learned so far."""
    S, last = data.R * state.scale, state.Theta
    tau = _prior_variance(data, state)
    Theta = ridge_mode(S, data.k, tau, None if last is None else last / state.scale)
    evidence, slab = _weigh(data, state, Theta, S)
    p = np.where(data.problem.U, evidence.matrix(evidence.beliefs.p), data.problem.known == 1)
    Theta = Theta * state.scale
    return _State(np.diag(Theta), p, data.fixed or slab, state.slack, Theta, evidence)


def _learn(data: _Data, state: _State, rounds: int = ROUNDS) -> _State:
    """Rounds of expectation propagation where pairs are few and it settles, else chains."""
    if data.problem.U.sum() // 2 <= FEW:
        learned = state
        for _ in range(rounds):
            learned = _round(data, learned)
            assert learned.evidence is not None
            if not learned.evidence.beliefs.converged:
                return _draw(data, state)
        return learned
    return _draw(data, state)


def _draw(data: _Data, state: _State) -> _State:
    """Steps 2 to 4 by drawing Theta, with size and rate of edges; then the mode that follows."""
    problem, scale = data.problem, state.scale
    chains = Chains.create(problem, data.R * scale, data.k, data.share, state.slack.variance)
    chains, slab, Theta = chains.learn(state.slab, data.fixed, max(chains.sweeps // 4, 1))
    chains = chains.rescaled(np.diag(Theta))
    scale = scale * np.sqrt(np.outer(np.diag(Theta), np.diag(Theta)))
    start = Slab(start_slab(problem, data.wishart).variance, slab.rate)
    chains, slab, Theta = chains.learn(start, data.fixed)
    chains, beliefs = chains.beliefs(slab, np.full(data.R.shape, logit(slab.rate)))
    rows, cols = np.nonzero(np.triu(problem.U))
    evidence = Evidence(problem.n, rows, cols, chains, slab, data.wishart, beliefs)
    p = np.where(problem.U, evidence.matrix(beliefs.p), problem.known == 1)
    diagonal = np.diag(scale)
    learned = _State(diagonal, p, slab, state.slack, evidence=evidence)
    mode = ridge_mode(data.R * scale, data.k, _prior_variance(data, learned))
    touching = _Touching(data, learned, mode)
    evidence = replace(evidence, touching=touching)
    return replace(learned, Theta=mode * scale, evidence=evidence)


@dataclass(frozen=True, eq=False)
class _Touching:
    """Where the likelihood would be taken as Gaussian; F and b are made only if asked for."""

    data: _Data
    state: _State
    Theta: Matrix

    def coupled(self) -> Coupled:
        """F and b of the unknown pairs' strengths, all else integrated out."""
        problem, slab = self.data.problem, self.state.slab
        unknown, nuisance = np.nonzero(np.triu(problem.U)), _nuisance(problem)
        S = self.data.R * self.state.scale
        told = _free_entries(self.data, self.state, self.Theta, S, nuisance, unknown)
        return coupled_likelihood(told, _ridge(problem, slab))[0]


def _nuisance(problem: Problem) -> tuple[Index, ...]:
    """The diagonal, then the known edges."""
    edges = np.nonzero(np.triu(problem.known == 1))
    return tuple(np.concatenate([np.arange(problem.n), part]) for part in edges)


def _ridge(problem: Problem, slab: Slab) -> Vector:
    """Their prior precisions."""
    edges = int(np.triu(problem.known == 1).sum())
    return np.concatenate([np.zeros(problem.n), np.full(edges, 1 / slab.variance)])


def _few_enough(problem: Problem) -> bool:
    pairs = problem.n * (problem.n - 1) // 2
    return pairs <= MOST_PAIRS


def _with_slack(data: _Data, state: _State, rounds: int) -> _State:
    """More rounds with slack, as long as the absent pairs clearly have some; then its doubts."""
    rows, cols = np.nonzero(np.triu(data.problem.known == 0, 1))
    told = exact = _absent_strengths(data, state)
    for _ in range(rounds):
        found = clear_slack(told)
        if not found.variance:
            break
        state = _learn(data, replace(state, slack=found), rounds=1)
        told = _absent_strengths(data, state)
    return replace(state, doubts=doubts(told, state.slack, rows, cols, exact))


def _absent_strengths(data: _Data, state: _State) -> Coupled:
    """The likelihood of the absent pairs' strengths, all others integrated out."""
    n, known = data.problem.n, data.problem.known
    assert state.Theta is not None
    scale = state.scale
    rows, cols = np.triu_indices(n)
    absent = (known[rows, cols] == 0) & (rows != cols)
    told = linearise(state.Theta / scale, data.R * scale, data.k, rows, cols, data.share)
    diagonal = (rows == cols)[~absent]
    variance = np.where(diagonal, np.inf, _prior_variance(data, state)[rows, cols][~absent])
    F, b, *_ = integrate_out(told.F, told.b, ~absent, 1 / variance)
    return Coupled(F, b)


def _weigh(data: _Data, state: _State, Theta: Matrix, S: Matrix) -> tuple[Evidence, Slab]:
    """Steps 2 to 4 at one Theta: the evidence, and the slab that follows from it."""
    problem, slab = data.problem, state.slab
    n, beliefs = problem.n, None if state.evidence is None else state.evidence.beliefs
    rows, cols = unknown = np.nonzero(np.triu(problem.U))
    start = start_slab(problem, data.wishart).variance
    told = _free_entries(data, state, Theta, S, _nuisance(problem), unknown)
    for _ in range(EM_STEPS if data.fixed is None else 1):
        likelihood, moment = coupled_likelihood(told, _ridge(problem, slab))
        log_odds = np.full(len(rows), logit(slab.rate))
        sites = None if beliefs is None else beliefs.sites
        beliefs = expectation_propagation(*likelihood, slab.variance, log_odds, sites)
        used, slab = slab, maximise(beliefs, moment(beliefs)[n:], start)
    assert beliefs is not None
    return Evidence(n, rows, cols, likelihood, used, data.wishart, beliefs), slab


def _free_entries(
    data: _Data, state: _State, Theta: Matrix, S: Matrix, *entries: tuple[Index, ...]
) -> Coupled:
    """The Gaussian likelihood of the entries that may be free, slack taken out."""
    rows, cols = (np.concatenate(part) for part in zip(*entries, strict=True))
    absent, v = np.nonzero(np.triu(data.problem.known == 0, 1)), state.slack.variance
    return linearise_with_slack(Theta, S, data.k, rows, cols, absent, v, data.share)
