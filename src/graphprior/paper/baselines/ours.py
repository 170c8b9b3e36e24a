"""Ours: the evidence network with the strengths of edges integrated out, by each engine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphprior.engines.direct import Direct
from graphprior.engines.gibbs import Gibbs
from graphprior.engines.langevin import Langevin
from graphprior.engines.run import Engine
from graphprior.estimator import PartialGGM
from graphprior.paper.baselines.langevin import TRAINING_SETS, M, prior_once, relaxed
from graphprior.paper.baselines.protocol import Factory
from graphprior.problem.problem import Problem
from graphprior.results.metrics import on_unknown
from graphprior.types import Vector


@dataclass(frozen=True)
class Ours:
    """Edge probabilities of `PartialGGM`."""

    prior: str
    engine: Engine = Direct()  # noqa: RUF009 (frozen)
    use: str = "both"

    def __call__(self, problem: Problem, rng: np.random.Generator) -> Vector:
        """Posterior probabilities on the unknown pairs."""
        model = PartialGGM(
            prior_once(self.prior),
            engine=self.engine,
            use=self.use,
            random_state=rng,
        ).fit(problem.X, known=problem.known)
        return on_unknown(model.edge_probabilities_, problem.U)


def _learned_from(count: int) -> Factory:
    return lambda setting: Ours(setting.prior(f"evidence {count}"))


METHODS: dict[str, Factory] = {
    "direct": lambda setting: Ours(setting.prior("evidence")),
    "gibbs": lambda setting: Ours(setting.prior("evidence"), Gibbs(M)),
    "langevin": lambda setting: Ours(
        setting.prior("evidence"), Langevin(M, "marginal", relaxed(setting.T))
    ),
    "direct(no data)": lambda setting: Ours(setting.prior("evidence"), use="prior"),
    **{f"direct(|A|={count})": _learned_from(count) for count in TRAINING_SETS},
}
WITHOUT_DATA = frozenset({"direct(no data)"})
