import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import expit, logit
from scipy.stats import multivariate_normal

from graphprior import spike_slab
from graphprior.spike_slab import (
    conditional_log_bf,
    expectation_propagation,
    log_bayes_factor,
    log_evidence,
    tilted,
)

S2 = 0.1


def likelihood(rng, m=8, information=40.0, rank=16, s2=S2, share=0.3):
    """F with correlated pairs (the lower its rank, the more), and a b drawn from it."""
    Z = rng.standard_normal((rank, m))
    Z /= np.sqrt((Z**2).sum(0))
    F = information * Z.T @ Z
    theta = (rng.random(m) < share) * rng.normal(0, np.sqrt(s2), m)
    return F, F @ theta + np.sqrt(information) * Z.T @ rng.standard_normal(rank)


def graphs(m):
    return np.array(list(itertools.product([False, True], repeat=m)))


def exact_marginals(F, b, s2, log_odds):
    """P(edge) of each pair, from all graphs."""
    A = graphs(len(b))
    log_p = np.array([log_evidence(F, b, s2, a) for a in A]) + A @ log_odds
    p = np.exp(log_p - log_p.max())
    return p @ A / p.sum()


@pytest.fixture
def to_the_end(monkeypatch):
    """Expectation propagation until nothing moves."""
    monkeypatch.setattr(spike_slab, "TOLERANCE", 1e-10)
    monkeypatch.setattr(spike_slab, "MAX_ITER", 5000)


@given(st.floats(0, 2000), st.floats(-60, 60), st.floats(1e-3, 2))
def test_bayes_factor_agrees_with_numerical_integration(precision, shift, s2):
    width = (precision + 1 / s2) ** -0.5
    mean = shift * width**2
    top = shift * mean - 0.5 * (precision + 1 / s2) * mean**2

    def integrand(t):
        return np.exp(shift * t - 0.5 * (precision + 1 / s2) * t**2 - top)

    area, _ = quad(integrand, mean - 12 * width, mean + 12 * width, epsabs=0, points=[mean])
    expected = np.log(area / np.sqrt(2 * np.pi * s2)) + top
    found = log_bayes_factor(np.array(precision), np.array(shift), s2)
    assert found == pytest.approx(expected, rel=1e-8, abs=1e-8)


@given(st.integers(1, 7), st.integers(0, 999))
def test_evidence_is_that_of_the_gaussian(m, seed):
    """log N(theta_hat; 0, C + s2 diag(a)) against a = 0, with C = inv(F), theta_hat = C b."""
    rng = np.random.default_rng(seed)
    F, b = likelihood(rng, m, rank=3 * m)
    C = np.linalg.inv(F)

    def density(a):
        return multivariate_normal(np.zeros(m), C + S2 * np.diag(a)).logpdf(C @ b)

    for a in rng.random((4, m)) < 0.5:
        expected = density(a) - density(np.zeros(m))
        assert log_evidence(F, b, S2, a) == pytest.approx(expected, rel=1e-6, abs=1e-6)


@given(st.integers(1, 10), st.sampled_from([2, 5, 30]), st.floats(1, 1e5), st.integers(0, 999))
def test_conditional_bayes_factors_are_differences_of_evidence(m, rank, information, seed):
    """For every pair of a graph, whether it is an edge of it or not; F may be singular."""
    rng = np.random.default_rng(seed)
    F, b = likelihood(rng, m, information, rank)
    a = rng.random(m) < rng.random()
    found = conditional_log_bf(F, b, S2, a)
    for j in range(m):
        on, off = (np.where(np.arange(m) == j, value, a) for value in (True, False))
        expected = log_evidence(F, b, S2, on) - log_evidence(F, b, S2, off)
        assert found[j] == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_tilted_beliefs_are_those_of_the_mixture_and_the_sites_match_them(rng):
    """Moments of spike and slab by numerical integration; the site gives them to a Gaussian."""
    precision, shift = rng.uniform(1, 200, 20), rng.normal(0, 8, 20)
    log_odds = rng.normal(-1, 1, 20)
    found = tilted(precision, shift, S2, log_odds)
    for i in range(20):

        def slab(t, power=0, i=i):
            likely = np.exp(shift[i] * t - precision[i] * t**2 / 2)
            return t**power * likely * np.exp(-(t**2) / 2 / S2) / np.sqrt(2 * np.pi * S2)

        moments = [quad(slab, -4, 4, args=(power,), epsabs=0, limit=200)[0] for power in range(3)]
        p = expit(log_odds[i] + np.log(moments[0]))
        first, second = moments[1] / moments[0], moments[2] / moments[0]
        assert found.p[i] == pytest.approx(p, rel=1e-6)
        assert found.mean[i] == pytest.approx(first, rel=1e-6)
        assert found.variance[i] == pytest.approx(second - first**2, rel=1e-5)
        r, q = found.sites[0][i], found.sites[1][i]
        assert (shift[i] + q) / (precision[i] + r) == pytest.approx(p * first, rel=1e-6)
        variance = p * second - (p * first) ** 2
        if 1 / variance > precision[i] + 1e-2 / S2:  # else no proper Gaussian has it
            assert 1 / (precision[i] + r) == pytest.approx(variance, rel=1e-5)
        else:
            assert r > 0


def test_expectation_propagation_is_exact_for_independent_pairs(rng):
    precision, b = rng.uniform(1, 500, 12), rng.normal(0, 20, 12)
    log_odds = rng.normal(-1, 1, 12)
    found = expectation_propagation(np.diag(precision), b, S2, log_odds)
    log_bf = log_bayes_factor(precision, b, S2)
    assert found.converged
    np.testing.assert_allclose(found.log_bf, log_bf, atol=1e-6)
    np.testing.assert_allclose(found.p, expit(log_odds + log_bf), atol=1e-6)
    np.testing.assert_allclose(found.mean, b / (precision + 1 / S2))
    np.testing.assert_allclose(found.variance, 1 / (precision + 1 / S2))


@pytest.mark.parametrize(
    ("rank", "information", "mean_bound", "bound"),
    [(40, 40, 0.005, 0.02), (40, 1000, 0.01, 0.05), (16, 40, 0.01, 0.05), (8, 40, 0.02, 0.1)],
)
def test_expectation_propagation_is_near_enumeration(
    rank, information, mean_bound, bound, record_property
):
    """All 256 graphs of 8 pairs; the strength of their correlation grows as the rank falls."""
    log_odds, errors, alone = np.full(8, logit(0.3)), [], []
    for seed in range(12):
        F, b = likelihood(np.random.default_rng(seed), 8, information, rank)
        exact = exact_marginals(F, b, S2, log_odds)
        found = expectation_propagation(F, b, S2, log_odds)
        assert found.converged
        errors.append(np.abs(found.p - exact))
        ignored = log_bayes_factor(np.diag(F), b, S2)
        alone.append(np.abs(expit(log_odds + ignored) - exact))
    record_property("mean_total_variation", np.mean(errors))
    record_property("largest_total_variation", np.max(errors))
    record_property("mean_with_the_others_ignored", np.mean(alone))
    assert np.mean(errors) < mean_bound
    assert np.max(errors) < bound
    assert np.mean(errors) < np.mean(alone) / 3


def test_the_bayes_factor_leaves_the_pairs_own_odds_out(rng, to_the_end):
    """p is log_bf plus the prior's log-odds; the log_bf of a pair hardly knows its own."""
    F, b = likelihood(rng, rank=40)
    log_odds = np.full(8, -1.0)
    here = expectation_propagation(F, b, S2, log_odds)
    np.testing.assert_allclose(here.p, expit(here.log_bf + log_odds), atol=1e-9)
    for j in range(8):
        told = np.where(np.arange(8) == j, 3.0, log_odds)
        there = expectation_propagation(F, b, S2, told)
        assert there.log_bf[j] == pytest.approx(here.log_bf[j], abs=0.05)
        assert there.p[j] > here.p[j]


def test_known_pairs_lead_to_the_conditional_bayes_factor(rng, to_the_end):
    """With the others certain there is nothing to average out."""
    F, b = likelihood(rng, 8, 60.0, 12)
    a = rng.random(8) < 0.4
    expected = conditional_log_bf(F, b, S2, a)
    for j in range(8):
        told = np.where(np.arange(8) == j, -1.0, np.where(a, 30.0, -30.0))
        found = expectation_propagation(F, b, S2, told)
        assert found.log_bf[j] == pytest.approx(expected[j], rel=0.02, abs=0.02)


def test_permuting_pairs_permutes_the_beliefs(rng):
    F, b = likelihood(rng)
    log_odds, order = rng.normal(-1, 1, 8), rng.permutation(8)
    here = expectation_propagation(F, b, S2, log_odds)
    there = expectation_propagation(F[np.ix_(order, order)], b[order], S2, log_odds[order])
    for name in ("log_bf", "p", "mean", "variance"):
        np.testing.assert_allclose(getattr(there, name), getattr(here, name)[order], atol=1e-8)


def test_units_of_strength_do_not_matter(rng):
    """theta -> theta / c: F and b grow by c**2 and c, s2 falls by c**2."""
    F, b = likelihood(rng)
    log_odds, c = np.full(8, -1.0), 7.0
    here = expectation_propagation(F, b, S2, log_odds)
    there = expectation_propagation(F * c**2, b * c, S2 / c**2, log_odds)
    np.testing.assert_allclose(there.log_bf, here.log_bf, atol=1e-8)


@pytest.mark.parametrize(("rank", "information"), [(40, 200), (16, 40), (8, 40), (4, 10)])
def test_all_starts_end_at_the_same_beliefs(rank, information, to_the_end):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        F, b = likelihood(rng, 8, information, rank)
        log_odds = np.full(8, logit(0.3))
        here = expectation_propagation(F, b, S2, log_odds)
        assert here.converged
        for _ in range(3):
            start = 10.0 ** rng.uniform(0, 4, 8), rng.normal(0, 5, 8)
            there = expectation_propagation(F, b, S2, log_odds, start)
            np.testing.assert_allclose(there.log_bf, here.log_bf, atol=1e-5)


def test_the_usual_stop_is_near_the_end(monkeypatch, record_property):
    found = []
    for tolerance in (spike_slab.TOLERANCE, 1e-10):
        monkeypatch.setattr(spike_slab, "TOLERANCE", tolerance)
        monkeypatch.setattr(spike_slab, "MAX_ITER", 100 if tolerance > 1e-9 else 5000)
        rngs = map(np.random.default_rng, range(12))
        tables = [likelihood(rng, 8, information, 16) for rng in rngs for information in (40, 200)]
        found.append([expectation_propagation(F, b, S2, np.full(8, -1.0)).p for F, b in tables])
    gap = np.abs(np.subtract(*found)).max()
    record_property("largest_change_of_p", gap)
    assert gap < 0.01


def test_no_pairs_have_no_beliefs():
    found = expectation_propagation(np.zeros((0, 0)), np.zeros(0), S2, np.zeros(0))
    assert found.converged
    assert len(found.log_bf) == 0


def test_no_data_say_nothing(rng):
    found = expectation_propagation(np.zeros((5, 5)), np.zeros(5), S2, rng.normal(0, 2, 5))
    np.testing.assert_allclose(found.log_bf, 0, atol=1e-6)
    np.testing.assert_allclose(
        conditional_log_bf(np.zeros((5, 5)), np.zeros(5), S2, found.p > 0.5), 0
    )
