"""One door to all engines: a problem, a prior and data in, a Posterior out."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Protocol

import numpy as np

from graphprior.choices import EngineName
from graphprior.engines.direct import Direct
from graphprior.engines.gibbs import Gibbs
from graphprior.engines.langevin import Langevin
from graphprior.engines.posterior import Posterior
from graphprior.errors import GraphPriorError
from graphprior.evidence.evidence import Evidence
from graphprior.evidence.precision import PrecisionEstimate
from graphprior.priors.protocol import Prior
from graphprior.problem.problem import Problem
from graphprior.types import Progress

Data = Evidence | PrecisionEstimate | None
ENGINES: dict[EngineName, type[Any]] = {
    EngineName.DIRECT: Direct,
    EngineName.GIBBS: Gibbs,
    EngineName.LANGEVIN: Langevin,
}


class Engine(Protocol):
    """How the posterior is found: a value with its own settings.

    ``draws`` graphs are drawn at once, 0 where there are none. An engine that ``plugs_in`` takes
    the constrained estimate as data, others the evidence of each pair.
    """

    @property
    def draws(self) -> int:
        """Graphs drawn."""
        ...

    @property
    def plugs_in(self) -> bool:
        """Whether the data are a precision matrix that is plugged in."""
        ...

    def __call__(
        self,
        problem: Problem,
        prior: Prior | None,
        data: Data,
        rng: np.random.Generator,
        device: str = "cpu",
        progress: Progress | None = None,
    ) -> Posterior:
        """The posterior; ``data`` is None where the prior is followed alone."""
        ...


def resolve_engine(engine: Any) -> Engine:
    """An engine, or the one of that name with its usual settings."""
    if isinstance(engine, str):
        return engine_of(engine)
    has_all = all(hasattr(engine, name) for name in ("draws", "plugs_in"))
    if isinstance(engine, type) or not callable(engine) or not has_all:
        raise GraphPriorError(
            f"engine = {engine!r}: expected one of {list(EngineName)}, or an engine such as "
            "Gibbs(draws=100)"
        )
    chosen: Engine = engine
    return chosen


def engine_of(name: str, **settings: Any) -> Engine:
    """The engine of a name; a setting that it does not have is an error that says which has it."""
    chosen = EngineName.of("engine", name)
    for setting in settings:
        having = [other for other, kind in ENGINES.items() if setting in _settings(kind)]
        if chosen not in having:
            raise GraphPriorError(
                f"{setting} = {settings[setting]!r} does not apply to engine {name!r}; "
                f"{' and '.join(repr(other) for other in having) or 'none'} "
                f"{'have' if len(having) > 1 else 'has'} it"
            )
    engine: Engine = ENGINES[chosen](**settings)
    return engine


def engine_name(engine: Engine) -> str:
    """The name of an engine: that of the table, or its class."""
    names = [name for name, kind in ENGINES.items() if type(engine) is kind]
    return names[0] if names else type(engine).__name__


def _settings(kind: type[Any]) -> set[str]:
    return {field.name for field in fields(kind)}
