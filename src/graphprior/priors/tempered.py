"""A prior believed only in part."""

from __future__ import annotations

import torch
from torch import Tensor

from graphprior.errors import GraphPriorError
from graphprior.priors.protocol import EvidencePrior


class TemperedPrior(EvidencePrior):
    """Between a prior (temperature 1) and independent edges at a rate (temperature 0).

    What the prior adds to a pair's own evidence is mixed, in log-odds, with the
    log-odds of the rate.
    """

    def __init__(self, prior: EvidencePrior, temperature: float, rate: float) -> None:
        if not 0 <= temperature <= 1 or not 0 < rate < 1:
            raise GraphPriorError(
                f"temperature = {temperature}, rate = {rate}: expected values between 0 and 1"
            )
        self.prior, self.temperature, self.nodes = prior, temperature, prior.nodes
        self.allows_all_graphs = prior.allows_all_graphs
        self.rate_log_odds = float(torch.logit(torch.tensor(rate, dtype=torch.float64)))

    def posterior_logits(self, ell: Tensor) -> Tensor:
        """The pair's own evidence plus the mixture; known pairs stay known."""
        known = ell.isinf()
        own = ell.masked_fill(known, 0.0)
        said = (self.prior.posterior_logits(ell) - own).masked_fill(known, 0.0)
        # A prior that is certain and not believed at all is not heard: 0 times infinity is nothing.
        heard = self.temperature * said if self.temperature > 0 else torch.zeros_like(said)
        eta = own + heard + (1 - self.temperature) * self.rate_log_odds
        return torch.where(known, ell, eta)

    def memory(self, n: int, M: int) -> int:
        """The prior's, and its answer."""
        return self.prior.memory(n, M) + super().memory(n, M)
