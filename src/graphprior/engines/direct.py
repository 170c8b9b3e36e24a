"""Edge probabilities without sampling: evidence in, posterior log-odds out.

The prior answers in one pass what the known part and the data's evidence
imply. Both halves then learn from each other: the data's evidence about a pair
depends on which other pairs are likely edges, and the prior's on how many of
the hidden pairs are edges. Each is told only what the other says without it,
so that no evidence is counted twice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from scipy.special import logit

from graphprior.engines.facts import DirectFacts
from graphprior.engines.posterior import Posterior, Reasons
from graphprior.engines.selection import selection_log_odds
from graphprior.errors import check_count
from graphprior.evidence.evidence import Evidence
from graphprior.graphs.matrices import unknown_mask
from graphprior.priors.average import mean_log_odds, parts_of
from graphprior.priors.exact import LearnedRate
from graphprior.priors.protocol import EvidencePrior, Prior, ask, needs_evidence_prior
from graphprior.problem.problem import Problem
from graphprior.types import Mask, Matrix, Progress

PASSES = 5


@dataclass(frozen=True)
class Direct:
    """Edge probabilities in a few passes; nothing is drawn.

    Parameters
    ----------
    passes : int
        How often prior and data inform each other.
    """

    passes: int = PASSES
    draws: ClassVar[int] = 0
    plugs_in: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_count("passes", self.passes)

    def __call__(
        self, problem: Problem, prior: Prior | None, data: Any, rng: np.random.Generator,
        device: str = "cpu", progress: Progress | None = None,
    ) -> Posterior:  # fmt: skip
        """The posterior."""
        return posterior_probabilities(
            problem.known, needs_evidence_prior(prior, "direct"), data, self.passes,
            not problem.unknown_at_random, device, progress, problem.belief,
        )  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """The priors that are averaged, and the log-odds that being unknown gives a pair by each.

    Independent edges whose rate the data tell need none: it is the rate of the unknown pairs.
    """

    priors: tuple[EvidencePrior, ...]
    weights: tuple[float, ...]
    hidden: tuple[float, ...]

    @classmethod
    def of(cls, prior: EvidencePrior) -> Asked:
        """Before anything was asked."""
        priors, weights = zip(*parts_of(prior), strict=True)
        return cls(priors, weights, (0.0,) * len(priors))

    @property
    def average(self) -> float:
        """The log-odds that being unknown gives a pair, all priors together."""
        return float(np.dot(self.weights, self.hidden))

    def answers(self, known: Matrix, told: Matrix, device: str | torch.device) -> list[Matrix]:
        """Posterior log-odds by each prior (n, n)."""
        U = unknown_mask(known)
        return [
            ask(prior, known, told + np.where(U, hidden, 0.0), device)
            for prior, hidden in zip(self.priors, self.hidden, strict=True)
        ]

    def mean(self, each: list[Matrix]) -> Matrix:
        """Log-odds of the mean of the probabilities."""
        if len(each) == 1:
            return each[0]
        mean: Matrix = mean_log_odds(torch.as_tensor(np.stack(each)), self.weights).numpy()
        return mean

    def informed(self, known: Matrix, each: list[Matrix], belief: Matrix) -> Asked:
        """With what being unknown says, given how many edges each prior now expects."""
        U = unknown_mask(known)
        # A belief speaks of its pair alone: it must not tell how many of the others are edges.
        hidden = tuple(
            0.0
            if isinstance(prior, LearnedRate)
            else selection_log_odds(
                known, _expected_edges(eta - belief - getattr(prior, "excess", 0.0), U)
            )
            for prior, eta in zip(self.priors, each, strict=True)
        )
        return replace(self, hidden=hidden)


def reason(
    known: Matrix,
    prior: EvidencePrior,
    evidence: Evidence | None,
    passes: int = PASSES,
    by_value: bool = True,
    device: str | torch.device = "cpu",
    progress: Progress | None = None,
    belief: Matrix | None = None,
) -> tuple[Reasons, Evidence | None, Asked]:
    """Let prior and data inform each other; ``by_value`` estimates the edge rate among U.

    ``belief`` (n, n) are an expert's log-odds of unknown pairs, 0 for none.
    """
    U, nothing = unknown_mask(known), np.zeros_like(known)
    belief = nothing if belief is None else np.where(U, belief, 0.0)
    if isinstance(prior, LearnedRate) and evidence is not None:
        return *_with_rate(U, evidence, belief, progress), Asked.of(prior)
    asked = Asked.of(prior)
    for done in range(1, passes + 1):
        data, hidden = nothing if evidence is None else evidence.log_bf, asked.average
        each = asked.answers(known, data + belief, device)
        said = np.where(U, asked.mean(each) - data - hidden - belief, 0.0)
        reasons = Reasons(said, data, np.where(U, hidden, 0.0), belief)
        if progress is not None:
            progress(done, passes)
        if done == passes:
            break
        if by_value:
            asked = asked.informed(known, each, belief)
        if evidence is not None:
            rough = done < passes - 1
            evidence = evidence.given(said + asked.average + belief, rough=rough)
    return reasons, evidence, asked


def _with_rate(
    U: Mask, evidence: Evidence, belief: Matrix, progress: Progress | None
) -> tuple[Reasons, Evidence]:
    """Reasons where pairs tell each other nothing but the rate of edges, which the data tell."""
    if belief.any():
        evidence = evidence.given(belief, with_rate=True)
    said = np.where(U, logit(evidence.slab.rate), 0.0)
    if progress is not None:
        progress(1, 1)
    return Reasons(said, evidence.log_bf, np.zeros_like(said), belief), evidence


def _expected_edges(eta: Matrix, U: Mask) -> float:
    return float((U / (1 + np.exp(-np.clip(eta, -40, 40)))).sum() / 2)


def posterior_probabilities(
    known: Matrix,
    prior: EvidencePrior,
    evidence: Evidence | None,
    passes: int = PASSES,
    by_value: bool = True,
    device: str | torch.device = "cpu",
    progress: Progress | None = None,
    belief: Matrix | None = None,
) -> Posterior:
    """Edge probabilities; nothing is drawn, so there are no samples."""
    reasons, evidence, _ = reason(
        known, prior, evidence, passes, by_value, device, progress, belief
    )
    U = unknown_mask(known)
    P = np.where(U, 1 / (1 + np.exp(-np.clip(reasons.posterior, -40, 40))), np.nan_to_num(known))
    np.fill_diagonal(P, 0.0)
    asked = not (isinstance(prior, LearnedRate) and evidence is not None)
    diagnostics = DirectFacts(passes if asked else 0, hidden_log_odds(reasons, U))
    return Posterior(P, P, P, np.zeros((0, *P.shape), np.uint8), diagnostics, reasons, evidence)


def hidden_log_odds(reasons: Reasons, U: Mask) -> float:
    """The log-odds that being hidden gives, the same for all unknown pairs."""
    return float(reasons.hidden[U][0]) if U.any() else 0.0
