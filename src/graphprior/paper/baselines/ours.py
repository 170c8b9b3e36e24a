"""Ours: the evidence network with the strengths of edges integrated out, by each engine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphprior.engines.run import Engine, engine_of
from graphprior.estimator import PartialGGM
from graphprior.paper.baselines.langevin import (
    TRAINING_SETS,
    USE,
    M,
    Variant,
    prior_once,
    relaxed,
)
from graphprior.paper.baselines.protocol import Factory
from graphprior.priors.noise import Schedule
from graphprior.problem.problem import Problem
from graphprior.results.metrics import on_unknown
from graphprior.types import Vector


@dataclass(frozen=True)
class Ours:
    """Edge probabilities of `PartialGGM`."""

    prior: str
    engine: str = "direct"
    variant: Variant = "LPost"
    schedule: Schedule | None = None

    def __call__(self, problem: Problem, rng: np.random.Generator) -> Vector:
        """Posterior probabilities on the unknown pairs."""
        model = PartialGGM(
            prior_once(self.prior),
            engine=self._engine(),
            use=USE[self.variant],
            prior_weight="full",
            random_state=rng,
        ).fit(problem.X, known=problem.known)
        return on_unknown(model.edge_probabilities_, problem.U)

    def _engine(self) -> Engine:
        if self.engine == "direct":
            return engine_of("direct")
        if self.engine == "gibbs":
            return engine_of("gibbs", draws=M)
        return engine_of("langevin", draws=M, likelihood="marginal", schedule=self.schedule)


def _learned_from(count: int) -> Factory:
    return lambda setting: Ours(setting.prior(f"evidence {count}"))


METHODS: dict[str, Factory] = {
    "direct": lambda setting: Ours(setting.prior("evidence")),
    "gibbs": lambda setting: Ours(setting.prior("evidence"), "gibbs"),
    "langevin": lambda setting: Ours(
        setting.prior("evidence"), "langevin", schedule=relaxed(setting.T)
    ),
    "direct(no data)": lambda setting: Ours(setting.prior("evidence"), "direct", "LPr"),
    **{f"direct(|A|={count})": _learned_from(count) for count in TRAINING_SETS},
}
WITHOUT_DATA = frozenset({"direct(no data)"})
