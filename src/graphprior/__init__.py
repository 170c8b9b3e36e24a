"""Find the graph behind Gaussian data when part of it is known and examples exist."""

from importlib.metadata import version

from graphprior.engines.generate import draw_graphs
from graphprior.engines.gibbs import Sweeps
from graphprior.errors import GraphPriorError, GraphPriorWarning
from graphprior.estimate import PartialGGM
from graphprior.graphs import Problem
from graphprior.graphsets import read_graphs
from graphprior.known_files import read_beliefs, read_known
from graphprior.noise import Schedule
from graphprior.observations import read_observations
from graphprior.prior.store import load_prior, save_prior, shipped_priors
from graphprior.prior.training import TrainingConfig, fit_prior
from graphprior.result_folder import read_result
from graphprior.summaries import co_membership, expected_degrees, posterior_summary
from graphprior.transforms import Transform

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
