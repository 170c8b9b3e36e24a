"""Chains over precision matrices: the same posterior as other ways of computing it."""

import numpy as np
import pytest
from scipy.integrate import dblquad
from scipy.special import expit, logit

from graphprior import PartialGGM, evidence
from graphprior.chains import Chains
from graphprior.engines import direct, gibbs
from graphprior.errors import GraphPriorError
from graphprior.evidence import data_evidence
from graphprior.ggm import simulate_observations, simulate_precision
from graphprior.graphs import Problem, hide, nothing_known
from graphprior.marginal import MarginalLikelihood
from graphprior.prior.exact import IndependentEdges
from graphprior.quadratic import Coupled
from graphprior.slab import Slab
from graphprior.spike_slab import expectation_propagation
from oracles import random_graph

SLAB = Slab(0.08, 0.3)


@pytest.fixture
def many(monkeypatch):
    """Every problem is treated as one of many pairs."""
    return lambda: monkeypatch.setattr(evidence, "FEW", 0)


def problem_of(kind, n, k, seed, share=None):
    rng = np.random.default_rng(seed)
    if kind == "hub":
        A = np.zeros((n, n))
        A[:2] = A[:, :2] = 1
        np.fill_diagonal(A, 0)
        Theta = np.eye(n) + 0.9 / np.sqrt(2 * n) * A
    elif kind == "factor":
        L = rng.standard_normal((n, 2))
        V = L @ L.T
        A = (np.abs(V) > np.quantile(np.abs(V), 0.75)) * (1.0 - np.eye(n))
        V = A * V
        Theta = V + (0.1 - 1.2 * np.linalg.eigvalsh(V)[0]) * np.eye(n)
    elif kind == "near-singular":
        A = np.eye(n, k=1) + np.eye(n, k=-1)
        Theta = np.eye(n) + 0.499 * A
    else:
        A = random_graph(rng, n, 0.1 if kind == "sparse" else 0.25)
        Theta = simulate_precision(A, rng, tries=5000) if kind == "sparse" else _dominant(A, rng)
    known = nothing_known(n) if share is None else hide(A, rng, share=share)
    return Problem.create(simulate_observations(Theta, k, rng), known), A


def _dominant(A, rng):
    V = np.triu(rng.uniform(0.2, 0.6, A.shape) * rng.choice([-1, 1], A.shape) * A, 1)
    V = V + V.T
    return V + max(1.0, 0.1 - np.linalg.eigvalsh(V)[0]) * np.eye(len(A))


def test_of_two_variables_the_probability_is_that_of_exact_integration():
    """The integral of |Theta|**(k/2) exp(-k/2 tr S Theta) over both diagonal entries and the edge.

    The diagonal has a closed form given the strength t in units of its root, a Bessel function;
    here it is integrated numerically.
    """
    k = 9.0
    for r in (0.1, 0.35, 0.7):
        S = np.array([[1.0, r], [r, 1.0]])

        def density(x, y, S=S, t=0.0):
            det = x * y - t * t
            log = k / 2 * np.log(det) - k / 2 * (x + y + 2 * S[0, 1] * t) if det > 0 else -np.inf
            return np.exp(log + k)

        def diagonal(t, density=density):
            least = t * t
            inner = dblquad(
                lambda y, x: density(x, y, t=t), 0, 8, lambda x: min(least / max(x, 1e-9), 8.0), 8
            )
            return inner[0]

        grid = np.linspace(-1.6, 1.6, 33)
        values = np.array([diagonal(t) for t in grid])
        prior = np.exp(-(grid**2) / (2 * SLAB.variance)) / np.sqrt(2 * np.pi * SLAB.variance)
        exact = logit(SLAB.rate) + np.log(np.trapezoid(values * prior, grid) / diagonal(0.0))
        problem = Problem.create(np.random.default_rng(0).standard_normal((4, 2)))
        chains = Chains.create(problem, S, k, None)
        p = []
        for _ in range(12):
            chains, told = chains.beliefs(SLAB, np.full((2, 2), logit(SLAB.rate)))
            p.append(told.p[0])
        # Each run repeats the generators' draws from another state: runs are all but independent.
        assert abs(np.mean(p) - expit(exact)) < 4 * np.std(p) / np.sqrt(len(p)) + 0.01


def test_theta_and_what_is_known_of_it_stay_consistent(rng):
    problem, _ = problem_of("sparse", 12, 40, 3, share=0.5)
    chains = Chains.create(problem, np.corrcoef(problem.X.T), 39.0, None)
    chains, *_ = chains.learn(SLAB)
    for Theta, edges in chains.states:
        assert np.linalg.eigvalsh(Theta)[0] > 0
        np.testing.assert_array_equal(Theta, Theta.T)
        off = ~np.eye(12, dtype=bool)
        assert (Theta[(problem.known == 0) & off] == 0).all()
        assert (Theta[problem.known == 1] != 0).all()
        np.testing.assert_array_equal(edges & off, (Theta != 0) & off)


def test_shares_of_all_variables_are_as_many_rows():
    problem, _ = problem_of("sparse", 10, 60, 5)
    S, odds = np.corrcoef(problem.X.T), np.full((10, 10), logit(0.2))
    whole = Chains.create(problem, S, 15.0, None).beliefs(SLAB, odds)[1]
    shared = Chains.create(problem, S, 60.0, np.full(10, 0.5)).beliefs(SLAB, odds)[1]
    np.testing.assert_allclose(shared.p, whole.p, atol=1e-6)


@pytest.mark.parametrize("kind", ["dense", "sparse", "factor", "hub", "near-singular"])
@pytest.mark.parametrize("share", [None, 0.5])
def test_many_pairs_are_judged_as_few_are(kind, share, many, monkeypatch, record_property):
    """Nothing or half known, 30 nodes, 20 observations a node: probabilities and log-odds."""
    problem, _ = problem_of(kind, 30, 600, 7, share)
    monkeypatch.setattr(evidence, "FEW", 1500)
    few = data_evidence(problem)
    assert isinstance(few.likelihood, Coupled)
    many()
    drawn = data_evidence(problem)
    assert isinstance(drawn.likelihood, Chains)
    assert drawn.beliefs.converged
    gap = np.abs(few.beliefs.p - drawn.beliefs.p)
    odds = [np.clip(told.beliefs.log_bf, -6, 6) for told in (few, drawn)]
    off = float(np.sqrt(np.mean((odds[0] - odds[1]) ** 2)))
    record_property("mean_gap", float(gap.mean()))
    record_property("log_odds_gap", off)
    assert gap.mean() < 0.05
    assert off < 0.5


def test_more_variables_do_not_change_the_mind(many):
    """F1 of a sparse graph with strong edges stays as n passes the limit of the dense form."""
    for n in (50, 64):
        problem, A = problem_of("near-singular", n, 20 * n, 2)
        found = data_evidence(problem) if n == 50 else _drawn(problem, many)
        edges = found.matrix(found.beliefs.p) > 0.5
        hits = float((edges & (A == 1)).sum())
        assert 2 * hits / (edges.sum() + A.sum()) > 0.95


def _drawn(problem, many):
    many()
    return data_evidence(problem)


def test_the_same_data_give_the_same_answer_and_asking_changes_nothing(many):
    many()
    problem, _ = problem_of("sparse", 15, 100, 4, share=0.3)
    first, again = data_evidence(problem), data_evidence(problem)
    np.testing.assert_array_equal(first.log_bf, again.log_bf)
    odds = np.full((15, 15), logit(0.15))
    told = first.given(odds).beliefs.p
    np.testing.assert_array_equal(told, first.given(odds).beliefs.p)


def test_chains_that_stand_apart_are_reported(monkeypatch, many):
    """Two sweeps after starts as far apart as they can be: not settled, and it is said."""
    many()
    monkeypatch.setattr("graphprior.chains.MOST", 1)
    monkeypatch.setattr("graphprior.chains.FEWEST", 1)
    problem, _ = problem_of("factor", 40, 40, 1)
    found = data_evidence(problem)
    assert not found.beliefs.converged
    assert any("did not settle" in line for line in found.weaknesses(problem.names))


def test_direct_answers_with_many_pairs_much_as_with_few(many):
    problem, _ = problem_of("sparse", 15, 100, 4, share=0.3)
    prior, known = IndependentEdges(0.15), problem.known
    dense = direct.posterior_probabilities(known, prior, data_evidence(problem))
    many()
    drawn = direct.posterior_probabilities(known, prior, data_evidence(problem))
    gap = np.abs(drawn.edge_probabilities - dense.edge_probabilities)[problem.U]
    assert gap.mean() < 0.05


def test_what_needs_the_coupling_is_refused_in_clear_words(many, monkeypatch, rng):
    many()
    monkeypatch.setattr(evidence, "MOST_COUPLED", 0)
    problem, _ = problem_of("sparse", 15, 100, 4, share=0.3)
    drawn = data_evidence(problem)
    words = r"31 unknown pairs are too many .*\(at most 0\): use engine 'direct'"
    with pytest.raises(GraphPriorError, match=words):
        gibbs.sample(problem.known, IndependentEdges(0.2), drawn, rng, 2)
    with pytest.raises(GraphPriorError, match=words):
        MarginalLikelihood(drawn)


def test_with_nothing_known_the_rate_is_that_of_the_data():
    """No prior: a sparse graph gets few edges, a dense one many, not one in five."""
    expected = {}
    for kind in ("near-singular", "dense"):
        problem, A = problem_of(kind, 20, 400, 3)
        model = PartialGGM(random_state=0).fit(problem.X)
        expected[kind] = model.edge_probabilities_.sum() / A.sum()
    assert 0.9 < expected["near-singular"] < 1.6
    assert 0.7 < expected["dense"] < 1.6


@pytest.mark.parametrize("share", [None, 0.4])
def test_other_names_give_the_same_answer(share, many):
    """Draws follow the data, not the order of the columns."""
    many()
    problem, _ = problem_of("sparse", 18, 90, 6, share)
    order = np.random.default_rng(1).permutation(18)
    moved = Problem.create(problem.X[:, order], problem.known[np.ix_(order, order)])
    here, there = data_evidence(problem).log_bf, data_evidence(moved).log_bf
    np.testing.assert_allclose(there, here[np.ix_(order, order)], atol=1e-5)


def test_the_gaussian_form_is_there_for_those_who_ask(many):
    """F and b where chains stand are those of the rounds, when both have the same slab."""
    problem, _ = problem_of("sparse", 12, 400, 4, share=0.4)
    few = data_evidence(problem, fixed=SLAB)
    many()
    drawn = data_evidence(problem, fixed=SLAB)
    p = [expectation_propagation(*e.coupled, SLAB.variance, log_odds_of(e)).p for e in (few, drawn)]
    assert np.abs(p[0] - p[1]).max() < 0.03


def log_odds_of(e):
    return np.full(len(e.rows), logit(SLAB.rate))


@pytest.mark.parametrize("slack", [0.03, 0.1])
def test_slack_is_that_of_the_gaussian_form(slack, many):
    """Spikes of some width: beliefs of both ways agree, and strengths beside their errors."""
    problem, _ = problem_of("dense", 14, 700, 8, share=0.5)
    few = data_evidence(problem, fixed=SLAB, slack=slack)
    many()
    drawn = data_evidence(problem, fixed=SLAB, slack=slack)
    assert isinstance(few.likelihood, Coupled)
    assert isinstance(drawn.likelihood, Chains)
    gap = np.abs(few.beliefs.p - drawn.beliefs.p)
    assert gap.mean() < 0.03
    sure = few.beliefs.p > 0.5
    near = np.abs(few.beliefs.mean - drawn.beliefs.mean)[sure]
    assert near.max() < 0.06
    np.testing.assert_allclose(few.beliefs.variance[sure], drawn.beliefs.variance[sure], rtol=0.35)


def test_a_density_that_is_given_is_used():
    """It is the prior's rate: the same as independent edges of that rate, and it matters."""
    problem, _ = problem_of("sparse", 10, 40, 3)
    fits = [PartialGGM(density=d).fit(problem.X).edge_probabilities_ for d in (0.05, 0.4)]
    same = PartialGGM(IndependentEdges(0.4), hidden="at random").fit(problem.X)
    np.testing.assert_allclose(fits[1], same.edge_probabilities_, atol=1e-9)
    assert fits[0].sum() < 0.7 * fits[1].sum()
