"""Estimate the graph behind data when part of it is known, or when similar graphs are known.

Each name is imported when it is first used, so that ``import graphprior`` does not load torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphprior.engines.bootstrap import Bootstrap
    from graphprior.engines.direct import Direct
    from graphprior.engines.generate import draw_graphs
    from graphprior.engines.gibbs import Gibbs, Sweeps
    from graphprior.engines.langevin import Langevin
    from graphprior.errors import GraphPriorError, GraphPriorWarning
    from graphprior.estimator import PartialGGM
    from graphprior.io.graph_sets import read_graphs
    from graphprior.io.known import read_beliefs, read_known
    from graphprior.io.observations import read_observations
    from graphprior.observations.transforms import Transform
    from graphprior.priors.noise import Schedule
    from graphprior.priors.store import load_prior, save_prior, shipped_priors
    from graphprior.priors.training.fit import fit_prior
    from graphprior.priors.training.training import TrainingConfig
    from graphprior.problem.problem import Problem
    from graphprior.results.folder import read_result
    from graphprior.results.summaries import co_membership, expected_degrees, posterior_summary

__all__ = [
    "Bootstrap",
    "Direct",
    "Gibbs",
    "GraphPriorError",
    "GraphPriorWarning",
    "Langevin",
    "PartialGGM",
    "Problem",
    "Schedule",
    "Sweeps",
    "TrainingConfig",
    "Transform",
    "co_membership",
    "draw_graphs",
    "expected_degrees",
    "fit_prior",
    "load_prior",
    "posterior_summary",
    "read_beliefs",
    "read_graphs",
    "read_known",
    "read_observations",
    "read_result",
    "save_prior",
    "shipped_priors",
]

_HOME = {
    "Bootstrap": "engines.bootstrap",
    "Direct": "engines.direct",
    "Gibbs": "engines.gibbs",
    "GraphPriorError": "errors",
    "GraphPriorWarning": "errors",
    "Langevin": "engines.langevin",
    "PartialGGM": "estimator",
    "Problem": "problem.problem",
    "Schedule": "priors.noise",
    "Sweeps": "engines.gibbs",
    "TrainingConfig": "priors.training.training",
    "Transform": "observations.transforms",
    "co_membership": "results.summaries",
    "draw_graphs": "engines.generate",
    "expected_degrees": "results.summaries",
    "fit_prior": "priors.training.fit",
    "load_prior": "priors.store",
    "posterior_summary": "results.summaries",
    "read_beliefs": "io.known",
    "read_graphs": "io.graph_sets",
    "read_known": "io.known",
    "read_observations": "io.observations",
    "read_result": "results.folder",
    "save_prior": "priors.store",
    "shipped_priors": "priors.store",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("graphprior")
    if name not in _HOME:
        raise AttributeError(f"module 'graphprior' has no attribute {name!r}")
    value = getattr(import_module(f"graphprior.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
