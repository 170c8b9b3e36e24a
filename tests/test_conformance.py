"""All priors, engines and methods keep to the same rules, and so do the skeletons to copy."""

import numpy as np
import pytest

from conformance import check_engine, check_method, check_prior
from graphprior import Bootstrap, Direct, Gibbs, Langevin, PartialGGM, Schedule, load_prior
from graphprior.errors import notes
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


@pytest.mark.parametrize("engine", [Direct(), Gibbs(10)], ids=["direct", "gibbs"])
@pytest.mark.parametrize("use", ["both", "prior"])
def test_a_prior_that_forbids_graphs_is_obeyed(engine, use):
    """Pairs are drawn one by one: together they would make graphs that are not in the set."""
    matching = np.kron(np.eye(3), np.array([[0.0, 1.0], [1.0, 0.0]]))
    prior = FiniteGraphs.up_to_relabelling([matching])
    _, problem = random_problem(np.random.default_rng(1), n=6, k=40)
    with notes():
        model = PartialGGM(prior, engine=engine, use=use, random_state=0).fit(problem.X)
    assert (model.samples_.sum(axis=1) == 1).all()
    assert model.edge_probabilities_.sum(axis=1) == pytest.approx(1.0, abs=0.1)
