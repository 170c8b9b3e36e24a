"""Edge probabilities without sampling: evidence in, posterior log-odds out.

The prior answers in one pass what the known part and the data's evidence
imply. Both halves then learn from each other: the data's evidence about a pair
depends on which other pairs are likely edges, and the prior's on how many of
the hidden pairs are edges. Each is told only what the other says without it,
so that no evidence is counted twice.
"""

from __future__ import annotations

from dataclasses import dataclass
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


def reason(
    known: Matrix,
    prior: EvidencePrior,
    evidence: Evidence | None,
    passes: int = PASSES,
    by_value: bool = True,
    device: str | torch.device = "cpu",
    progress: Progress | None = None,
    belief: Matrix | None = None,
) -> tuple[Reasons, Evidence | None]:
    """Let prior and data inform each other; ``by_value`` estimates the edge rate among U.

    ``belief`` (n, n) are an expert's log-odds of unknown pairs, 0 for none.
    """
    U, nothing = unknown_mask(known), np.zeros_like(known)
    belief = nothing if belief is None else np.where(U, belief, 0.0)
    hidden = 0.0
    if isinstance(prior, LearnedRate) and evidence is not None:
        return _with_rate(U, evidence, belief, progress)
    for done in range(1, passes + 1):
        data = nothing if evidence is None else evidence.log_bf
        eta = ask(prior, known, data + hidden + belief, device)
        said = np.where(U, eta - data - hidden - belief, 0.0)
        reasons = Reasons(said, data, np.where(U, hidden, 0.0), belief)
        if progress is not None:
            progress(done, passes)
        if done == passes:
            break
        if by_value:
            # A belief speaks of its pair alone: it must not tell how many of the others are edges.
            hidden = selection_log_odds(known, _expected_edges(eta - belief, U))
        if evidence is not None:
            rough = done < passes - 1
            evidence = evidence.given(reasons.prior + hidden + belief, rough=rough)
    return reasons, evidence


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
    reasons, evidence = reason(known, prior, evidence, passes, by_value, device, progress, belief)
    U = unknown_mask(known)
    P = np.where(U, 1 / (1 + np.exp(-np.clip(reasons.posterior, -40, 40))), np.nan_to_num(known))
    np.fill_diagonal(P, 0.0)
    asked = not (isinstance(prior, LearnedRate) and evidence is not None)
    diagnostics = DirectFacts(passes if asked else 0, hidden_log_odds(reasons, U))
    return Posterior(P, P, P, np.zeros((0, *P.shape), np.uint8), diagnostics, reasons, evidence)


def hidden_log_odds(reasons: Reasons, U: Mask) -> float:
    """The log-odds that being hidden gives, the same for all unknown pairs."""
    return float(reasons.hidden[U][0]) if U.any() else 0.0
