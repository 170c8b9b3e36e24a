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
   by expectation-maximisation, from known edges where there are any.

Steps 2 to 4 are repeated with what was learned.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import logit

from graphprior.covariance import sample_covariance
from graphprior.graphs import Matrix, Problem
from graphprior.linalg import to_unit_diagonal
from graphprior.ridge import ridge_mode
from graphprior.spike_slab import Beliefs, Vector, expectation_propagation
from graphprior.wishart import WishartPrior, fit_wishart

Index = npt.NDArray[np.intp]
ROUNDS = 3
EM_STEPS = 4
SMALLEST_WEIGHT = 0.02
LARGEST_SLAB = 0.25


class Slab(NamedTuple):
    """An edge's strength is N(0, variance); a share ``rate`` of unknown pairs are edges."""

    variance: float
    rate: float


@dataclass(frozen=True, eq=False)
class Evidence:
    """The data's log Bayes factors for edges at the pairs (rows, cols), and what made them.

    ``F`` and ``b`` are the likelihood of the unknown pairs' strengths with all
    else integrated out; ``beliefs`` what follows with ``log_odds`` as prior.
    """

    n: int
    rows: Index
    cols: Index
    F: Matrix
    b: Vector
    slab: Slab
    wishart: WishartPrior
    beliefs: Beliefs

    @property
    def log_bf(self) -> Matrix:
        """(n, n) log Bayes factors, 0 on known pairs."""
        return self.matrix(self.beliefs.log_bf)

    def matrix(self, values: Vector) -> Matrix:
        """Values of the unknown pairs as an (n, n) matrix."""
        A = np.zeros((self.n, self.n))
        A[self.rows, self.cols] = A[self.cols, self.rows] = values
        return A

    def given(self, log_odds: Matrix) -> Evidence:
        """The same data when the pairs' prior log-odds are ``log_odds`` (n, n)."""
        told = log_odds[self.rows, self.cols]
        beliefs = expectation_propagation(
            self.F, self.b, self.slab.variance, told, self.beliefs.sites
        )
        return replace(self, beliefs=beliefs)


class Likelihood(NamedTuple):
    """Natural parameters of the entries (rows, cols) of a Theta with about unit diagonal."""

    rows: Index
    cols: Index
    F: Matrix
    b: Vector


def linearise(Theta: Matrix, S: Matrix, k: float, rows: Index, cols: Index) -> Likelihood:
    """The Gaussian that touches the likelihood at ``Theta``: Fisher information, and b."""
    W = np.linalg.inv(Theta)
    weight = np.where(rows == cols, 0.5, 1.0)
    F = W[np.ix_(rows, rows)] * W[np.ix_(cols, cols)] + W[np.ix_(rows, cols)] * W[np.ix_(cols, rows)]
    F *= k * np.outer(weight, weight)
    b = F @ Theta[rows, cols] + k * weight * (W - S)[rows, cols]
    return Likelihood(rows, cols, F, b)


def integrate_out(
    F: Matrix, b: Vector, nuisance: npt.NDArray[np.bool_], precision: Vector
) -> tuple[Matrix, Vector, Matrix, Vector]:
    """F and b of the other entries, N(0, 1/precision) nuisance integrated out.

    Also the nuisance's mean as a linear function of the others' strengths:
    (slope, mean at zero).
    """
    inner = F[np.ix_(nuisance, nuisance)] + np.diag(precision)
    across = F[np.ix_(nuisance, ~nuisance)]
    solved = np.linalg.solve(inner, np.column_stack([across, b[nuisance]]))
    slope, at_zero = -solved[:, :-1], solved[:, -1]
    rest = F[np.ix_(~nuisance, ~nuisance)] + across.T @ slope
    return (rest + rest.T) / 2, b[~nuisance] - across.T @ at_zero, slope, at_zero


def data_evidence(problem: Problem, assume_centered: bool = False) -> Evidence:
    """The evidence of the data for each unknown pair, the others taken as alike."""
    R, _ = to_unit_diagonal(sample_covariance(problem.X, assume_centered))
    # A mean that was estimated costs one observation.
    k = problem.k - (0 if assume_centered else 1)
    wishart = fit_wishart(R, k)
    slab = start_slab(problem, wishart)
    diagonal = np.diag(wishart.posterior_mean(R, k))
    U, edges = problem.U, problem.known == 1
    p = np.where(U, slab.rate, edges.astype(float))
    Theta, evidence = None, None
    for _ in range(ROUNDS):
        unit = np.sqrt(diagonal)
        scale = np.outer(unit, unit)
        tau = np.where(U, slab.variance * np.maximum(p, SMALLEST_WEIGHT), slab.variance * edges)
        Theta = ridge_mode(R * scale, k, tau, None if Theta is None else Theta / scale)
        evidence, slab = _weigh(problem, Theta, R * scale, k, slab, wishart, evidence)
        p = np.where(U, evidence.matrix(evidence.beliefs.p), edges.astype(float))
        Theta = Theta * scale
        diagonal = np.diag(Theta)
    assert evidence is not None
    return evidence


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
    slab: Slab,
    wishart: WishartPrior,
    last: Evidence | None,
) -> tuple[Evidence, Slab]:
    """Steps 2 to 4 at one Theta."""
    rows, cols = np.nonzero(np.triu(problem.U | (problem.known == 1) | np.eye(problem.n, dtype=bool)))
    told = linearise(Theta, S, k, rows, cols)
    unknown, on_diagonal = problem.U[rows, cols], rows == cols
    is_edge = ~on_diagonal[~unknown]
    beliefs = None if last is None else last.beliefs
    start = start_slab(problem, wishart).variance
    for _ in range(EM_STEPS):
        precision = np.where(is_edge, 1 / slab.variance, 0.0)
        F, b, slope, at_zero = integrate_out(told.F, told.b, ~unknown, precision)
        log_odds = np.full(len(b), logit(slab.rate))
        sites = None if beliefs is None else beliefs.sites
        beliefs = expectation_propagation(F, b, slab.variance, log_odds, sites)
        inner = told.F[np.ix_(~unknown, ~unknown)] + np.diag(precision)
        second = _second_moment(beliefs, slope, at_zero, inner)[is_edge]
        slab = _maximise(beliefs, second, start)
    assert beliefs is not None
    evidence = Evidence(
        problem.n, rows[unknown], cols[unknown], F, b, slab, wishart, beliefs
    )
    return evidence, slab


def _second_moment(beliefs: Beliefs, slope: Matrix, at_zero: Vector, inner: Matrix) -> Vector:
    """E[strength**2] of the nuisance entries, the unknown pairs averaged out."""
    mean = beliefs.p * beliefs.mean
    spread = beliefs.p * (beliefs.variance + beliefs.mean**2) - mean**2
    variance = np.diag(np.linalg.inv(inner)) + slope**2 @ spread
    moment: Vector = (at_zero + slope @ mean) ** 2 + variance
    return moment


def _maximise(beliefs: Beliefs, known_edges: Vector, start: float) -> Slab:
    """The M-step; two edges of the strength first guessed, and one of five pairs, are added."""
    p = beliefs.p
    strength = float((p * (beliefs.variance + beliefs.mean**2)).sum() + known_edges.sum())
    count = float(p.sum()) + len(known_edges)
    variance = (strength + 2 * start) / (count + 2)
    return Slab(min(variance, LARGEST_SLAB), float((p.sum() + 1) / (len(p) + 5)))
