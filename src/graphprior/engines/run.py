"""One door to all engines: a problem, a prior and settings in, a Posterior out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from graphprior.engines.direct import posterior_probabilities
from graphprior.engines.gibbs import Sweeps, sample
from graphprior.engines.langevin import sample_graphs
from graphprior.engines.posterior import Posterior
from graphprior.errors import GraphPriorError
from graphprior.evidence.evidence import Evidence
from graphprior.evidence.marginal import MarginalLikelihood
from graphprior.evidence.plug_in import Likelihood, PlugInLikelihood
from graphprior.evidence.precision import PrecisionEstimate
from graphprior.priors.noise import Schedule
from graphprior.priors.protocol import EvidencePrior, Prior
from graphprior.problem.problem import Problem

ENGINES = ("direct", "gibbs", "langevin")


@dataclass(frozen=True)
class Settings:
    """How an engine runs; each reads what concerns it."""

    engine: str = "direct"
    M: int = 10
    schedule: Schedule | None = None
    sweeps: Sweeps | None = None
    by_value: bool = True
    device: str = "cpu"
    progress: Callable[[int, int], None] | None = None


def needs_evidence_prior(prior: Prior | None, settings: Settings) -> EvidencePrior:
    """The prior, if it can answer evidence."""
    if not isinstance(prior, EvidencePrior):
        raise GraphPriorError(
            f"engine {settings.engine!r} asks the prior for posterior log-odds, and a prior of "
            f"kind {getattr(prior, 'kind', type(prior).__name__)!r} gives scores only: "
            "use engine 'langevin', or a prior of kind 'evidence'"
        )
    return prior


def run(
    problem: Problem,
    prior: Prior | None,
    data: Evidence | PrecisionEstimate | None,
    rng: np.random.Generator,
    settings: Settings,
) -> Posterior:
    """The posterior by the engine chosen.

    ``data`` speak as evidence (strengths integrated out), as the constrained
    estimate that the plug-in likelihood is built on, or not at all.
    """
    s = settings
    evidence = data if isinstance(data, Evidence) else None
    if s.engine == "direct":
        able = needs_evidence_prior(prior, s)
        return posterior_probabilities(
            problem.known, able, evidence, by_value=s.by_value, device=s.device,
            progress=s.progress, belief=problem.belief,
        )  # fmt: skip
    if s.engine == "gibbs":
        able = needs_evidence_prior(prior, s)
        return sample(
            problem.known, able, evidence, rng, s.M, s.sweeps, s.by_value, s.device, s.progress,
            problem.belief,
        )  # fmt: skip
    likelihood: Likelihood | None = None
    if evidence is not None:
        likelihood = MarginalLikelihood(evidence, s.device)
    elif isinstance(data, PrecisionEstimate):
        likelihood = PlugInLikelihood.create(data.Theta, data.S, data.k, device=s.device)
    return sample_graphs(
        problem.known, prior, likelihood, rng, s.M, s.schedule, s.device, s.progress,
        problem.belief,
    )  # fmt: skip
