import numpy as np
import pytest
from scipy.special import logit
from scipy.stats import t as student

from enumeration import (
    SLAB,
    evidence_of,
    exact_marginals,
    exact_posterior,
    random_prior,
    small_problem,
)
from graphprior.engines.gibbs import ONE_BY_ONE, Sweeps, convergence, sample
from graphprior.errors import GraphPriorError
from graphprior.evidence.evidence import data_evidence
from graphprior.graphs.matrices import hide, nothing_known, unvech, vech
from graphprior.priors.exact import FiniteGraphs, IndependentEdges, StochasticBlocks
from graphprior.problem.problem import Problem
from oracles import random_graph, relabel

PATH = unvech(np.array([1.0, 0, 0, 1, 0, 1]))
SHORT = Sweeps(reveal=2, burn_in=0, keep=4, blocks=2)


def gap(posterior, exact):
    """The largest error of an edge probability: the total variation of that marginal."""
    return np.abs(posterior.edge_probabilities - exact).max()


def standard_error(posterior, M):
    """Of the probabilities, from the spread of the chains that the bounds are made of."""
    P = np.clip(posterior.edge_probabilities, 1e-12, 1 - 1e-12)
    width = logit(np.clip(posterior.high, 1e-12, 1 - 1e-12)) - logit(P)
    return width * P * (1 - P) / student.ppf(0.975, M - 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "n", "k", "unknown"), [(0, 4, 20, None), (1, 4, 200, None), (2, 5, 60, 6)]
)
def test_pairs_drawn_one_at_a_time_match_enumeration(seed, n, k, unknown, record_property):
    M = 80
    prior, problem, evidence = small_problem(seed, n, k, unknown)
    exact = exact_marginals(problem.known, prior, evidence)
    rng = np.random.default_rng(seed)
    sweeps = Sweeps(reveal=None, burn_in=4, keep=30, blocks=None)
    found = sample(problem.known, prior, evidence, rng, M, sweeps, by_value=False)
    record_property("largest_gap", gap(found, exact))
    assert gap(found, exact) < 0.02
    error = np.abs(found.edge_probabilities - exact)
    assert (error < 4 * standard_error(found, M) + 1e-3).all()


@pytest.mark.slow
def test_whole_graphs_match_enumeration():
    """The last graph of each chain, against the probabilities of all 64."""
    M = 300
    prior, problem, evidence = small_problem(0, 4, 60)
    graphs, p = exact_posterior(problem.known, prior, evidence)
    sweeps = Sweeps(reveal=None, burn_in=4, keep=1, blocks=None)
    found = sample(problem.known, prior, evidence, np.random.default_rng(0), M, sweeps)
    q = np.array([(found.samples == A).all((1, 2)).mean() for A in graphs])
    noise = 0.5 * np.sqrt(2 * p * (1 - p) / (np.pi * M)).sum()  # of M independent draws
    assert 0.5 * np.abs(p - q).sum() < noise + 0.03


@pytest.mark.slow
def test_blocks_are_near_enumeration(record_property):
    """Pairs of a block are drawn as independent; three blocks of six pairs."""
    gaps = []
    for seed in range(3):
        prior, problem, evidence = small_problem(seed, 4, 60)
        exact = exact_marginals(problem.known, prior, evidence)
        rng, sweeps = np.random.default_rng(seed), Sweeps(3, 3, 25, 3)
        gaps.append(gap(sample(problem.known, prior, evidence, rng, 40, sweeps), exact))
    record_property("mean_gap", np.mean(gaps))
    record_property("largest_gap", np.max(gaps))
    assert np.max(gaps) < 0.1


def test_without_data_it_draws_from_the_prior(rng):
    prior = random_prior(rng, 4)
    known = hide(random_graph(rng, 4), rng, count=5)
    sweeps = Sweeps(reveal=None, burn_in=2, keep=40, blocks=None)
    found = sample(known, prior, None, rng, 150, sweeps, by_value=False)
    assert gap(found, exact_marginals(known, prior)) < 0.02


@pytest.mark.slow
def test_independent_edges_are_exact_whatever_the_blocks(rng):
    """Without coupling there is nothing that a block could miss, nor chance in its answer."""
    known = nothing_known(5)
    P = unvech(rng.uniform(0.05, 0.9, 10))
    evidence = evidence_of(known, np.diag(rng.uniform(5, 100, 10)), rng.normal(0, 8, 10))
    odds = np.log(P / (1 - P), where=P > 0, out=np.zeros_like(P)) + evidence.log_bf
    expected = np.where(np.eye(5), 0, 1 / (1 + np.exp(-odds)))
    for sweeps in (SHORT, Sweeps(1, 0, 1, 1), ONE_BY_ONE):
        found = sample(known, IndependentEdges(P), evidence, rng, 3, sweeps)
        np.testing.assert_allclose(found.edge_probabilities, expected, atol=1e-9)
        np.testing.assert_allclose(found.high - found.low, 0, atol=1e-9)


def test_a_chain_depends_on_its_own_generator_only():
    prior, problem, evidence = small_problem(1, 5, 60, 7)
    few, many = (
        sample(problem.known, prior, evidence, np.random.default_rng(5), M, Sweeps(3, 1, 4, 3))
        for M in (3, 5)
    )
    np.testing.assert_array_equal(few.samples, many.samples[:3])
    assert len(np.unique(many.samples, axis=0)) > 1


def test_same_seed_same_answer_and_another_seed_another():
    prior, problem, evidence = small_problem(1, 5, 60, 7)
    here, again, there = (
        sample(problem.known, prior, evidence, np.random.default_rng(seed), 4, SHORT)
        for seed in (1, 1, 2)
    )
    assert here.samples.tobytes() == again.samples.tobytes()
    assert here.edge_probabilities.tobytes() == again.edge_probabilities.tobytes()
    assert here.edge_probabilities.tobytes() != there.edge_probabilities.tobytes()


@pytest.mark.parametrize("M", [1, 4])
def test_known_pairs_never_change_and_the_answer_is_whole(M):
    prior, problem, evidence = small_problem(1, 5, 60, 7)
    found = sample(problem.known, prior, evidence, np.random.default_rng(0), M, SHORT)
    O, P = problem.O, found.edge_probabilities  # noqa: E741
    assert found.samples.shape == (M, 5, 5)
    assert found.samples.dtype == np.uint8
    for A in (*found.samples, P, found.low, found.high):
        np.testing.assert_array_equal(A[O], problem.known[O])
        np.testing.assert_array_equal(A, A.T)
        assert not np.diag(A).any()
    assert set(np.unique(found.samples)) <= {0, 1}
    assert ((found.low <= P) & (found.high >= P)).all()
    assert (found.low >= 0).all()
    assert (found.high <= 1).all()
    assert (found.high > found.low)[problem.U].all()
    total = found.reasons.posterior
    assert np.isfinite(total).all()


@pytest.mark.slow
def test_the_bounds_cover_the_exact_probabilities_about_as_often_as_they_say():
    """Short runs of few chains; each covers or not, and together nine in ten do."""
    prior, problem, evidence = small_problem(0, 4, 20)
    exact = vech(exact_marginals(problem.known, prior, evidence))
    sweeps, covered = Sweeps(None, 3, 4, None), []
    for seed in range(12):
        found = sample(problem.known, prior, evidence, np.random.default_rng(seed), 10, sweeps)
        # Of pairs that are all but certain the bounds are too narrow, by next to nothing.
        low, high = vech(found.low) - 0.005, vech(found.high) + 0.005
        covered += list((low <= exact) & (exact <= high))
    share = np.mean(covered)
    assert share > 0.95 - 4 * np.sqrt(0.05 * 0.95 / len(covered)) - 0.03


@pytest.mark.slow
def test_relabelling_nodes_relabels_the_distribution(rng):
    prior, problem, evidence = small_problem(0, 4, 60)
    order = np.array([2, 0, 3, 1])
    graphs = [relabel(unvech(a), order) for a in prior.a.numpy()]
    moved = FiniteGraphs(graphs, prior.log_weights.numpy())
    told = data_evidence(Problem.create(problem.X[:, order]), fixed=SLAB)
    M, sweeps = 40, Sweeps(None, 3, 20, None)
    here = sample(problem.known, prior, evidence, rng, M, sweeps)
    there = sample(problem.known, moved, told, rng, M, sweeps)
    expected = relabel(here.edge_probabilities, order)
    noise = np.hypot(relabel(standard_error(here, M), order), standard_error(there, M))
    assert (np.abs(there.edge_probabilities - expected) <= 4 * noise + 1e-3).all()


def test_one_unknown_pair_is_exact(rng):
    known = hide(random_graph(rng, 4), rng, count=1)
    prior, evidence = random_prior(rng), evidence_of(known, np.array([[30.0]]), np.array([9.0]))
    for sweeps in (None, ONE_BY_ONE, SHORT):
        found = sample(known, prior, evidence, rng, 3, sweeps, by_value=False)
        assert gap(found, exact_marginals(known, prior, evidence)) < 1e-6


@pytest.mark.parametrize("sweeps", [None, ONE_BY_ONE])
def test_nothing_unknown_is_what_is_known(rng, sweeps):
    A = random_graph(rng, 4)
    found = sample(A, random_prior(rng), None, rng, 3, sweeps)
    np.testing.assert_array_equal(found.edge_probabilities, A)
    np.testing.assert_array_equal(found.samples, np.repeat(A[None], 3, axis=0))


@pytest.mark.slow
def test_a_prior_of_some_graphs_only_yields_those():
    """A path with one end known: pairs are drawn one by one, and every graph is a path."""
    prior = FiniteGraphs.up_to_relabelling([PATH])
    known = nothing_known(4)
    known[0, 1] = known[1, 0] = 1.0
    evidence = evidence_of(known, 20 * np.eye(5), np.array([3.0, -2, 4, 0, 1]))
    graphs, _ = exact_posterior(known, prior, evidence)
    allowed = {A.astype(np.uint8).tobytes() for A in graphs}
    found = sample(known, prior, evidence, np.random.default_rng(0), 60)
    drawn = {A.tobytes() for A in found.samples}
    assert drawn <= allowed
    assert len(drawn) > 3
    assert found.diagnostics.passes == ONE_BY_ONE.passes(5)


@pytest.mark.slow
def test_how_well_chains_agree_is_told():
    prior, problem, evidence = small_problem(0, 4, 20)
    sweeps = Sweeps(None, 3, 20, None)
    facts = sample(problem.known, prior, evidence, np.random.default_rng(0), 20, sweeps).diagnostics
    assert 0.99 < facts.r_hat < 1.2
    assert 40 < facts.ess <= 20 * 20 * 2
    alone = sample(problem.known, prior, evidence, np.random.default_rng(0), 1, sweeps).diagnostics
    assert alone.r_hat is None
    assert alone.ess is None


def test_chains_that_disagree_are_seen(rng):
    """Chains around different numbers of edges have a large R-hat; alike, it is near 1."""
    alike = rng.random((8, 50, 6))
    apart = alike + 2 * np.arange(8)[:, None, None]
    assert convergence(alike)[0] < 1.05
    assert convergence(alike)[1] > 200
    assert convergence(apart)[0] > 2
    assert convergence(apart)[1] < 40
    assert convergence(np.full((8, 50, 6), 0.5))[0] is None


@pytest.mark.parametrize("sweeps", [SHORT, ONE_BY_ONE, Sweeps(), Sweeps(3, 1, 2, 4)])
def test_progress_reaches_the_total_step_by_step(sweeps):
    seen = []
    _, problem, evidence = small_problem(1, 5, 60, 7)
    found = sample(
        problem.known, IndependentEdges(0.3), evidence, np.random.default_rng(0), 2, sweeps,
        progress=lambda *a: seen.append(a),
    )  # fmt: skip
    total = sweeps.passes(7)
    assert seen == [(step, total) for step in range(1, total + 1)]
    assert found.diagnostics.passes == total


@pytest.mark.parametrize(
    "wrong",
    [{"reveal": 0}, {"reveal": -1}, {"keep": 0}, {"burn_in": -1}, {"blocks": 0}, {"blocks": -2}],
)
def test_sweeps_that_are_none_are_refused(wrong):
    with pytest.raises(GraphPriorError, match="at least one pass"):
        Sweeps(**wrong)


def test_all_pairs_are_redrawn_in_every_sweep(rng):
    """Whatever the blocks: probabilities that are never 0 come from draws, one for each pair."""
    labels = StochasticBlocks([0, 0, 1, 1, 1], [[0.7, 0.2], [0.2, 0.6]])
    for count in (1, 2, 3, 7, 10, 50, None):
        found = sample(nothing_known(5), labels, None, rng, 2, Sweeps(count, 0, 1, count))
        expected = 1 / (1 + np.exp(-vech(labels.log_odds.numpy())))
        np.testing.assert_allclose(vech(found.edge_probabilities), expected)


def test_the_trace_counts_the_edges_of_each_chain_to_its_last_graph(rng):
    known = hide(random_graph(rng, 6, density=0.5), rng, count=9)
    sweeps = Sweeps(reveal=3, burn_in=2, keep=5, blocks=3)
    found = sample(known, IndependentEdges(0.4), None, rng, 4, sweeps)
    assert found.trace.shape == (4, 1 + 2 + 5)
    assert ((found.trace >= 0) & (found.trace <= 9)).all()
    last = vech(found.samples)[:, np.isnan(vech(known))].sum(1)
    assert np.array_equal(found.trace[:, -1], last)
    # Independent edges: every count is of nine draws at 0.4, whatever the sweep.
    many = sample(known, IndependentEdges(0.4), None, rng, 500, sweeps, by_value=False).trace
    error = np.sqrt(9 * 0.4 * 0.6 / 500)
    assert (np.abs(many.mean(0) - 9 * 0.4) < 4 * error).all()
