"""What every engine gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, expit, logit
from scipy.stats import t as student

from graphprior.engines.facts import EngineFacts
from graphprior.evidence.evidence import Evidence
from graphprior.problem.problem import Problem
from graphprior.types import Matrix

Trace = npt.NDArray[np.int64]


def no_trace() -> Trace:
    """The trace of an engine that runs no chains."""
    return np.zeros((0, 0), np.int64)


class Reasons(NamedTuple):
    """Why each unknown pair has its posterior log-odds: their sum. (n, n) each, 0 on known pairs.

    ``prior``: the known part and the other pairs. ``data``: the log Bayes
    factor. ``hidden``: that the pair is among the unknown ones. ``belief``: an
    expert's.
    """

    prior: Matrix
    data: Matrix
    hidden: Matrix
    belief: Matrix

    @property
    def told(self) -> Matrix:
        """What the prior is told of each pair: all but its own part."""
        return self.data + self.hidden + self.belief

    @property
    def posterior(self) -> Matrix:
        """Posterior log-odds."""
        return self.prior + self.data + self.hidden + self.belief


@dataclass(frozen=True, eq=False)
class Posterior:
    """Edge probabilities, how well they are known, the graphs drawn, how the engine fared.

    ``low`` and ``high`` bound what the probabilities would be with endless
    draws; an engine that draws nothing has no samples and nothing to bound, so
    they are the probabilities themselves.
    ``evidence`` is the data's, informed by the prior, that ``reasons`` speak of.
    ``trace`` (M, times) counts the edges among the pairs drawn, chain by chain:
    of `gibbs` at the start and after each sweep, of `langevin` after each level.
    """

    edge_probabilities: Matrix
    low: Matrix
    high: Matrix
    samples: npt.NDArray[np.uint8]
    diagnostics: EngineFacts | None = None
    reasons: Reasons | None = None
    evidence: Evidence | None = None
    trace: Trace = field(default_factory=no_trace)

    @classmethod
    def from_samples(
        cls,
        samples: npt.NDArray[np.uint8],
        diagnostics: EngineFacts | None = None,
        trace: Trace | None = None,
    ) -> Posterior:
        """The sample mean as edge probability. Eqs. (6)-(7)."""
        P = samples.mean(axis=0, dtype=np.float64)
        low, high = share_interval(P, len(samples))
        trace = no_trace() if trace is None else trace
        return cls(P, low, high, samples, diagnostics, trace=trace)


def share_interval(share: Matrix, M: int | Matrix, level: float = 0.95) -> tuple[Matrix, Matrix]:
    """Bounds of a probability of which a share of M independent draws is known.

    Clopper and Pearson's: they hold at least that often, whatever the
    probability, and never claim certainty.
    """
    hits, tail = np.round(share * M), (1 - level) / 2
    low = np.where(hits > 0, betaincinv(np.maximum(hits, 1), M - hits + 1, tail), 0.0)
    high = np.where(hits < M, betaincinv(hits + 1, np.maximum(M - hits, 1), 1 - tail), 1.0)
    return low, high


def chains_interval(means: Matrix, level: float = 0.95) -> tuple[Matrix, Matrix]:
    """Bounds of probabilities from their means in M independent chains (M, m).

    Student's, from how far the chains are apart, on the scale of log-odds, where
    means near 0 or 1 are less skewed. They hold if the chains have forgotten
    their start. One chain tells nothing.
    """
    M, p = len(means), means.mean(axis=0)
    if M < 2:
        return np.zeros_like(p), np.ones_like(p)
    half = student.ppf((1 + level) / 2, M - 1) * means.std(axis=0, ddof=1) / np.sqrt(M)
    inside = (p > 0) & (p < 1)
    centre = logit(np.where(inside, p, 0.5))
    half = half / np.where(inside, p * (1 - p), 1.0)
    low, high = (np.where(inside, expit(centre + side * half), p) for side in (-1, 1))
    return low, high


def default_threshold(problem: Problem) -> float:
    """tau_k: 0.95 up to 1600 observations, then 1 - 2 / sqrt(k), which goes to 1.

    The plug-in likelihood never prefers a missing edge, so that pairs without
    one are drawn too often at any k. On ego-nets it was best that all of ten graphs
    agree, at all four numbers of observations tried (docs/decisions.md), and
    Theorem 1 asks for a threshold that goes to 1.
    """
    return max(0.95, 1 - 2 / float(np.sqrt(problem.k)))


def threshold_estimate(edge_probabilities: Matrix, tau: float) -> Matrix:
    """A_hat: the edges whose probability reaches tau. Eq. (11)."""
    A_hat = (edge_probabilities >= tau).astype(np.float64)
    np.fill_diagonal(A_hat, 0.0)
    return A_hat
