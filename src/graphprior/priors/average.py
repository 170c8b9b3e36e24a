"""Several priors at once, each heard by its weight.

A prior is a hypothesis about what graphs look like. Where several are at hand, the answer is the
mean of theirs, with weights from how well each predicts what it is not shown (`fit_check`). One
that does not fit then costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from graphprior.errors import GraphPriorError
from graphprior.priors.protocol import EvidencePrior

NEGLIGIBLE = 0.01  # a weight below this share of the largest is not worth a pass


def mean_log_odds(each: Tensor, weights: Sequence[float]) -> Tensor:
    """Log-odds of the weighted mean of probabilities with log-odds ``each`` (C, ...)."""
    log_w = torch.as_tensor(np.log(weights)).to(each).view(-1, *[1] * (each.dim() - 1))
    yes = torch.logsumexp(log_w + logsigmoid(each), 0)
    no = torch.logsumexp(log_w + logsigmoid(-each), 0)
    return yes - no


class AveragedPrior(EvidencePrior):
    """The mean of the probabilities that several priors give."""

    def __init__(self, priors: Sequence[EvidencePrior], weights: Sequence[float]) -> None:
        if not len(priors) or len(priors) != len(weights):
            raise GraphPriorError(
                f"{len(priors)} priors and {len(weights)} weights: expected one weight for each"
            )
        if min(weights) <= 0 or not np.isclose(sum(weights), 1):
            raise GraphPriorError(
                f"weights {list(weights)}: expected positive numbers that sum to 1"
            )
        self.priors = tuple(priors)
        self.weights = tuple(float(w) for w in weights)
        self.nodes = next((p.nodes for p in priors if p.nodes is not None), None)
        self.allows_all_graphs = any(p.allows_all_graphs for p in priors)

    @classmethod
    def of(cls, priors: Sequence[EvidencePrior], weights: Sequence[float]) -> EvidencePrior:
        """The average without what weighs next to nothing; the prior itself where one is left."""
        least = NEGLIGIBLE * max(weights)
        kept = [(p, w) for p, w in zip(priors, weights, strict=True) if w >= least]
        if len(kept) == 1:
            return kept[0][0]
        total = sum(w for _, w in kept)
        return cls([p for p, _ in kept], [w / total for _, w in kept])

    def posterior_logits(self, ell: Tensor) -> Tensor:
        """Log-odds of the mean probability; known pairs stay known."""
        each = torch.stack([prior.posterior_logits(ell) for prior in self.priors])
        return torch.where(ell.isinf(), ell, mean_log_odds(each, self.weights))

    def share_out(self, count: int) -> list[int]:
        """How many of ``count`` chains each prior gets: its share, and one where there are enough.

        What is rounded goes to those that are furthest below their share.
        """
        wanted = np.array(self.weights) * count
        least = 1 if count >= len(wanted) else 0
        shares = np.maximum(np.floor(wanted), least).astype(int)
        while shares.sum() != count:
            short = wanted - shares
            if shares.sum() < count:
                shares[short.argmax()] += 1
            else:
                shares[np.where(shares > least, short, np.inf).argmin()] -= 1
        given: list[int] = shares.tolist()
        return given

    def memory(self, n: int, M: int) -> int:
        """What the largest needs, and the answers of all."""
        own = super().memory(n, M)
        return max(p.memory(n, M) for p in self.priors) + len(self.priors) * own


class ShiftedPrior(EvidencePrior):
    """A prior that expects more edges, or fewer: ``offset`` log-odds are added to all it says.

    ``excess`` are the log-odds by which it then still expects too many. They change no answer, but
    a prior that is off on known pairs must not tell how many of the unknown ones are edges.
    """

    def __init__(self, prior: EvidencePrior, offset: float, excess: float = 0.0) -> None:
        self.prior, self.offset, self.excess = prior, offset, excess
        self.nodes, self.allows_all_graphs = prior.nodes, prior.allows_all_graphs

    @classmethod
    def of(cls, prior: EvidencePrior, offset: float, excess: float = 0.0) -> EvidencePrior:
        """The prior itself where nothing is added."""
        return cls(prior, offset, excess) if offset or excess else prior

    def posterior_logits(self, ell: Tensor) -> Tensor:
        """What the prior says, and the offset; known pairs stay known."""
        return torch.where(ell.isinf(), ell, self.prior.posterior_logits(ell) + self.offset)

    def memory(self, n: int, M: int) -> int:
        """The prior's, and its answer."""
        return self.prior.memory(n, M) + super().memory(n, M)


def parts_of(prior: EvidencePrior) -> tuple[tuple[EvidencePrior, float], ...]:
    """The priors that are averaged, with their weights; one prior alone weighs 1."""
    if isinstance(prior, AveragedPrior):
        return tuple(zip(prior.priors, prior.weights, strict=True))
    return ((prior, 1.0),)
