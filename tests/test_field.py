import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logit

from graphprior import evidence, field
from graphprior.covariance import sample_covariance
from graphprior.engines import direct, gibbs
from graphprior.errors import GraphPriorError
from graphprior.evidence import data_evidence, integrate_out, linearise
from graphprior.field import Field, field_beliefs
from graphprior.ggm import simulate_observations, simulate_precision
from graphprior.graphs import Problem, hide
from graphprior.marginal import MarginalLikelihood
from graphprior.prior.exact import IndependentEdges
from graphprior.spike_slab import expectation_propagation
from oracles import random_graph, random_precision

S2 = 0.08


def both(rng, n, k, share, density=0.2):
    """The same likelihood of the unknown pairs twice: without and with a matrix of its own."""
    A = random_graph(rng, n, density)
    Theta = random_precision(rng, A)
    problem = Problem.create(simulate_observations(Theta, k, rng), hide(A, rng, share=share))
    unknown = np.nonzero(np.triu(problem.U))
    edges = np.nonzero(np.triu(problem.known == 1))
    nuisance = tuple(np.concatenate([np.arange(n), part]) for part in edges)
    ridge = np.concatenate([np.zeros(n), np.full(len(edges[0]), 1 / S2)])
    S = sample_covariance(problem.X)
    unit = np.sqrt(np.diag(Theta))
    Theta, S = Theta / np.outer(unit, unit), S * np.outer(unit, unit)
    rows, cols = (np.concatenate(parts) for parts in zip(nuisance, unknown, strict=True))
    told = linearise(Theta, S, k, rows, cols)
    dense = integrate_out(told.F, told.b, np.arange(len(rows)) < len(ridge), ridge)[:4]
    return Field.create(np.linalg.inv(Theta), S, k, unknown, nuisance, ridge), *dense


@settings(max_examples=25)
@given(st.integers(3, 12), st.floats(0.1, 1.0), st.integers(0, 999))
def test_products_are_those_of_the_matrix_of_pairs_by_pairs(n, share, seed):
    """Nuisance integrated out in both; the diagonal is computed in single precision."""
    rng = np.random.default_rng(seed)
    thin, F, b, slope, at_zero = both(rng, n, 40, share)
    strength = rng.standard_normal(len(b))
    size = 1 + np.abs(F).sum(1)
    assert (np.abs(thin.product(strength) - F @ strength) < 1e-6 * size).all()
    np.testing.assert_allclose(thin.shift(), b, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(thin.precision, np.diag(F), rtol=1e-3)
    np.testing.assert_allclose(
        thin.nuisance_mean(strength), slope @ strength + at_zero, rtol=1e-4, atol=1e-6
    )


def test_a_few_pairs_at_a_time_or_all_at_once(rng, monkeypatch):
    seed = int(rng.integers(1000))
    whole = both(np.random.default_rng(seed), 9, 40, 0.6)[0].precision
    monkeypatch.setattr(field, "CHUNK", 4)
    parts = both(np.random.default_rng(seed), 9, 40, 0.6)[0].precision
    assert len(whole) > 12
    np.testing.assert_allclose(parts, whole, rtol=1e-5)


def test_conjugate_gradients_solve_the_system(rng):
    """To a thousandth, measured by how well each entry is known."""
    thin, F, b, *_ = both(rng, 12, 40, 0.5)
    r = rng.uniform(5, 500, len(b))
    found = field._solve(thin, r, b, np.zeros(len(b)))
    exact = np.linalg.solve(F + np.diag(r), b)
    error, scale = found - exact, np.sqrt(1 / (np.diag(F) + r))
    assert np.linalg.norm(error / scale) < 5e-3 * np.linalg.norm(exact / scale)


def test_the_cavity_is_right_to_first_order_in_the_others_variance(rng):
    """1 / (diagonal of the inverse) less the pair's own, when all others are pinned near 0."""
    thin, F, b, *_ = both(rng, 12, 40, 0.5)
    pinned = np.full(len(b), 1e-6)
    np.testing.assert_allclose(thin.cavity_precision(pinned), thin.precision, rtol=1e-3)
    r = np.full(len(b), 100.0)
    exact = 1 / np.diag(np.linalg.inv(F + np.diag(r))) - r
    found = thin.cavity_precision(1 / (thin.precision + r))
    assert (found <= thin.precision + 1e-9).all()
    assert np.abs(found / exact - 1).mean() < np.abs(thin.precision / exact - 1).mean() / 3
    np.testing.assert_allclose(found, exact, rtol=0.03)


def test_beliefs_are_near_those_of_full_expectation_propagation(record_property):
    """A sparse problem: 15 nodes, 15% unknown, 100 observations."""
    gaps, ignored = [], []
    for seed in range(10):
        thin, F, b, *_ = both(np.random.default_rng(seed), 15, 100, 0.15, 0.15)
        odds = np.full(len(b), logit(0.2))
        found = field_beliefs(thin, S2, odds)
        exact = expectation_propagation(F, b, S2, odds)
        assert found.converged
        gaps.append(np.abs(found.p - exact.p))
        alone = expectation_propagation(np.diag(np.diag(F)), b, S2, odds)
        ignored.append(np.abs(alone.p - exact.p))
    record_property("mean_gap", np.mean(gaps))
    record_property("largest_gap", np.max(gaps))
    record_property("mean_gap_with_the_others_ignored", np.mean(ignored))
    assert np.mean(gaps) < 0.005
    assert np.max(gaps) < 0.05
    assert np.mean(gaps) < np.mean(ignored) / 2


def test_beliefs_may_start_where_others_ended(rng):
    thin, _, b, *_ = both(rng, 12, 60, 0.4)
    odds = np.full(len(b), logit(0.2))
    first = field_beliefs(thin, S2, odds)
    again = field_beliefs(thin, S2, odds, first.sites)
    far = field_beliefs(thin, S2, odds, (np.full(len(b), 1e4), np.full(len(b), 30.0)))
    assert first.converged
    assert again.iterations <= first.iterations
    np.testing.assert_allclose(again.p, first.p, atol=0.05)
    np.testing.assert_allclose(far.p, first.p, atol=0.05)


@pytest.fixture
def sparse_problem():
    rng = np.random.default_rng(4)
    A = random_graph(rng, 15, 0.15)
    X = simulate_observations(simulate_precision(A, rng, tries=5000), 100, rng)
    return Problem.create(X, hide(A, rng, share=0.3))


def test_evidence_of_many_pairs_is_near_that_of_few(sparse_problem, monkeypatch, record_property):
    dense = data_evidence(sparse_problem)
    monkeypatch.setattr(evidence, "MOST_COUPLED", 1)
    thin = data_evidence(sparse_problem)
    assert isinstance(thin.likelihood, Field)
    odds = np.full((15, 15), logit(0.15))
    gap = np.abs(thin.given(odds).beliefs.p - dense.given(odds).beliefs.p)
    record_property("mean_gap", gap.mean())
    record_property("largest_gap", gap.max())
    record_property("ratio_of_slab_variances", thin.slab.variance / dense.slab.variance)
    record_property("ratio_of_rates", thin.slab.rate / dense.slab.rate)
    assert gap.mean() < 0.03
    assert abs(np.log(thin.slab.variance / dense.slab.variance)) < 0.5


def test_direct_answers_with_many_pairs_much_as_with_few(sparse_problem, monkeypatch):
    prior, known = IndependentEdges(0.15), sparse_problem.known
    dense = direct.posterior_probabilities(known, prior, data_evidence(sparse_problem))
    monkeypatch.setattr(evidence, "MOST_COUPLED", 1)
    thin = direct.posterior_probabilities(known, prior, data_evidence(sparse_problem))
    gap = np.abs(thin.edge_probabilities - dense.edge_probabilities)[sparse_problem.U]
    assert gap.mean() < 0.05


def test_what_needs_the_coupling_is_refused_in_clear_words(sparse_problem, monkeypatch, rng):
    monkeypatch.setattr(evidence, "MOST_COUPLED", 1)
    thin = data_evidence(sparse_problem)
    words = r"31 unknown pairs are too many .*\(at most 1\): use engine 'direct'"
    with pytest.raises(GraphPriorError, match=words):
        gibbs.sample(sparse_problem.known, IndependentEdges(0.2), thin, rng, 2)
    with pytest.raises(GraphPriorError, match=words):
        MarginalLikelihood(thin)
