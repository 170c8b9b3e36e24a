import numpy as np
import pytest
import torch

from enumeration import (
    conditional_log_bf,
    evidence_of,
    exact_marginals,
    log_evidence,
    random_prior,
    small_problem,
)
from graphprior import PartialGGM
from graphprior.engines.langevin import Langevin, sample_graphs
from graphprior.evidence.evidence import data_evidence
from graphprior.evidence.marginal import MarginalLikelihood
from graphprior.gaussian.simulate import simulate_observations
from graphprior.graphs.matrices import nothing_known, unvech, vech
from graphprior.priors.exact import IndependentEdges, all_graphs
from graphprior.priors.noise import Schedule
from graphprior.problem.problem import Problem

ANNEALED = Schedule.geometric(20, 1.0, 0.1, 100, 1e-3)


def likelihoods():
    """Of six pairs of four nodes, and of six of the ten pairs of five."""
    for seed, (n, k, unknown) in enumerate([(4, 20, None), (4, 200, None), (5, 60, 6)]):
        _, problem, evidence = small_problem(seed, n, k, unknown)
        yield problem, evidence, MarginalLikelihood(evidence)


def relaxed(problem, evidence, a):
    """Graphs (M, n, n) that have the known entries, and ``a`` (M, m) at the unknown pairs."""
    A = np.repeat(np.nan_to_num(problem.known)[None], len(a), axis=0)
    A[:, evidence.rows, evidence.cols] = A[:, evidence.cols, evidence.rows] = a
    return torch.as_tensor(A)


def slope_of(likelihood, x, j, inside):
    """A finite difference along pair j: central, or from inside at the boundary."""
    h = torch.zeros_like(x)
    h[j] = 1e-5
    value = likelihood.log_likelihood
    if inside:
        return (-3 * value(x) + 4 * value(x + h) - value(x + 2 * h)) / 2e-5
    return (value(x + h) - value(x - h)) / 2e-5


def test_the_score_is_the_slope_of_the_log_likelihood(rng):
    """At relaxed graphs, some entries beyond 1, some at the boundary 0."""
    for problem, evidence, likelihood in likelihoods():
        m = len(evidence.rows)
        a = rng.uniform(0.05, 1.4, (5, m))
        a[0], a[1, :3], a[2] = 0.0, 0.0, rng.integers(0, 2, m)
        score = likelihood(relaxed(problem, evidence, a), 0.3)
        for own, found in zip(torch.as_tensor(a), score, strict=True):
            expected = [slope_of(likelihood, own, j, bool(own[j] == 0)) for j in range(m)]
            np.testing.assert_allclose(
                found[evidence.rows, evidence.cols], expected, rtol=1e-4, atol=1e-5
            )


@pytest.mark.slow
def test_the_score_is_symmetric_zero_at_known_pairs_and_has_no_noise_level(rng):
    for problem, evidence, likelihood in likelihoods():
        A = relaxed(problem, evidence, rng.normal(0.5, 0.5, (3, len(evidence.rows))))
        score = likelihood(A, 0.3)
        assert torch.equal(score, score.mT)
        assert not score[:, ~problem.U].any()
        assert score[:, problem.U].all()
        assert torch.equal(score, likelihood(A, 0.01))
        for one, whole in zip(A, score, strict=True):
            torch.testing.assert_close(likelihood(one[None], 0.3)[0], whole)


def test_entries_below_zero_count_as_zero(rng):
    for problem, evidence, likelihood in likelihoods():
        a = rng.normal(0, 1, (4, len(evidence.rows)))
        here, cut = (relaxed(problem, evidence, x) for x in (a, np.maximum(a, 0)))
        torch.testing.assert_close(likelihood(here, 0.3), likelihood(cut, 0.3))
        inside = relaxed(problem, evidence, np.clip(a, 0, 1))
        torch.testing.assert_close(likelihood.log_bf(here), likelihood.log_bf(inside))


def test_at_graphs_it_is_the_evidence_of_spikes_and_slabs(rng):
    for _, evidence, likelihood in likelihoods():
        F, b = evidence.coupled()
        a = rng.random((20, len(b))) < 0.5
        found = likelihood.log_likelihood(torch.as_tensor(a.astype(float)))
        expected = [log_evidence(F, b, evidence.slab.variance, row) for row in a]
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_at_graphs_the_bayes_factors_are_the_conditional_ones(rng):
    for problem, evidence, likelihood in likelihoods():
        F, b = evidence.coupled()
        a = rng.random((20, len(b))) < 0.5
        found = likelihood.log_bf(relaxed(problem, evidence, a))
        assert torch.equal(found, found.mT)
        assert not found[:, ~problem.U].any()
        for own, row in zip(found, a, strict=True):
            expected = conditional_log_bf(F, b, evidence.slab.variance, row)
            np.testing.assert_allclose(
                own[evidence.rows, evidence.cols], expected, rtol=1e-6, atol=1e-6
            )


def test_at_relaxed_graphs_a_bayes_factor_is_that_of_switching_one_pair(rng):
    """The others stay where they are, between 0 and 1; the pair's own entry does not matter."""
    for problem, evidence, likelihood in likelihoods():
        m = len(evidence.rows)
        a = torch.as_tensor(rng.random((1, m)))
        found = likelihood.log_bf(relaxed(problem, evidence, a.numpy()))[0]
        for j in range(m):
            on, off = a[0].clone(), a[0].clone()
            on[j], off[j] = 1.0, 0.0
            expected = likelihood.log_likelihood(on) - likelihood.log_likelihood(off)
            at = evidence.rows[j], evidence.cols[j]
            assert float(found[at]) == pytest.approx(float(expected), rel=1e-6, abs=1e-6)


def test_the_curvature_is_that_of_the_log_likelihood():
    """The larger of two: where all pairs are half an edge, and where all are edges."""
    for problem, evidence, likelihood in likelihoods():
        m, sharpest = len(evidence.rows), 0.0
        for level in (0.5, 1.0):
            at = torch.full((m,), level, dtype=torch.float64)
            H = torch.autograd.functional.hessian(likelihood.log_likelihood, at)
            sharpest = max(sharpest, -float(torch.linalg.eigvalsh(H)[0]))
        found = likelihood.curvature(torch.as_tensor(problem.U))
        assert found == pytest.approx(sharpest, rel=1e-6)
        assert 0 < found < np.inf


def test_it_is_defined_at_every_graph(rng):
    for problem, evidence, likelihood in likelihoods():
        A = relaxed(problem, evidence, 30 * rng.standard_normal((6, len(evidence.rows))))
        assert not likelihood.indefinite(A).any()
        assert likelihood(A, 0.1).isfinite().all()
        assert likelihood.log_bf(A).isfinite().all()


def weakly_coupled(rng, known):
    """Evidence about six pairs whose correlations are below 0.15."""
    d = rng.uniform(10, 60, 6)
    C = np.eye(6) + unvech(rng.uniform(-0.15, 0.15, 15))
    return evidence_of(known, C * np.sqrt(np.outer(d, d)), rng.normal(0, 9, 6))


@pytest.mark.slow
def test_langevin_with_an_exact_prior_is_near_enumeration(record_property):
    rng, known = np.random.default_rng(2), nothing_known(4)
    prior, evidence = random_prior(rng), weakly_coupled(rng, known)
    exact = exact_marginals(known, prior, evidence)
    found = sample_graphs(known, prior, MarginalLikelihood(evidence), rng, 200, ANNEALED)
    gap = np.abs(found.edge_probabilities - exact).max()
    record_property("largest_gap", gap)
    record_property("gap_of_the_prior_alone", np.abs(exact_marginals(known, prior) - exact).max())
    assert gap < 0.1
    assert np.abs(exact_marginals(known, prior) - exact).max() > 0.15


def test_langevin_along_the_slope_alone_goes_where_the_data_point(rng):
    """No prior: of pairs alone, an edge is found and what the data exclude is not."""
    known, F = nothing_known(4), 30 * np.eye(6)
    evidence = evidence_of(known, F, np.array([14.0, 0, 0, -14, 0, 14]))
    likelihood = MarginalLikelihood(evidence)
    found = sample_graphs(known, None, likelihood, rng, 40, ANNEALED)
    P = vech(found.edge_probabilities)
    assert found.samples.shape == (40, 4, 4)
    assert (P[[0, 3, 5]] > 0.8).all()
    assert (P[[1, 2, 4]] < 0.2).all()


def test_langevin_with_independent_edges_finds_what_strong_data_say(record_property):
    """Of coupled pairs too, and however stiff the likelihood."""
    rng = np.random.default_rng(0)
    A = all_graphs(4)[0b011001]
    problem = Problem.create(simulate_observations(np.eye(4) + 0.45 * A, 500, rng))
    evidence = data_evidence(problem)
    prior = IndependentEdges(evidence.slab.rate)
    likelihood = MarginalLikelihood(evidence)
    found = sample_graphs(problem.known, prior, likelihood, rng, 40, ANNEALED)
    gap = np.abs(vech(found.edge_probabilities) - evidence.beliefs.p).max()
    record_property("largest_gap", gap)
    assert (found.edge_probabilities[A == 1] > 0.9).all()
    assert (vech(found.edge_probabilities)[vech(A) == 0] < 0.3).all()


def test_the_likelihood_alone_finds_what_strong_data_say():
    """Variant LL of Langevin: independent edges at the rate of the data stand in for a prior."""
    rng = np.random.default_rng(0)
    A = all_graphs(4)[0b011001]
    X = simulate_observations(np.eye(4) + 0.45 * A, 500, rng)
    model = PartialGGM(
        use="data", engine=Langevin(draws=20, likelihood="marginal", schedule=ANNEALED),
        random_state=0,
    )  # fmt: skip
    P = model.fit(X).edge_probabilities_
    assert (P[A == 1] > 0.9).all()
    assert (vech(P)[vech(A) == 0] < 0.4).all()
