"""How an engine reached its answer: numbers that help to judge it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from graphprior.choices import EngineName


@dataclass(frozen=True)
class EngineFacts:
    """What an engine reports of its run; each has fields of its own."""


@dataclass(frozen=True)
class DirectFacts(EngineFacts):
    """Passes of prior and data, and the log-odds that being unknown gives a pair."""

    passes: int = 0
    hidden_log_odds: float = 0.0


@dataclass(frozen=True)
class GibbsFacts(EngineFacts):
    """As `DirectFacts`, and how the chains ran.

    ``r_hat`` and ``ess`` (effective sample size) are of the expected number of edges; None where
    there are too few chains or sweeps to tell, or nothing varies.
    """

    passes: int = 0
    kept_sweeps: int | None = None
    hidden_log_odds: float = 0.0
    r_hat: float | None = None
    ess: float | None = None


@dataclass(frozen=True)
class LangevinFacts(EngineFacts):
    """Levels of noise and steps, and the share of steps in which Theta_tilde was indefinite."""

    levels: int = 0
    steps: int = 0
    epsilon: float = 0.0
    levels_with_shorter_steps: int = 0
    indefinite_at_start: float = 0.0
    indefinite_by_level: Mapping[str, float] = field(default_factory=dict)
    indefinite_share: float = 0.0


FACTS: dict[str, type[EngineFacts]] = {
    EngineName.DIRECT: DirectFacts,
    EngineName.GIBBS: GibbsFacts,
    EngineName.LANGEVIN: LangevinFacts,
}
