import numpy as np
import pytest
import torch
from scipy.special import expit, logit

from enumeration import (
    SLAB,
    evidence_of,
    exact_marginals,
    random_prior,
    simulated_problem,
    small_problem,
)
from graphprior.engines.direct import posterior_probabilities, reason
from graphprior.errors import GraphPriorError
from graphprior.evidence.evidence import data_evidence
from graphprior.graphs.matrices import hide, nothing_known, unknown_mask, unvech, vech
from graphprior.priors.exact import FiniteGraphs, IndependentEdges
from graphprior.priors.protocol import ask
from graphprior.problem.problem import Problem
from oracles import random_graph, relabel

PATH = unvech(np.array([1.0, 0, 0, 1, 0, 1]))


def partly_known(rng, n=4, unknown=None):
    return nothing_known(n) if unknown is None else hide(random_graph(rng, n), rng, count=unknown)


@pytest.mark.parametrize("passes", [1, 5])
@pytest.mark.parametrize(("n", "unknown"), [(4, None), (4, 3), (5, 6)])
def test_where_pairs_do_not_depend_on_each_other_it_is_exact(rng, n, unknown, passes):
    """F is diagonal: one pass is enumeration, and more passes change nothing."""
    for _ in range(3):
        known, prior = partly_known(rng, n, unknown), random_prior(rng, n, 1.5)
        m = int(unknown_mask(known).sum() / 2)
        evidence = evidence_of(known, np.diag(rng.uniform(5, 200, m)), rng.normal(0, 12, m))
        found = posterior_probabilities(known, prior, evidence, passes, by_value=False)
        expected = exact_marginals(known, prior, evidence)
        np.testing.assert_allclose(found.edge_probabilities, expected, atol=1e-6)


@pytest.mark.slow
def test_coupled_pairs_are_near_enumeration_and_nearer_after_some_passes(record_property):
    once, usual = [], []
    for seed in range(12):
        n, unknown = (5, 6) if seed % 3 == 2 else (4, None)
        prior, problem, evidence = small_problem(seed, n, (20, 60, 200)[seed % 3], unknown)
        exact = exact_marginals(problem.known, prior, evidence)
        for gaps, passes in ((once, {"passes": 1}), (usual, {})):
            found = posterior_probabilities(
                problem.known, prior, evidence, by_value=False, **passes
            )
            gaps.append(np.abs(found.edge_probabilities - exact).max())
    record_property("mean_gap_of_one_pass", np.mean(once))
    record_property("largest_gap_of_one_pass", np.max(once))
    record_property("mean_gap", np.mean(usual))
    record_property("largest_gap", np.max(usual))
    assert np.mean(usual) < np.mean(once)
    assert np.mean(usual) < 0.03
    assert np.max(usual) < 0.1


@pytest.mark.parametrize("by_value", [True, False])
def test_the_reasons_add_up_to_the_posterior(by_value):
    prior, problem, evidence = small_problem(1, 5, 60, 6)
    found = posterior_probabilities(problem.known, prior, evidence, by_value=by_value)
    U, reasons = problem.U, found.reasons
    total = reasons.prior + reasons.data + reasons.hidden
    np.testing.assert_allclose(expit(total[U]), found.edge_probabilities[U], atol=1e-12)
    np.testing.assert_array_equal(total, reasons.posterior)
    # What the prior was told, and its answer.
    said = ask(prior, problem.known, reasons.data + reasons.hidden, "cpu")
    np.testing.assert_allclose(said, total, atol=1e-9)
    for part in reasons:
        assert (part[~U] == 0).all()
        np.testing.assert_array_equal(part, part.T)
    assert np.ptp(reasons.hidden[U]) == 0
    assert (reasons.hidden[U] != 0).all() == by_value
    assert found.diagnostics.hidden_log_odds == reasons.hidden[U][0]


@pytest.mark.slow
def test_the_data_are_told_what_the_prior_says_without_them():
    """The Bayes factors are those of the data when pairs have the prior's part alone."""
    for seed in range(4):
        prior, problem, evidence = small_problem(seed, 5, 60, 6)
        reasons, used, _ = reason(problem.known, prior, evidence, passes=30)
        np.testing.assert_array_equal(used.log_bf, reasons.data)
        again = evidence.given(reasons.prior + reasons.hidden)
        here, there = (np.clip(part, -8, 8) for part in (again.log_bf, reasons.data))
        np.testing.assert_allclose(here, there, atol=0.5)


@pytest.mark.parametrize("seed", range(4))
def test_no_evidence_is_counted_twice(seed):
    """Independent edges add nothing that the data say: the answer is that of the data alone."""
    rng = np.random.default_rng(seed)
    _, problem = simulated_problem(rng, 7, 60, 15)
    P = unvech(rng.uniform(0.05, 0.7, 21))
    evidence = data_evidence(problem, fixed=SLAB)
    found = posterior_probabilities(
        problem.known, IndependentEdges(P), evidence, by_value=False
    ).edge_probabilities[evidence.rows, evidence.cols]
    odds = logit(np.clip(P, 1e-9, 1 - 1e-9))
    expected = evidence.given(odds).beliefs.p
    np.testing.assert_allclose(found, expected, atol=0.05)
    twice = expit(logit(expected) + evidence.beliefs.log_bf)
    assert np.abs(twice - expected).max() > 0.1


def test_without_data_it_is_the_exact_posterior_of_the_prior(rng):
    prior = random_prior(rng, 5, 1.5)
    known = partly_known(rng, 5, 6)
    found = posterior_probabilities(known, prior, None, by_value=False)
    np.testing.assert_allclose(found.edge_probabilities, exact_marginals(known, prior), atol=1e-9)
    assert not found.reasons.data.any()


def test_where_nothing_is_known_being_hidden_says_nothing():
    prior, problem, evidence = small_problem(3)
    found = posterior_probabilities(problem.known, prior, evidence, by_value=True)
    plain = posterior_probabilities(problem.known, prior, evidence, by_value=False)
    assert not found.reasons.hidden.any()
    assert found.diagnostics.hidden_log_odds == 0
    np.testing.assert_array_equal(found.edge_probabilities, plain.edge_probabilities)


def test_relabelling_nodes_relabels_the_answer(rng):
    prior, problem, evidence = small_problem(2, 5, 60, 6)
    order = rng.permutation(5)
    graphs = [relabel(unvech(a), order) for a in prior.a.numpy()]
    moved = Problem.create(problem.X[:, order], relabel(problem.known, order))
    here = posterior_probabilities(problem.known, prior, evidence)
    there = posterior_probabilities(
        moved.known,
        FiniteGraphs(graphs, prior.log_weights.numpy()),
        data_evidence(moved, fixed=SLAB),
    )
    assert np.ptp(here.edge_probabilities[problem.U]) > 0.1
    np.testing.assert_allclose(
        there.edge_probabilities, relabel(here.edge_probabilities, order), atol=1e-4
    )


def test_known_pairs_keep_their_value_and_nothing_is_drawn():
    prior, problem, evidence = small_problem(1, 5, 60, 6)
    found = posterior_probabilities(problem.known, prior, evidence)
    P = found.edge_probabilities
    np.testing.assert_array_equal(P[problem.O], problem.known[problem.O])
    assert ((P[problem.U] > 0) & (P[problem.U] < 1)).all()
    np.testing.assert_array_equal(P, P.T)
    assert not np.diag(P).any()
    assert found.samples.shape == (0, 5, 5)
    assert found.samples.dtype == np.uint8
    np.testing.assert_array_equal(found.low, found.high)
    np.testing.assert_array_equal(found.low, P)
    again = posterior_probabilities(problem.known, prior, evidence)
    assert again.edge_probabilities.tobytes() == P.tobytes()


def test_nothing_unknown_is_what_is_known(rng):
    A = random_graph(rng, 4)
    for prior in (random_prior(rng), FiniteGraphs([A])):
        found = posterior_probabilities(A, prior, None)
        np.testing.assert_array_equal(found.edge_probabilities, A)
        assert not found.reasons.posterior.any()


def test_one_unknown_pair_has_the_bayes_factor_of_its_own(rng):
    known = partly_known(rng, 4, 1)
    prior, evidence = random_prior(rng), evidence_of(known, np.array([[30.0]]), np.array([9.0]))
    found = posterior_probabilities(known, prior, evidence, by_value=False).edge_probabilities
    np.testing.assert_allclose(found, exact_marginals(known, prior, evidence), atol=1e-6)


@pytest.mark.filterwarnings("error")
def test_a_prior_of_some_graphs_only_may_be_certain(rng):
    """Two edges of a path decide a third pair; data cannot move it, and nothing is nan."""
    known = nothing_known(4)
    for i, j in ((0, 1), (1, 2)):
        known[i, j] = known[j, i] = 1.0
    prior = FiniteGraphs.up_to_relabelling([PATH])
    evidence = evidence_of(known, 40 * np.eye(4), rng.normal(0, 8, 4))
    found = posterior_probabilities(known, prior, evidence, by_value=False)
    P = found.edge_probabilities
    np.testing.assert_allclose(P, exact_marginals(known, prior, evidence), atol=1e-6)
    assert P[1, 3] < 1e-9
    assert found.reasons.prior[1, 3] == -np.inf
    assert not np.isnan(found.reasons.posterior).any()


def test_what_the_prior_cannot_be_is_refused():
    known = nothing_known(4)
    known[0, 1:] = known[1:, 0] = 1.0
    with pytest.raises(GraphPriorError, match="no graph of the finite prior agrees"):
        posterior_probabilities(known, FiniteGraphs.up_to_relabelling([PATH]), None)


def test_progress_counts_passes():
    prior, problem, evidence = small_problem(0)
    seen = []
    found = posterior_probabilities(
        problem.known, prior, evidence, 3, progress=lambda *a: seen.append(a)
    )
    assert seen == [(1, 3), (2, 3), (3, 3)]
    assert found.diagnostics.passes == 3


def test_a_batch_of_evidence_is_answered_as_its_parts(rng):
    prior, known = random_prior(rng), partly_known(rng, 4, 4)
    told = unvech(rng.normal(0, 1, (3, 6)))
    whole = ask(prior, known, told, "cpu")
    for own, expected in zip(told, whole, strict=True):
        np.testing.assert_allclose(ask(prior, known, own, torch.device("cpu")), expected)
    assert (vech(whole)[:, ~np.isnan(vech(known))] == 0).all()
