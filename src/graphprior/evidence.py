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

Steps 2 to 4 are repeated with what was learned.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve_triangular
from scipy.special import logit

from graphprior.errors import GraphPriorError
from graphprior.field import Field, field_beliefs
from graphprior.graphs import Matrix, Problem
from graphprior.linalg import to_unit_diagonal
from graphprior.moments import moments
from graphprior.quadratic import Coupled, integrate_out, linearise
from graphprior.ridge import ridge_mode
from graphprior.spike_slab import Beliefs, Vector, expectation_propagation
from graphprior.wishart import WishartPrior, fit_wishart

Index = npt.NDArray[np.intp]
ROUNDS = 3
EM_STEPS = 4
SMALLEST_WEIGHT = 0.02
LARGEST_SLAB = 0.25
MOST_COUPLED = 1500
SILENT = 0.05


class Slab(NamedTuple):
    """An edge's strength is N(0, variance); a share ``rate`` of unknown pairs are edges."""

    variance: float
    rate: float


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
    likelihood: Coupled | Field
    slab: Slab
    wishart: WishartPrior
    beliefs: Beliefs
    Theta: Matrix | None = None

    @property
    def coupled(self) -> Coupled:
        """F and b; refused where there are too many pairs."""
        if isinstance(self.likelihood, Field):
            raise GraphPriorError(
                f"{len(self.rows)} unknown pairs are too many to hold how each depends on each "
                f"(at most {MOST_COUPLED}): use engine 'direct'"
            )
        return self.likelihood

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
        }

    def weakness(self) -> str | None:
        """In words, why the data are a weak ground; None where they are not."""
        if not self.beliefs.converged:
            return (
                "the evidence of the data did not settle: pairs depend strongly on each other, "
                "and their log-odds are rough"
            )
        if len(self.rows) > 1 and self.beliefs.log_bf.std() < SILENT:
            return (
                "the data hardly tell pairs apart (their log-odds differ by "
                f"{self.beliefs.log_bf.std():.2f}): the probabilities are the prior's; "
                "more observations would help"
            )
        return None

    def given(self, log_odds: Matrix) -> Evidence:
        """The same data when the pairs' prior log-odds are ``log_odds`` (n, n)."""
        told = log_odds[self.rows, self.cols]
        return replace(self, beliefs=_believe(self.likelihood, self.slab, told, self.beliefs))


def _believe(
    likelihood: Coupled | Field, slab: Slab, log_odds: Vector, start: Beliefs | None
) -> Beliefs:
    sites = None if start is None else start.sites
    if isinstance(likelihood, Field):
        return field_beliefs(likelihood, slab.variance, log_odds, sites)
    return expectation_propagation(likelihood.F, likelihood.b, slab.variance, log_odds, sites)


def data_evidence(
    problem: Problem, assume_centered: bool = False, fixed: Slab | None = None
) -> Evidence:
    """The evidence of the data for each unknown pair, the others taken as alike.

    ``fixed`` takes size and rate of edges as given instead of estimating them.
    """
    told = moments(problem, assume_centered)
    R, units = to_unit_diagonal(told.S)
    # A mean that was estimated costs one observation.
    k = told.k - (0 if assume_centered else 1)
    wishart = fit_wishart(R, k)
    slab = fixed or start_slab(problem, wishart)
    diagonal = np.diag(wishart.posterior_mean(R, k))
    U, edges = problem.U, problem.known == 1
    p = np.where(U, slab.rate, edges.astype(float))
    Theta, evidence = None, None
    em_steps = EM_STEPS if fixed is None else 1
    for _ in range(ROUNDS):
        unit = np.sqrt(diagonal)
        scale = np.outer(unit, unit)
        tau = np.where(U, slab.variance * np.maximum(p, SMALLEST_WEIGHT), slab.variance * edges)
        Theta = ridge_mode(R * scale, k, tau, None if Theta is None else Theta / scale)
        evidence, new = _weigh(
            problem, Theta, R * scale, k, told.share, slab, wishart, evidence, em_steps
        )
        slab = fixed or new
        p = np.where(U, evidence.matrix(evidence.beliefs.p), edges.astype(float))
        Theta = Theta * scale
        diagonal = np.diag(Theta)
    assert evidence is not None
    assert Theta is not None
    return replace(evidence, Theta=Theta / np.outer(units, units))


def start_slab(problem: Problem, wishart: WishartPrior) -> Slab:
    """Before the pairs are looked at: the Wishart's strength, were it all in the edges."""
    n, edges = problem.n, float((problem.known == 1).sum()) / 2
    unknown, pairs = float(problem.U.sum()) / 2, problem.n * (problem.n - 1) / 2
    rate = (edges + 1) / (pairs - unknown + 5)
    density = max((edges + rate * unknown) / pairs, 1 / n)
    return Slab(min(LARGEST_SLAB, 1 / (wishart.nu * density)), rate)


def _weigh(
    problem: Problem,
    Theta: Matrix,
    S: Matrix,
    k: float,
    share: Vector | None,
    slab: Slab,
    wishart: WishartPrior,
    last: Evidence | None,
    em_steps: int,
) -> tuple[Evidence, Slab]:
    """Steps 2 to 4 at one Theta."""
    n, beliefs = problem.n, None if last is None else last.beliefs
    rows, cols = unknown = np.nonzero(np.triu(problem.U))
    edges = np.nonzero(np.triu(problem.known == 1))
    nuisance = tuple(np.concatenate([np.arange(n), part]) for part in edges)
    start = start_slab(problem, wishart).variance
    large = len(unknown[0]) > MOST_COUPLED
    for _ in range(1 if large else em_steps):
        ridge = np.concatenate([np.zeros(n), np.full(len(edges[0]), 1 / slab.variance)])
        if large:
            likelihood, moment = field_likelihood(Theta, S, k, unknown, nuisance, ridge, share)
        else:
            likelihood, moment = coupled_likelihood(Theta, S, k, unknown, nuisance, ridge, share)
        log_odds = np.full(len(unknown[0]), logit(slab.rate))
        beliefs = _believe(likelihood, slab, log_odds, beliefs)
        used, slab = slab, _maximise(beliefs, moment(beliefs)[n:], start)
    assert beliefs is not None
    return Evidence(n, rows, cols, likelihood, used, wishart, beliefs), slab


Moment = Callable[[Beliefs], Vector]


def coupled_likelihood(
    Theta: Matrix, S: Matrix, k: float, unknown: Any, nuisance: Any, ridge: Vector,
    share: Vector | None = None,
) -> tuple[Coupled | Field, Moment]:  # fmt: skip
    """The likelihood with its full coupling, and E[strength**2] of the nuisance by beliefs."""
    rows, cols = (np.concatenate(parts) for parts in zip(nuisance, unknown, strict=True))
    is_nuisance = np.arange(len(rows)) < len(ridge)
    told = linearise(Theta, S, k, rows, cols, share)
    F, b, slope, at_zero = integrate_out(told.F, told.b, is_nuisance, ridge)
    inner = told.F[: len(ridge), : len(ridge)]
    inner = inner + np.diag(ridge + 1e-9 * np.diag(inner))
    own_variance = np.diag(np.linalg.inv(inner))

    def moment(beliefs: Beliefs) -> Vector:
        mean, spread = _moments(beliefs)
        second: Vector = (at_zero + slope @ mean) ** 2 + own_variance + slope**2 @ spread
        return second

    return Coupled(F, b), moment


def field_likelihood(
    Theta: Matrix, S: Matrix, k: float, unknown: Any, nuisance: Any, ridge: Vector,
    share: Vector | None = None,
) -> tuple[Coupled | Field, Moment]:  # fmt: skip
    """The same without a matrix of pairs by pairs."""
    W = np.asarray(np.linalg.inv(Theta), dtype=np.float64)
    field = Field.create(W, S, k, unknown, nuisance, ridge, share)
    inverse = solve_triangular(field.factor, np.eye(len(ridge)), lower=True)
    own_variance = (inverse**2).sum(0)

    def moment(beliefs: Beliefs) -> Vector:
        second: Vector = field.nuisance_mean(_moments(beliefs)[0]) ** 2 + own_variance
        return second

    return field, moment


def _moments(beliefs: Beliefs) -> tuple[Vector, Vector]:
    """Mean and variance of the unknown strengths, spike and slab mixed."""
    mean: Vector = beliefs.p * beliefs.mean
    spread: Vector = beliefs.p * (beliefs.variance + beliefs.mean**2) - mean**2
    return mean, spread


def _maximise(beliefs: Beliefs, known_edges: Vector, start: float) -> Slab:
    """The M-step; two edges of the strength first guessed, and one of five pairs, are added."""
    p = beliefs.p
    strength = float((p * (beliefs.variance + beliefs.mean**2)).sum() + known_edges.sum())
    count = float(p.sum()) + len(known_edges)
    variance = (strength + 2 * start) / (count + 2)
    return Slab(min(variance, LARGEST_SLAB), float((p.sum() + 1) / (len(p) + 5)))
