"""Find the graph behind Gaussian data when part of it is known and examples exist."""

from importlib.metadata import version

from graphprior.engines.generate import draw_graphs
from graphprior.engines.gibbs import Sweeps
from graphprior.errors import GraphPriorError, GraphPriorWarning
from graphprior.estimator import PartialGGM
from graphprior.io.graph_sets import read_graphs
from graphprior.io.known import read_beliefs, read_known
from graphprior.io.observations import read_observations
from graphprior.observations.transforms import Transform
from graphprior.priors.noise import Schedule
from graphprior.priors.store import load_prior, save_prior, shipped_priors
from graphprior.priors.training.training import TrainingConfig, fit_prior
from graphprior.problem.problem import Problem
from graphprior.results.folder import read_result
from graphprior.results.summaries import co_membership, expected_degrees, posterior_summary

__version__ = version("graphprior")

__all__ = [
    "GraphPriorError",
    "GraphPriorWarning",
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
