"""All priors, engines and methods keep to the same rules, and so do the skeletons to copy."""

import numpy as np
import pytest

from conformance import check_engine, check_method, check_prior
from graphprior import Bootstrap, Direct, Gibbs, Langevin, Schedule, load_prior
from graphprior.paper.baselines.sklearn_cv import glasso_cv
from graphprior.paper.baselines.threshold import threshold_scores
from graphprior.paper.baselines.tiger import tiger
from graphprior.priors.exact import FiniteGraphs, IndependentEdges, StochasticBlocks
from oracles import random_graph, random_problem
from skeletons.baseline import correlation
from skeletons.engine import OnePass
from skeletons.prior import Gravity

N = 5
RNG = np.random.default_rng(0)
SHORT = Schedule.linear(L=2, T=3)
PRIORS = {
    "skeleton": Gravity(RNG.random((N, 2))),
    "independent": IndependentEdges(0.3),
    "blocks": StochasticBlocks([0, 0, 1, 1, 1], [[0.8, 0.1], [0.1, 0.6]]),
    "finite set": FiniteGraphs([random_graph(RNG, N, 0.5) for _ in range(200)]),
    "network": load_prior("egonets"),
}
ENGINES = {
    "skeleton": OnePass(),
    "direct": Direct(),
    "gibbs": Gibbs(3),
    "langevin": Langevin(3, schedule=SHORT, bootstrap=Bootstrap(samples=3)),
    "langevin, marginal": Langevin(3, "marginal", schedule=SHORT),
}
METHODS = {
    "skeleton": correlation, "Threshold": threshold_scores, "GLassoCV": glasso_cv, "TIGER": tiger,
}  # fmt: skip


@pytest.mark.parametrize("name", PRIORS)
def test_priors(name, rng):
    check_prior(PRIORS[name], N, rng, exact=name != "network")


@pytest.mark.parametrize("name", ENGINES)
def test_engines(name):
    _, problem = random_problem(np.random.default_rng(1), n=6, k=40)
    check_engine(ENGINES[name], problem, IndependentEdges(0.3))


@pytest.mark.parametrize("name", METHODS)
def test_methods(name):
    _, problem = random_problem(np.random.default_rng(1), n=6, k=40)
    check_method(METHODS[name], problem)
