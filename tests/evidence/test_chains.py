"""Chains over precision matrices: the same posterior as other ways of computing it."""

import numpy as np
import pytest
from scipy.integrate import dblquad
from scipy.special import expit, logit, softmax
from scipy.stats import norm

from enumeration import GaussianPairs, simulated_problem
from exact_graphs import log_marginals
from graphprior import PartialGGM
from graphprior.diagnosis.notes import evidence_notes
from graphprior.errors import GraphPriorError, notes
from graphprior.evidence import evidence
from graphprior.evidence.chains import Chains
from graphprior.evidence.evidence import data_evidence
from graphprior.evidence.marginal import MarginalLikelihood
from graphprior.evidence.slab import Rate, Slab, rate_prior
from graphprior.gaussian.simulate import simulate_observations, simulate_precision
from graphprior.graphs.matrices import hide, nothing_known
from graphprior.priors.exact import IndependentEdges
from graphprior.problem.problem import Problem
from oracles import random_graph

SLAB = Slab(0.08, 0.3)


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


@pytest.mark.slow
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
        chains, p = Chains.create(problem, S, k, None, fixed=SLAB), []
        for seed in range(12):
            _, draws = chains.draw(
                np.random.default_rng(seed), chains.states[0], odds(2), False, 2000
            )
            p.append(draws.probabilities[0, 1])
        assert abs(np.mean(p) - expit(exact)) < 4 * np.std(p) / np.sqrt(len(p)) + 0.002


def odds(n):
    return np.full((n, n), logit(SLAB.rate))


@pytest.mark.parametrize("k", [12, 60])
def test_of_four_variables_the_probabilities_are_those_of_all_graphs(k, record_property):
    """All 64 graphs, Theta integrated for each by importance sampling."""
    rng = np.random.default_rng(k)
    _, problem = simulated_problem(rng, 4, k)
    found = data_evidence(problem, fixed=SLAB)
    graphs, log_p = log_marginals(found.chains, problem.known, SLAB.variance)
    log_p = log_p + graphs.sum((1, 2)) / 2 * logit(SLAB.rate)
    exact = np.einsum("g,gij->ij", softmax(log_p), graphs)[found.rows, found.cols]
    state, p = found.chains.states[0], []
    for _ in range(10):
        state, draws = found.chains.draw(rng, state, odds(4), False, 2000)
        p.append(draws.probabilities[found.rows, found.cols])
    gap = np.abs(np.mean(p, axis=0) - exact)
    record_property("largest_gap", gap.max())
    assert (gap < 4 * np.std(p, axis=0) / np.sqrt(10) + 0.006).all()


def test_theta_and_what_is_known_of_it_stay_consistent():
    problem, _ = problem_of("sparse", 12, 40, 3, share=0.5)
    chains = Chains.create(problem, np.corrcoef(problem.X.T), 39.0, None)
    chains, *_ = chains.beliefs(odds(12), with_rate=True, settle=True)
    for Theta, edges, _ in chains.states:
        assert np.linalg.eigvalsh(Theta)[0] > 0
        np.testing.assert_array_equal(Theta, Theta.T)
        off = ~np.eye(12, dtype=bool)
        assert (Theta[(problem.known == 0) & off] == 0).all()
        assert (Theta[problem.known == 1] != 0).all()
        np.testing.assert_array_equal(edges & off, (Theta != 0) & off)


def test_shares_of_all_variables_are_as_many_rows():
    problem, _ = problem_of("sparse", 10, 60, 5)
    S = np.corrcoef(problem.X.T)
    whole = Chains.create(problem, S, 15.0, None, fixed=SLAB).beliefs(odds(10))[2]
    shared = Chains.create(problem, S, 60.0, np.full(10, 0.5), fixed=SLAB).beliefs(odds(10))[2]
    np.testing.assert_allclose(shared.p, whole.p, atol=1e-6)


@pytest.mark.parametrize("kind", ["dense", "sparse", "factor", "hub", "near-singular"])
@pytest.mark.parametrize("share", [None, 0.5])
def test_starts_that_are_far_apart_end_together(kind, share, record_property):
    """From no edge and from every pair an edge; 30 nodes, 20 observations a node."""
    problem, A = problem_of(kind, 30, 600, 7, share)
    found = data_evidence(problem)
    assert found.beliefs.converged
    right = (found.beliefs.p > 0.5) == (A[found.rows, found.cols] == 1)
    record_property("share_right", right.mean())
    assert right.mean() > 0.8


@pytest.mark.parametrize("slack", [0.0, 0.05])
def test_a_bayes_factor_given_the_rest_is_that_of_the_drawing(slack):
    """With all other pairs held, the share of draws with an edge against its log-odds."""
    problem, _ = problem_of("sparse", 6, 40, 2)
    chains = Chains.create(problem, np.corrcoef(problem.X.T), 39.0, None, slack, fixed=SLAB)
    rng = np.random.default_rng(0)
    one, _ = chains.draw(rng, chains.states[0], odds(6), False, 50)
    log_bf = chains.conditional_log_bf(one)
    np.testing.assert_array_equal(log_bf, log_bf.T)
    # Exact from either column of two variables, where there is no rest.
    pair = Problem.create(problem.X[:, :2])
    chains = Chains.create(pair, np.corrcoef(pair.X.T), 39.0, None, slack, fixed=SLAB)
    p, drawn = [], chains.states[0]
    for _ in range(4000):
        drawn, draws = chains.draw(rng, drawn, odds(2), False, 1)
        p.append(draws.probabilities[0, 1])
        found = expit(chains.conditional_log_bf(drawn)[0, 1] + logit(SLAB.rate))
        p[-1] -= found
    assert abs(np.mean(p)) < 4 * np.std(p) / np.sqrt(len(p)) + 1e-3


@pytest.mark.slow
def test_more_variables_do_not_change_the_mind():
    """F1 of a sparse graph with strong edges stays as n passes 55, where pairs pass 1500."""
    for n in (50, 64):
        problem, A = problem_of("near-singular", n, 20 * n, 2)
        found = data_evidence(problem)
        edges = found.matrix(found.beliefs.p) > 0.5
        hits = float((edges & (A == 1)).sum())
        assert 2 * hits / (edges.sum() + A.sum()) > 0.95


def test_the_same_data_give_the_same_answer_and_asking_changes_nothing():
    problem, _ = problem_of("sparse", 15, 100, 4, share=0.3)
    first, again = data_evidence(problem), data_evidence(problem)
    np.testing.assert_array_equal(first.log_bf, again.log_bf)
    told = first.given(odds(15)).beliefs.p
    np.testing.assert_array_equal(told, first.given(odds(15)).beliefs.p)


def test_chains_that_stand_apart_are_reported(monkeypatch):
    """Two sweeps after starts as far apart as they can be: not settled, and it is said."""
    monkeypatch.setattr("graphprior.evidence.chains.FEWEST", 1)
    monkeypatch.setattr("graphprior.evidence.chains.WORK", 1.0)
    problem, _ = problem_of("factor", 40, 40, 1)
    found = data_evidence(problem)
    assert not found.beliefs.converged
    assert any("did not settle" in line for line in evidence_notes(found, problem.names))


def test_the_gaussian_form_is_refused_in_clear_words_where_pairs_are_too_many(monkeypatch):
    monkeypatch.setattr(evidence, "MOST_COUPLED", 0)
    problem, _ = problem_of("sparse", 15, 100, 4, share=0.3)
    with pytest.raises(GraphPriorError, match=r"31 unknown pairs .*\(at most 0\): use"):
        MarginalLikelihood(data_evidence(problem))


def test_the_gaussian_form_agrees_with_the_drawing_where_rows_are_many(record_property):
    """Listing all graphs of the Gaussian that touches at the mode, against drawing Theta."""
    gaps = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        _, problem = simulated_problem(rng, 5, 1500, 6)
        found = data_evidence(problem, fixed=SLAB)
        F, b = found.coupled()
        told = GaussianPairs(problem.known, F, b, SLAB).beliefs(odds(5))[2]
        gaps.append(np.abs(told.p - found.beliefs.p).max())
    record_property("largest_gap", max(gaps))
    assert np.mean(gaps) < 0.03
    assert max(gaps) < 0.08


def test_with_nothing_known_the_rate_is_that_of_the_data():
    """No prior: a sparse graph gets few edges, a dense one many, not one in five."""
    expected = {}
    for kind in ("near-singular", "dense"):
        problem, A = problem_of(kind, 20, 400, 3)
        model = PartialGGM(None, random_state=0).fit(problem.X)
        expected[kind] = model.edge_probabilities_.sum() / A.sum()
    assert 0.9 < expected["near-singular"] < 1.3
    assert 0.7 < expected["dense"] < 1.3


def test_a_list_of_edges_does_not_make_every_pair_an_edge():
    """Half of the edges told, no absent pair: the rate is that of the data."""
    problem, A = problem_of("sparse", 20, 200, 3)
    rng = np.random.default_rng(0)
    known = np.where((A == 1) & (np.triu(rng.random(A.shape), 1) < 0.5), 1.0, np.nan)
    known = np.where(np.isnan(known), known.T, known)
    with notes():
        model = PartialGGM(None).fit(problem.X, known=known)
    U = model.problem_.U
    assert model.edge_probabilities_[U].sum() < 2 * A[U].sum() + 10
    assert rate_prior(model.problem_.known) == Rate()


@pytest.mark.parametrize("share", [None, 0.4])
def test_other_names_give_the_same_answer(share):
    """Draws follow the data, not the order of the columns."""
    problem, _ = problem_of("sparse", 18, 90, 6, share)
    order = np.random.default_rng(1).permutation(18)
    moved = Problem.create(problem.X[:, order], problem.known[np.ix_(order, order)])
    here, there = data_evidence(problem).log_bf, data_evidence(moved).log_bf
    np.testing.assert_allclose(there, here[np.ix_(order, order)], atol=1e-5)


@pytest.mark.parametrize("slack", [0.03, 0.1])
def test_with_slack_a_pair_must_stand_out_from_the_others(slack):
    """Strengths found are those beside their errors, and small ones are no edges."""
    problem, _ = problem_of("dense", 14, 700, 8, share=0.5)
    exact, wide = (data_evidence(problem, fixed=SLAB, slack=s) for s in (0.0, slack))
    assert wide.beliefs.p.sum() < exact.beliefs.p.sum() + 0.5
    weak = np.abs(exact.beliefs.mean) < slack
    assert (wide.beliefs.p[weak] < 0.6).all()
    sure = (exact.beliefs.p > 0.99) & (wide.beliefs.p > 0.99)
    assert sure.sum() > 3 or slack > 0.05
    assert (np.abs(wide.beliefs.mean - exact.beliefs.mean)[sure] < 3 * slack).all()


def test_a_density_that_is_given_is_used():
    """It is the prior's rate: the same as independent edges of that rate, and it matters."""
    problem, _ = problem_of("sparse", 10, 40, 3)
    fits = [PartialGGM(None, density=d).fit(problem.X).edge_probabilities_ for d in (0.05, 0.4)]
    with notes():
        same = PartialGGM(IndependentEdges(0.4), unknown_at_random=True).fit(problem.X)
    np.testing.assert_allclose(fits[1], same.edge_probabilities_, atol=1e-9)
    assert fits[0].sum() < 0.7 * fits[1].sum()


@pytest.mark.parametrize("hump", [0.0, 0.6])
@pytest.mark.parametrize("positive", [0.5, 0.9])
def test_the_bayes_factor_of_a_slab_is_its_integral(hump, positive):
    slab, grid = Slab(0.08, 0.3, hump, positive), np.linspace(-4, 4, 40001)
    density = sum(
        share * norm.pdf(grid, side * slab.centre, np.sqrt(slab.width))
        for side, share in ((1, positive), (-1, 1 - positive))
    )
    assert np.trapezoid(density * grid**2, grid) == pytest.approx(slab.variance, rel=1e-6)
    for precision, shift in ((5.0, 1.0), (80.0, -20.0), (0.0, 0.0)):
        likelihood = np.exp(shift * grid - precision * grid**2 / 2)
        expected = np.log(np.trapezoid(density * likelihood, grid))
        assert float(slab.log_bf(precision, shift)) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("slack", [0.0, 0.02])
@pytest.mark.parametrize("worth", [0.4, 1.0])
def test_a_variable_that_is_seen_less_makes_no_edges_between_others(worth, slack):
    """A star of which one leaf is worth fewer rows: leaves stay apart, and the centre is found."""
    rng = np.random.default_rng(0)
    centre = rng.standard_normal((4000, 1))
    X = np.column_stack([centre, 0.8 * centre + 0.6 * rng.standard_normal((4000, 5))])
    share = np.ones(6)
    share[3] = np.sqrt(worth)
    problem = Problem.create(X)
    chains = Chains.create(problem, np.corrcoef(X.T), 4000.0, share, slack)
    run = chains.beliefs(np.zeros((6, 6)), with_rate=True, settle=True)
    p = run.beliefs.p
    at_centre = np.nonzero(np.triu(problem.U))[0] == 0
    assert (p[at_centre] > 0.99).all()
    assert (p[~at_centre] < 0.7).all()


def test_slices_of_a_run_are_the_run():
    """Sweeps are called in slices, so that they can be stopped: the sums are those of one call."""
    problem, _ = problem_of("sparse", 8, 60, 2)
    chains = Chains.create(problem, np.corrcoef(problem.X.T), 59.0, None, fixed=SLAB)
    rng, other = np.random.default_rng(1), np.random.default_rng(1)
    whole, draws = chains.draw(rng, chains.states[0], odds(8), False, 60)
    state, p = chains.states[0], 0.0
    for sweeps in (25, 25, 10):
        state, part = chains.draw(other, state, odds(8), False, sweeps)
        p = p + part.p
    np.testing.assert_array_equal(state.Theta, whole.Theta)
    np.testing.assert_allclose(p, draws.p)
