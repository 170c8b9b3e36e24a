import shutil
import subprocess
import sys

import numpy as np
import pytest
from scipy.special import multigammaln
from sklearn.covariance import GraphicalLassoCV

from graphprior.errors import GraphPriorError
from graphprior.evidence.precision import standardise
from graphprior.gaussian.linalg import partial_correlations
from graphprior.gaussian.simulate import simulate_observations
from graphprior.graphs.matrices import hide, pairs, unvech, vech
from graphprior.paper.baselines import bdgraph
from graphprior.paper.baselines.protocol import Setting
from graphprior.paper.baselines.registry import factory, methods
from graphprior.paper.baselines.sklearn_cv import glasso_cv
from graphprior.priors.exact import all_graphs
from graphprior.problem.problem import Problem
from graphprior.results.metrics import auc, on_unknown
from oracles import random_problem, relabel

NEEDS_R = pytest.mark.skipif(
    not bdgraph.available(), reason="needs Rscript with BDgraph: apt install r-cran-bdgraph"
)


def chain(rng, n=8, k=400, share=0.5):
    """Strong data of a chain, a share of it unknown."""
    A = np.eye(n, k=1) + np.eye(n, k=-1)
    X = simulate_observations(np.eye(n) + 0.4 * A, k, rng)
    return A, Problem.create(X, hide(A, rng, share=share))


def without_packages(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch_geometric.nn", None)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    bdgraph.available.cache_clear()


@pytest.fixture(autouse=True)
def _look_for_r_again():
    yield
    bdgraph.available.cache_clear()


# Registry


@pytest.mark.parametrize("name", ["GraphSAGE", "BDgraph"])
def test_a_method_without_its_package_is_listed_and_says_what_to_install(rng, monkeypatch, name):
    without_packages(monkeypatch)
    methods.cache_clear()
    assert name in methods()
    method = factory(name)(Setting())
    with pytest.raises(GraphPriorError, match="install"):
        method(random_problem(rng)[1], rng)


def test_a_method_that_does_not_exist_is_answered_with_those_that_do():
    with pytest.raises(GraphPriorError, match="TIGER"):
        factory("LASSIE")


@pytest.mark.parametrize("name", ["TIGER", "GLassoCV"])
def test_relabelling_relabels_the_scores_on_the_unknown_pairs(rng, name):
    """Holds only if scores come in the order of vech."""
    method = factory(name)(Setting())
    _, problem = random_problem(rng, n=8, k=60)
    order = rng.permutation(8)
    other = Problem.create(problem.X[:, order], relabel(problem.known, order))
    whole = np.zeros(28)
    whole[vech(problem.U)] = method(problem, rng)
    moved = np.zeros(28)
    moved[vech(other.U)] = method(other, rng)
    np.testing.assert_allclose(unvech(moved), relabel(unvech(whole), order), atol=1e-3)


# scikit-learn


def test_scores_are_the_partial_correlations_of_scikit_learns_lasso(rng):
    A, problem = chain(rng)
    Theta = GraphicalLassoCV().fit(standardise(problem.X)).precision_
    scores = glasso_cv(problem, rng)
    np.testing.assert_allclose(scores, on_unknown(np.abs(partial_correlations(Theta)), problem.U))
    np.testing.assert_array_equal(scores == 0, on_unknown(Theta, problem.U) == 0)
    assert auc(on_unknown(A, problem.U), scores) == 1.0
    assert ((scores >= 0) & (scores <= 1)).all()


def test_units_do_not_matter(rng):
    X = chain(rng, k=60)[1].X
    scaled = X * rng.uniform(0.01, 100, 8) + rng.normal(0, 50, 8)
    np.testing.assert_allclose(
        glasso_cv(Problem.create(X), rng), glasso_cv(Problem.create(scaled), rng), atol=1e-6
    )


def test_too_few_observations_for_the_folds_are_an_error(rng):
    with pytest.raises(GraphPriorError, match=r"k = 3.*five observations"):
        glasso_cv(Problem.create(rng.standard_normal((3, 6))), rng)


# BDgraph


def exact_links(X, b=3.0):
    """Edge probabilities of three variables under BDgraph's model, by listing the eight graphs.

    Theta ~ W_G(b, I), edges at even odds. All graphs of three nodes are decomposable, so
    the marginal likelihood is that of the cliques over that of the separators.
    """
    k, S = len(X), X.T @ X

    def log_marginal(c):
        c = sorted(c)
        d = len(c)

        def log_constant(df, D):
            a = (df + d - 1) / 2
            return a * d * np.log(2) + multigammaln(a, d) - a * np.linalg.slogdet(D)[1]

        D = np.eye(d)
        return log_constant(b + k, D + S[np.ix_(c, c)]) - log_constant(b, D) if d else 0.0

    def log_p(A):
        edges = [{int(i), int(j)} for i, j in zip(*pairs(3), strict=True) if A[i, j]]
        if len(edges) == 3:
            return log_marginal({0, 1, 2})
        alone = {0, 1, 2} - set().union(*edges)
        separator = set.intersection(*edges) if len(edges) == 2 else set()
        return sum(map(log_marginal, [*edges, *({i} for i in alone)])) - log_marginal(separator)

    graphs = all_graphs(3)
    weights = np.array([log_p(A) for A in graphs])
    p = np.exp(weights - weights.max())
    return np.tensordot(p / p.sum(), graphs, 1)


@NEEDS_R
def test_bdgraph_comes_near_the_exact_posterior_of_three_variables(rng):
    """Its sampler approximates a ratio of constants: 0.07 off here (its "bd-dmh": 0.02)."""
    Theta = np.array([[1, 0.35, 0], [0.35, 1, 0.2], [0, 0.2, 1.0]])
    problem = Problem.create(simulate_observations(Theta, 25, rng))
    links = bdgraph.link_probabilities(problem, rng, iterations=40000)
    exact = exact_links(standardise(problem.X))
    assert 0.1 < vech(exact).min() < vech(exact).max() < 0.6
    np.testing.assert_allclose(vech(links), vech(exact), atol=0.1)


@NEEDS_R
def test_bdgraph_keeps_what_is_known_and_finds_strong_edges(rng):
    A, problem = chain(rng)
    links = bdgraph.link_probabilities(problem, rng, iterations=2000)
    np.testing.assert_array_equal(links[problem.O], problem.known[problem.O])
    unknown = on_unknown(links, problem.U)
    assert ((unknown > 0.5) == (on_unknown(A, problem.U) == 1)).all()
    np.testing.assert_array_equal(links, links.T)


@NEEDS_R
def test_what_is_known_holds_against_the_data(rng):
    """Edges of a chain that are declared absent stay absent, and absent ones present."""
    A, problem = chain(rng, share=0.0)
    known = 1 - A - np.eye(8)
    known[0, 2] = known[2, 0] = np.nan
    links = bdgraph.link_probabilities(Problem.create(problem.X, known), rng, iterations=500)
    assert (links == known)[~np.isnan(known)].all()


@NEEDS_R
def test_the_seed_decides(rng):
    _, problem = chain(rng, k=20)
    runs = [
        bdgraph.link_probabilities(problem, np.random.default_rng(s), iterations=300)
        for s in (0, 0, 1)
    ]
    np.testing.assert_array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])


@NEEDS_R
def test_what_r_says_is_passed_on(rng):
    with pytest.raises(GraphPriorError, match="must be more than 2"):
        bdgraph.bdgraph(Problem.create(rng.standard_normal((9, 2))), rng)


@NEEDS_R
def test_a_run_that_takes_too_long_is_ended(rng):
    with pytest.raises(GraphPriorError, match=r"0\.01 seconds"):
        bdgraph.link_probabilities(chain(rng)[1], rng, timeout=0.01)


def test_few_unknown_pairs_change_one_by_one(rng):
    X = rng.standard_normal((9, 50))
    A = np.zeros((50, 50))
    jumps = [bdgraph.jump(Problem.create(X, hide(A, rng, count=c))) for c in (1, 39, 60, 1225)]
    assert jumps == [1, 1, 3, 5]


def test_rscript_without_the_package_counts_as_missing(monkeypatch):
    bdgraph.available.cache_clear()
    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/Rscript")
    ended = subprocess.CompletedProcess([], returncode=1)
    monkeypatch.setattr(subprocess, "run", lambda *arguments, **options: ended)
    assert not bdgraph.available()


def test_nothing_unknown_needs_no_chain(rng, monkeypatch):
    monkeypatch.setattr(bdgraph, "available", lambda: True)
    A, problem = random_problem(rng)
    assert bdgraph.bdgraph(Problem.create(problem.X, A), rng).shape == (0,)
