"""What a prior over graphs is asked.

The sampler asks for the score of noisy graphs when part of the graph is
known. A prior that can turn evidence about pairs into posterior log-odds
answers that, and more, from one function; the score then follows from
Tweedie's formula.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from graphprior.errors import GraphPriorError
from graphprior.graphs.matrices import unknown_mask
from graphprior.priors.noise import noise_log_odds, tweedie_score
from graphprior.types import Matrix, Score

LogOdds = Callable[[Tensor], Tensor]


class Prior(Protocol):
    """A distribution over graphs, seen through its score."""

    def score(self, known: Tensor) -> Score:
        """The score of noisy graphs whose ``known`` (n, n) entries are 0, 1 or nan."""
        ...

    def memory(self, n: int, M: int) -> int:
        """Bytes needed to score M graphs of n nodes at once."""
        ...


class EvidencePrior(ABC):
    """A prior given by what it makes of evidence: ``posterior_logits``.

    ``nodes`` is the number of nodes it is about, None where any number will do.
    ``allows_all_graphs`` is False where some graphs are impossible: pairs must
    then be drawn one by one. ``is_learned`` is True where it was learned from examples, so that
    it may not fit another graph. ``name`` is what it is called in words, None for its class.
    """

    nodes: int | None = None
    allows_all_graphs: bool = True
    is_learned: bool = False
    name: str | None = None

    @abstractmethod
    def posterior_logits(self, ell: Tensor) -> Tensor:
        """eta with sigmoid(eta_ij) = P(A_ij = 1 | evidence ``ell``), (..., n, n).

        ``ell[i, j]`` is the log-odds that evidence about the pair alone gives:
        0 for nothing, +inf or -inf for a known edge or non-edge.
        """

    def score(self, known: Tensor, data: LogOdds | None = None) -> Score:
        """Tweedie's score: known entries are evidence without noise.

        With ``data``, log-odds that depend on the noisy graph, it is the score of
        the posterior: the data are one more piece of evidence about each pair.
        """
        certain = torch.where(known == 1, torch.inf, -torch.inf)

        def score(A_tilde: Tensor, sigma: float) -> Tensor:
            told = noise_log_odds(A_tilde, sigma)
            told = told if data is None else told + data(A_tilde)
            ell = torch.where(known.isnan(), told, certain)
            return tweedie_score(self.posterior_logits(ell).sigmoid(), A_tilde, sigma)

        return score

    def memory(self, n: int, M: int) -> int:
        """A few (M, n, n) arrays of doubles."""
        return 8 * 8 * M * n * n


def certain_log_odds(known: Matrix) -> Matrix:
    """Infinite log-odds where an entry is known, 0 elsewhere."""
    return np.where(known == 1, np.inf, np.where(np.isnan(known), 0.0, -np.inf))


def ask(prior: EvidencePrior, known: Matrix, told: Matrix, device: str | torch.device) -> Matrix:
    """Posterior log-odds (..., n, n) with ``told`` about unknown pairs, 0 on known ones."""
    U = unknown_mask(known)
    ell = np.where(U, told, certain_log_odds(known))
    eta = prior.posterior_logits(torch.as_tensor(ell, dtype=torch.float64, device=device))
    return np.where(U, eta.cpu().numpy(), 0.0)


def needs_evidence_prior(prior: Prior | None, engine: str) -> EvidencePrior:
    """The prior, if it can answer evidence."""
    if not isinstance(prior, EvidencePrior):
        raise GraphPriorError(
            f"engine {engine!r} asks the prior for posterior log-odds, and a prior of "
            f"kind {getattr(prior, 'kind', type(prior).__name__)!r} gives scores only: "
            "use engine 'langevin', or a prior of kind 'evidence'"
        )
    return prior
