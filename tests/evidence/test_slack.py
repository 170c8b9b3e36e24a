"""Absent pairs that are not quite zero: the laws of slack."""

import numpy as np
import pytest
from scipy.integrate import quad

from graphprior import PartialGGM
from graphprior.diagnosis.notes import slack_in_words
from graphprior.errors import GraphPriorError
from graphprior.evidence.evidence import data_evidence
from graphprior.evidence.quadratic import Coupled, linearise, with_variances
from graphprior.evidence.slab import Slab
from graphprior.evidence.slack import (
    CLEAR,
    Slack,
    absent_slack,
    blur,
    doubts,
    linearise_with_slack,
)
from graphprior.gaussian.linalg import partial_correlations
from graphprior.gaussian.simulate import simulate_observations
from graphprior.graphs.matrices import hide
from graphprior.observations.moments import sample_covariance
from graphprior.problem.problem import Problem
from oracles import random_graph, random_precision, relabel

N = 20
WEAK, STRONG = 0.05, 0.35


def definite(rng, m, scale=1.0):
    B = rng.standard_normal((m, 2 * m))
    return scale * B @ B.T / (2 * m)


def weak_everywhere(rng, weak, n=N, k=2000):
    """A graph, and data in which absent pairs have partial correlations of size ``weak``."""
    A = random_graph(rng, n, 0.1)
    strength = np.where(
        A == 1, STRONG * rng.choice([-1, 1], (n, n)), weak * rng.standard_normal((n, n))
    )
    Theta = np.eye(n) + np.triu(strength, 1) + np.triu(strength, 1).T
    lowest = np.linalg.eigvalsh(Theta).min()
    Theta += max(0.0, 0.1 - lowest) * np.eye(n)
    known = hide(A, rng, share=0.3)
    return A, known, simulate_observations(Theta, k, rng), Theta


def test_blur_is_the_likelihood_with_an_error_in_each_strength(rng):
    F, b = definite(rng, 5, 30.0), rng.standard_normal(5) * 4
    found = blur(Coupled(F, b), np.full(5, 0.02))
    np.testing.assert_allclose(found.F, np.linalg.inv(np.linalg.inv(F) + 0.02 * np.eye(5)))
    # Where the likelihood is highest does not move.
    np.testing.assert_allclose(np.linalg.solve(found.F, found.b), np.linalg.solve(F, b))


def test_blurred_bayes_factor_is_that_of_two_widths_by_integration():
    """Slab N(0, s2 + v) against spike N(0, v), each integrated over the likelihood."""
    precision, shift, s2, v = 50.0, 12.0, 0.1, 0.01

    def integral(variance):
        def height(t):
            return np.exp(shift * t - precision * t * t / 2 - t * t / 2 / variance) / np.sqrt(
                variance
            )

        return quad(height, -3, 3, epsabs=0, epsrel=1e-10, limit=200, points=[0.2])[0]

    seen = blur(Coupled(np.array([[precision]]), np.array([shift])), np.array([v]))
    found = Slab(s2, 0.5).log_bf(seen.F[0], seen.b)
    assert found[0] == pytest.approx(np.log(integral(s2 + v) / integral(v)), rel=1e-6)


def test_slack_of_absent_strengths_is_found(rng):
    """b of strengths N(0, v) is N(0, F + v F F); the estimate is unbiased within its spread."""
    v, found = 0.003, []
    for _ in range(40):
        F = definite(rng, 60, 400.0)
        L = np.linalg.cholesky(F + v * F @ F)
        found.append(absent_slack(Coupled(F, L @ rng.standard_normal(60))).variance)
    error = np.std(found, ddof=1) / np.sqrt(len(found))
    assert abs(np.mean(found) - v) < 4 * error
    assert error < v / 5


def test_without_slack_a_clear_gain_is_rare(rng):
    clear = 0
    for _ in range(300):
        F = definite(rng, 40, 200.0)
        b = np.linalg.cholesky(F) @ rng.standard_normal(40)
        clear += absent_slack(Coupled(F, b)).gain >= CLEAR
    assert clear <= 3  # one in a thousand: four or more have a probability of 3e-4


def false_and_true(model, A, known):
    """Edges found among the hidden pairs: wrong ones, right ones."""
    found = np.triu(np.isnan(known)) & (model.adjacency_ == 1)
    return np.array([(found & (A == 0)).sum(), (found & (A == 1)).sum()])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::graphprior.errors.GraphPriorWarning")
def test_weak_dependence_everywhere_makes_no_edges(rng):
    """Exact zeros find false edges in it, the more the more data there are; slack does not."""
    with_slack, exact, there = np.zeros(2), np.zeros(2), 0
    for _ in range(5):
        A, known, X, _ = weak_everywhere(rng, WEAK)
        model = PartialGGM(None, random_state=0).fit(X, known=known)
        assert any("look dependent" in line for line in model.notes_)
        assert model.diagnostics_.data.slack == pytest.approx(WEAK, rel=0.5)
        with_slack += false_and_true(model, A, known)
        exact += false_and_true(PartialGGM(None, null_scale=0.0).fit(X, known=known), A, known)
        there += int((np.triu(np.isnan(known)) & (A == 1)).sum())
    assert exact[0] > 20
    assert with_slack[0] <= 0.1 * exact[0]
    assert with_slack[1] >= 0.85 * there


@pytest.mark.parametrize(("n", "k"), [(N, 300), (40, 40), (40, 15)])
def test_data_that_obey_the_model_are_judged_by_it(rng, n, k):
    for _ in range(5 if k == 300 else 2):
        _, known, X, _ = weak_everywhere(rng, 0.0, n, k)
        problem = Problem.create(X, known)
        found, exact = data_evidence(problem), data_evidence(problem, slack=0.0)
        assert found.slack == exact.slack
        np.testing.assert_array_equal(found.log_bf, exact.log_bf)


def test_variances_are_those_of_the_data_and_partial_correlations_stay(rng):
    Theta, S = definite(rng, 8), definite(rng, 8)
    there = with_variances(Theta, S)
    np.testing.assert_allclose(np.diag(np.linalg.inv(there)), np.diag(S))
    np.testing.assert_allclose(partial_correlations(there), partial_correlations(Theta))


def test_relabelling_and_units_do_not_matter(rng):
    _, known, X, _ = weak_everywhere(rng, WEAK)
    here = data_evidence(Problem.create(X, known))
    assert here.slack.variance > 0
    order = rng.permutation(N)
    there = data_evidence(Problem.create(X[:, order], relabel(known, order)))
    np.testing.assert_allclose(there.log_bf, relabel(here.log_bf, order), atol=0.02)
    scaled = data_evidence(Problem.create(X * rng.uniform(0.1, 10, N), known))
    np.testing.assert_allclose(scaled.log_bf, here.log_bf, atol=0.02)


def test_a_given_slack_is_used_where_nothing_is_known(rng):
    A, _, X, _ = weak_everywhere(rng, WEAK)
    odds = {s: data_evidence(Problem.create(X), slack=s) for s in (0.0, WEAK)}
    absent = np.triu(A == 0, 1)
    assert odds[WEAK].slack.size == pytest.approx(WEAK)
    assert slack_in_words(odds[WEAK].slack) == []
    assert (odds[WEAK].log_bf[absent] > 0).sum() < 0.3 * (odds[0.0].log_bf[absent] > 0).sum()


@pytest.mark.parametrize("slack", [-0.1, 1.0, np.nan])
def test_a_slack_that_is_no_partial_correlation_is_refused(rng, slack):
    with pytest.raises(GraphPriorError, match="null_scale"):
        PartialGGM(None, null_scale=slack).fit(rng.standard_normal((20, 4)))


def test_slack_is_refused_where_it_cannot_be(rng):
    with pytest.raises(GraphPriorError, match="plugged in"):
        PartialGGM(None, engine="langevin", null_scale=0.1).fit(rng.standard_normal((20, 4)))


def test_slack_that_is_given_works_at_any_size(rng):
    """Beyond the number of pairs up to which it is estimated, too."""
    X = rng.standard_normal((200, 80))
    X[:, 1] += X[:, 0]
    known = np.zeros((80, 80))
    known[0, 1] = known[1, 0] = known[2, 3] = known[3, 2] = np.nan
    found = data_evidence(Problem.create(X, known), slack=0.1)
    assert found.slack.size == pytest.approx(0.1)
    assert found.beliefs.p[0] > 0.9 > 0.5 > found.beliefs.p[1]


@pytest.mark.parametrize("seen", [None, np.array([1.0, 0.7, 0.9, 1.0, 0.8])])
def test_errors_and_absent_pairs_are_integrated_out(rng, seen):
    """Against the same by covariances: estimates of all entries have errors of both kinds."""
    A = random_graph(rng, 5, 0.5)
    Theta = random_precision(rng, A)
    X = simulate_observations(Theta, 60, rng)
    S, k, v = sample_covariance(X), 60.0, 0.04
    rows, cols = np.triu_indices(5)
    absent = (A[rows, cols] == 0) & (rows != cols)
    told = linearise(Theta, S, k, rows, cols, seen)
    covariance = np.linalg.inv(told.F)
    estimate = covariance @ told.b
    weight = np.linalg.inv(covariance + np.diag(np.where(rows == cols, 0.0, v)))
    free = ~absent
    found = linearise_with_slack(
        Theta, S, k, rows[free], cols[free], (rows[absent], cols[absent]), v, seen
    )
    np.testing.assert_allclose(found.F, weight[np.ix_(free, free)], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(found.b, (weight @ estimate)[free], rtol=1e-6, atol=1e-6)
    exact = linearise_with_slack(Theta, S, k, rows[free], cols[free], (rows[:0], cols[:0]), 0.0)
    np.testing.assert_array_equal(exact.F, linearise(Theta, S, k, rows[free], cols[free]).F)


@pytest.mark.slow
def test_a_gain_that_is_not_clear_changes_nothing(rng, monkeypatch):
    problems = []
    for _ in range(12):
        _, known, X, _ = weak_everywhere(rng, 0.0, k=300)
        problems.append(Problem.create(X, known))
    assert all(data_evidence(p).slack == (0, 0) for p in problems)
    monkeypatch.setattr("graphprior.evidence.slack.CLEAR", 1e-9)
    monkeypatch.setattr("graphprior.evidence.slack.SCORE", -10.0)
    assert any(data_evidence(p).slack.variance > 0 for p in problems)


@pytest.mark.filterwarnings("ignore::graphprior.errors.GraphPriorWarning")
def test_absent_pairs_are_near_zero_in_the_mode_and_zero_in_the_estimate(rng):
    _, known, X, Theta = weak_everywhere(rng, WEAK)
    model = PartialGGM(None, random_state=0).fit(X, known=known)
    absent = np.triu(known == 0, 1)
    unit = np.sqrt(np.diag(Theta))
    truth = (Theta / np.outer(unit, unit))[absent]
    own = np.sqrt(np.diag(model.Theta_hat_))
    found = (model.Theta_hat_ / np.outer(own, own))[absent]
    assert np.corrcoef(found, truth)[0, 1] > 0.8
    assert not model.precision_[absent].any()


@pytest.mark.filterwarnings("ignore::graphprior.errors.GraphPriorWarning")
@pytest.mark.parametrize("missing", ["em", "pairwise"])
def test_slack_is_found_with_entries_missing_too(rng, missing):
    _, known, X, _ = weak_everywhere(rng, WEAK)
    X[rng.random(X.shape) < 0.1] = np.nan
    problem = Problem.create(X, known, missing=missing)
    assert data_evidence(problem).slack.size == pytest.approx(WEAK, rel=0.5)


@pytest.mark.filterwarnings("ignore::graphprior.errors.GraphPriorWarning")
@pytest.mark.parametrize("slack", [0.0, 0.1, 0.2])
def test_the_strength_that_is_explained_is_the_partial_correlation(rng, slack):
    A, known, X, Theta = weak_everywhere(rng, 0.0, k=5000)
    i, j = np.argwhere(np.triu((A == 1) & np.isnan(known)))[0]
    model = PartialGGM(None, null_scale=slack, random_state=0).fit(X, known=known)
    partial = -Theta[i, j] / np.sqrt(Theta[i, i] * Theta[j, j])
    assert model.explain(int(i), int(j)).partial_correlation == pytest.approx(partial, abs=0.06)


def test_slack_is_refused_where_no_data_are_seen(rng):
    with pytest.raises(GraphPriorError, match="sees no data"):
        PartialGGM(None, use="prior", null_scale=0.1).fit(rng.standard_normal((20, 4)))


# Doubts: absent pairs that look like edges

PAIRS = np.arange(30), np.arange(30) + 1


def test_pairs_are_doubted_rarely_where_the_model_holds(rng):
    doubted = 0
    for _ in range(400):
        F = definite(rng, 30, 200.0)
        b = np.linalg.cholesky(F) @ rng.standard_normal(30)
        doubted += len(doubts(Coupled(F, b), Slack(), *PAIRS)) > 0
    assert doubted <= 4  # one in a thousand: five or more have a probability of 8e-5


def test_strong_pairs_are_named_in_order_and_their_neighbours_are_not(rng):
    F = definite(rng, 30, 200.0)
    F += 150 * np.outer(np.ones(30), np.ones(30))  # each pulls at all others
    b = np.linalg.cholesky(F) @ rng.standard_normal(30)
    b += F[:, 7] * 0.9 - F[:, 21] * 2.0
    found = doubts(Coupled(F, b), Slack(), *PAIRS)
    assert [d.i for d in found] == [21, 7]
    assert found[1].partial_correlation == pytest.approx(-0.9, abs=0.3)
    assert found[0].z < 0 < found[1].z


def test_with_slack_the_clearest_is_named_whatever_it_is(rng):
    v, F = 0.01, definite(rng, 30, 200.0)
    b = np.linalg.cholesky(F + v * F @ F) @ rng.standard_normal(30)
    (one,) = doubts(Coupled(F, b), Slack(v, 9.0), *PAIRS)
    z = b / np.sqrt(np.diag(F) + v * np.diag(F @ F))
    assert one.i == np.abs(z).argmax()
    assert one.z == pytest.approx(z[one.i])


@pytest.mark.filterwarnings("ignore::graphprior.errors.GraphPriorWarning")
@pytest.mark.parametrize("partial", [0.6, 0.9, 0.99])
def test_one_wrong_entry_costs_no_other_edge_and_is_told_right(rng, partial):
    for _ in range(3):
        Theta = np.eye(N)
        Theta[2, 3:6] = Theta[3:6, 2] = -0.13
        Theta[0, 1] = Theta[1, 0] = -partial
        X = simulate_observations(Theta, 1000, rng)
        known = np.zeros((N, N))
        known[2, 3:8] = known[3:8, 2] = np.nan
        for slack in (None, 0.0):
            model = PartialGGM(None, random_state=0, null_scale=slack).fit(X, known=known)
            assert (model.edge_probabilities_[2, 3:6] > 0.7).sum() >= 2
            assert "x0 and x1 (partial" in model.notes_[0]
            assert model.diagnostics_.data.slack == 0
            (doubt,) = model.evidence_.doubts
            assert doubt.partial_correlation == pytest.approx(partial, abs=0.1)


@pytest.mark.filterwarnings("ignore::graphprior.errors.GraphPriorWarning")
@pytest.mark.parametrize("k", [300, 1000])
def test_a_wrong_entry_is_named(rng, k):
    for _ in range(5):
        _, known, X, Theta = weak_everywhere(rng, 0.0, k=k)
        i, j = (int(v) for v in np.argwhere(np.triu(known == 1))[0])
        known[i, j] = known[j, i] = 0
        model = PartialGGM(None, random_state=0).fit(X, known=known)
        assert f"most like an edge: x{i} and x{j} (partial" in model.notes_[0]
        found = data_evidence(Problem.create(X, known)).doubts[0]
        partial = -Theta[i, j] / np.sqrt(Theta[i, i] * Theta[j, j])
        # Next to pairs that are held at 0 its own strength is a little blurred.
        assert found.partial_correlation == pytest.approx(partial, abs=0.2)


def test_true_entries_are_not_doubted(rng):
    for _ in range(10):
        _, known, X, _ = weak_everywhere(rng, 0.0, k=300)
        assert data_evidence(Problem.create(X, known)).doubts == ()
