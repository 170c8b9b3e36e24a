"""An engine of your own, to copy: one pass of the prior over the data's evidence.

What it must keep to is in tests/conformance.py (`check_engine`). It is a value: its settings are
its fields, and `PartialGGM(engine=OnePass())` takes it as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from graphprior.engines.posterior import Posterior
from graphprior.priors.protocol import Prior, ask, needs_evidence_prior
from graphprior.problem.problem import Problem
from graphprior.types import Progress


@dataclass(frozen=True)
class OnePass:
    """The prior's answer to the data's log Bayes factors, ``trust`` times as strong.

    Parameters
    ----------
    trust : float
        1 takes the data as they are.
    """

    trust: float = 1.0
    draws = 0  # graphs drawn: none
    plugs_in = False  # it takes evidence, no precision matrix that is plugged in

    def __call__(
        self, problem: Problem, prior: Prior | None, data: Any, rng: np.random.Generator,
        device: str = "cpu", progress: Progress | None = None,
    ) -> Posterior:  # fmt: skip
        """The posterior; ``data`` is None where the prior is followed alone."""
        able = needs_evidence_prior(prior, "one pass")
        told = np.zeros((problem.n, problem.n)) if data is None else self.trust * data.log_bf
        eta = ask(able, problem.known, told + problem.belief, device)
        P = np.where(problem.U, expit(eta), np.nan_to_num(problem.known))
        none_drawn = np.zeros((0, problem.n, problem.n), np.uint8)
        return Posterior(P, P, P, none_drawn, evidence=data)
