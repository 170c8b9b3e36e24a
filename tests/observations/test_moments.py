from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal
from sklearn.utils.estimator_checks import parametrize_with_checks

from calibration import slope, worst_bin
from graphprior import PartialGGM
from graphprior.diagnosis.notes import observation_notes
from graphprior.engines.langevin import Langevin
from graphprior.errors import GraphPriorError, GraphPriorWarning, notes
from graphprior.evidence.evidence import data_evidence
from graphprior.evidence.precision import constrained_mle
from graphprior.evidence.quadratic import linearise
from graphprior.gaussian.linalg import nearest_correlation
from graphprior.gaussian.simulate import simulate_observations, simulate_precision
from graphprior.gaussian.wishart import WishartPrior
from graphprior.graphs.matrices import hide, vech
from graphprior.observations.missing import em_steps, expectation_maximisation, information
from graphprior.observations.moments import sample_covariance
from graphprior.priors.noise import Schedule
from graphprior.problem.problem import Problem
from oracles import engine_with, random_graph, random_precision, random_problem, relabel

METHODS = ["em", "pairwise"]
NAN = np.nan


def with_holes(rng, X, share=0.2):
    """Entries missing completely at random, ``share`` a number or one for each column."""
    X = X.copy()
    X[rng.random(X.shape) < share] = NAN
    return X


def correlated(rng, k, n):
    L = np.linalg.cholesky(np.cov(rng.standard_normal((n, 3 * n))))
    return rng.standard_normal((k, n)) @ L.T + rng.normal(0, 3, n)


# Expectation-maximisation.


def log_likelihood(X, mean, Sigma):
    """Of what was seen, row by row, up to a constant."""
    total = 0.0
    for x in X:
        o = ~np.isnan(x)
        V, z = Sigma[np.ix_(o, o)], x[o] - mean[o]
        total -= (np.linalg.slogdet(V)[1] + z @ np.linalg.solve(V, z)) / 2
    return total


@given(st.integers(0, 999), st.booleans(), st.booleans())
def test_the_posterior_never_falls(seed, centred, with_prior):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    X = with_holes(rng, correlated(rng, 30, n), 0.3)
    prior = WishartPrior(n + 2.0, rng.uniform(0.5, 2, n)) if with_prior else None
    values = [
        fit.log_posterior for fit, _ in zip(em_steps(X, centred, prior), range(15), strict=False)
    ]
    assert (np.diff(values) > -1e-9 * np.abs(values[0])).all()
    assert values[-1] > values[0]


def test_the_value_that_rises_is_the_likelihood_of_what_was_seen(rng):
    X = with_holes(rng, correlated(rng, 25, 4), 0.3)
    steps = [fit for fit, _ in zip(em_steps(X), range(6), strict=False)]
    gains = np.diff([fit.log_posterior for fit in steps])
    exact = np.diff([log_likelihood(X, fit.mean, fit.Sigma) for fit in steps])
    np.testing.assert_allclose(gains, exact, rtol=1e-8)


def test_a_step_is_expectation_then_maximisation(rng):
    """Fill in each row by regression, add the covariance of what was filled in, average."""
    X = with_holes(rng, correlated(rng, 25, 4), 0.3)
    prior = WishartPrior(7.0, rng.uniform(0.5, 2, 4))
    _, here, there = (fit for fit, _ in zip(em_steps(X, prior=prior), range(3), strict=False))
    filled, spread = X.copy(), np.zeros((4, 4))
    for x in filled:
        o, m = ~np.isnan(x), np.isnan(x)
        slope = here.Sigma[np.ix_(m, o)] @ np.linalg.inv(here.Sigma[np.ix_(o, o)])
        x[m] = here.mean[m] + slope @ (x[o] - here.mean[o])
        rest = here.Sigma[np.ix_(m, m)] - slope @ here.Sigma[np.ix_(o, m)]
        spread[np.ix_(m, m)] += rest / len(X)
    S = sample_covariance(filled) + spread
    np.testing.assert_allclose(there.mean, filled.mean(axis=0))
    np.testing.assert_allclose(here.S, S)
    np.testing.assert_allclose(there.Sigma, (25 * S + np.diag(prior.psi)) / 32)


def test_two_variables_of_which_one_stops_early_have_a_closed_form(rng):
    """Regress the second on the first where both were seen (Anderson 1957)."""
    X = correlated(rng, 60, 2)
    X[35:, 1] = NAN
    both = X[:35]
    m, V = X[:, 0].mean(), X[:, 0].var()
    S = sample_covariance(both)
    slope = S[0, 1] / S[0, 0]
    mean = np.array([m, both[:, 1].mean() + slope * (m - both[:, 0].mean())])
    rest = S[1, 1] - slope * S[0, 1]
    expected = np.array([[V, slope * V], [slope * V, rest + slope**2 * V]])
    fit = expectation_maximisation(X, tol=1e-12, max_iter=10_000)
    np.testing.assert_allclose(fit.mean, mean, rtol=1e-8)
    np.testing.assert_allclose(fit.Sigma, expected, rtol=1e-8)
    np.testing.assert_allclose(fit.S, expected, rtol=1e-8)


def test_no_direction_leads_up_from_the_maximum(rng):
    X = with_holes(rng, correlated(rng, 80, 3), 0.3)
    fit = expectation_maximisation(X, tol=1e-12, max_iter=10_000)
    best = log_likelihood(X, fit.mean, fit.Sigma)
    for _ in range(20):
        D, d = rng.standard_normal((3, 3)), rng.standard_normal(3)
        moved = log_likelihood(X, fit.mean + 1e-3 * d, fit.Sigma + 1e-3 * (D + D.T))
        assert moved < best


def test_the_worth_of_a_pair_is_its_observed_information(rng):
    """Minus the mean second derivative of the likelihood along Theta_ij, over that of a whole row.

    By simulation under the Sigma found, within 4 standard errors.
    """
    X = with_holes(rng, correlated(rng, 12, 3), 0.4)
    fit = expectation_maximisation(X, prior=WishartPrior(5.0, np.ones(3)))
    worth, Theta, h = information(fit), np.linalg.inv(fit.Sigma), 1e-3
    holes = np.where(np.isnan(X), NAN, 0.0)
    E = np.zeros((3, 3))
    E[0, 1] = E[1, 0] = 1
    slopes = []
    for _ in range(400):
        Z = multivariate_normal(cov=fit.Sigma).rvs(12, random_state=rng)
        up, down = (
            log_likelihood(Z + holes, np.zeros(3), np.linalg.inv(Theta + t * E)) for t in (h, -h)
        )
        slopes.append((up - down) / (2 * h))
    whole = fit.Sigma[0, 0] * fit.Sigma[1, 1] + fit.Sigma[0, 1] ** 2
    found = np.var(slopes) / whole
    assert abs(found - worth[0, 1]) < 4 * worth[0, 1] * np.sqrt(2 / 400)
    assert worth[0, 1] < 12


def test_whole_rows_are_worth_one_each(rng):
    X = correlated(rng, 30, 4)
    np.testing.assert_allclose(information(expectation_maximisation(X)), 30)


# Pairs of columns.


@given(st.integers(0, 999), st.integers(3, 7))
def test_the_nearest_correlation_matrix_is_a_projection(seed, n):
    """Definite, unit diagonal, itself where it is one, and optimal."""
    rng = np.random.default_rng(seed)
    R = np.eye(n) + np.triu(rng.uniform(-1, 1, (n, n)), 1)
    R = R + np.triu(R, 1).T
    near = nearest_correlation(R)
    assert np.linalg.eigvalsh(near)[0] > -1e-6
    np.testing.assert_allclose(np.diag(near), 1)
    np.testing.assert_allclose(nearest_correlation(near), near, atol=1e-6)
    # Nearest: up to a diagonal, what was added is semidefinite and orthogonal to the answer.
    added = near - R
    added -= np.diag(np.diag(added @ near))
    np.testing.assert_allclose(added @ near, 0, atol=1e-4)
    assert np.linalg.eigvalsh(added)[0] > -1e-4


def test_pairs_are_correlated_by_the_rows_that_have_both(rng):
    X = with_holes(rng, correlated(rng, 200, 4), 0.2)
    found = Problem.create(X, missing="pairwise").moments
    np.testing.assert_allclose(np.diag(found.S), np.nanvar(X, axis=0))
    np.testing.assert_allclose(found.mean, np.nanmean(X, axis=0))
    R = pd.DataFrame(X).corr().to_numpy()
    assert np.linalg.eigvalsh(R)[0] > 0
    scale = np.sqrt(np.diag(found.S))
    np.testing.assert_allclose(found.S, R * np.outer(scale, scale))
    seen = ~np.isnan(X)
    assert found.worth[0, 1] <= (seen[:, 0] & seen[:, 1]).sum()


@pytest.mark.slow
@pytest.mark.parametrize("strength", [0.0, 0.45])
def test_the_worth_of_a_pair_is_how_well_it_is_estimated(strength):
    """Variance of the pairwise Theta_01 over that of one row, within 4 standard errors and 5%."""
    rng = np.random.default_rng(0)
    Theta = np.eye(4) + strength * (np.eye(4, k=2) + np.eye(4, k=-2))
    Theta[1, 2] = Theta[2, 1] = strength
    estimates, worth, counts = [], [], []
    for _ in range(200):
        X = with_holes(rng, simulate_observations(Theta, 1000, rng), [0.1, 0.3, 0.5, 0.2])
        found = Problem.create(X, missing="pairwise").moments
        estimates.append(np.linalg.inv(found.S)[0, 1])
        worth.append(found.worth[0, 1])
        counts.append((~np.isnan(X[:, :2])).all(1).sum())
    ratio = np.var(estimates) * np.mean(worth) / (Theta[0, 0] * Theta[1, 1])
    assert abs(ratio - 1) < 4 * np.sqrt(2 / 200) + 0.05
    if strength:  # counting rows would claim far too much
        assert np.mean(worth) < 0.8 * np.mean(counts)
    else:
        assert np.mean(worth) == pytest.approx(np.mean(counts), rel=0.02)


# Both.


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("centred", [True, False])
def test_nothing_missing_is_as_if_nothing_were_said(rng, method, centred):
    _, problem = random_problem(rng, n=7, k=20)
    for engine in ("direct", Langevin(schedule=Schedule.linear(L=2, T=3))):
        options = {"engine": engine, "assume_centered": centred, "random_state": 0}
        with notes() as words:
            here = PartialGGM(**{"prior": None, **options}).fit(problem.X, known=problem.known)
            there = PartialGGM(None, missing=method, **options).fit(problem.X, known=problem.known)
        assert not any("missing" in line for line in words)
        for name in ("edge_probabilities_", "precision_", "location_", "samples_", "Theta_hat_"):
            np.testing.assert_array_equal(getattr(here, name), getattr(there, name))
        assert there.diagnostics_.observations.effective_k == 20
        assert there.diagnostics_.observations.missing_entries == 0


@pytest.mark.parametrize("method", METHODS)
def test_one_missing_entry_changes_little(rng, method):
    X = correlated(rng, 2000, 5)
    S = sample_covariance(X)
    X[3, 2] = NAN
    found = Problem.create(X, missing=method).moments
    np.testing.assert_allclose(found.S, S, atol=0.02)
    assert 1999 <= found.k < 2000


@pytest.mark.parametrize("method", METHODS)
def test_order_units_and_names_do_not_matter(rng, method):
    X = with_holes(rng, correlated(rng, 50, 5))
    order, rows = rng.permutation(5), rng.permutation(50)
    units, shift = 10.0 ** rng.uniform(-2, 2, 5), rng.normal(0, 5, 5)
    here = Problem.create(X, missing=method).moments
    there = Problem.create((X * units + shift)[rows][:, order], missing=method).moments
    S = here.S * np.outer(units, units)
    np.testing.assert_allclose(there.S, relabel(S, order), rtol=1e-6, atol=1e-9 * S.max())
    np.testing.assert_allclose(there.mean, (here.mean * units + shift)[order], rtol=1e-6)
    assert there.k == pytest.approx(here.k)
    np.testing.assert_allclose(there.share, here.share[order])


@pytest.mark.parametrize("method", METHODS)
def test_many_observations_tell_the_truth(method):
    """The covariance to 4 standard errors of the pair's own number, and the graph."""
    rng = np.random.default_rng(0)
    A = random_graph(rng, 6, 0.4)
    Theta = random_precision(rng, A, 0.5)
    X = with_holes(rng, simulate_observations(Theta, 30_000, rng), 0.2)
    problem = Problem.create(X, hide(A, rng, share=0.6), missing=method)
    Sigma, found = np.linalg.inv(Theta), problem.moments
    d = np.diag(Sigma)
    error = np.sqrt((np.outer(d, d) + Sigma**2) / found.worth)
    assert (np.abs(found.S - Sigma) < 4 * error).all()
    log_bf, truth = vech(data_evidence(problem).log_bf), vech(A) == 1
    U = vech(problem.U)
    assert (log_bf[U & truth] > 5).all()
    assert (log_bf[U & ~truth] < -1).all()


def test_missing_at_random_misleads_pairs_but_not_expectation_maximisation():
    """The second variable is seen only where the first is large."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(5000)
    X = np.column_stack([x, 0.7 * x + rng.standard_normal(5000)])
    X[x < 0.5, 1] = NAN
    mean = {method: Problem.create(X, missing=method).moments.mean[1] for method in METHODS}
    assert abs(mean["em"]) < 4 * np.sqrt(1.5 / 1500) * 3
    assert mean["pairwise"] > 0.5


@pytest.mark.parametrize("k", [4, 8])
def test_fewer_rows_than_variables_are_no_obstacle(k):
    rng = np.random.default_rng(k)
    _, problem = random_problem(rng, n=10, k=k)
    X = with_holes(rng, problem.X, 0.15)
    found = data_evidence(Problem.create(X, problem.known, missing="em"))
    assert np.isfinite(found.log_bf).all()
    assert found.beliefs.converged
    assert np.isfinite(constrained_mle(Problem.create(X, problem.known, missing="em")).Theta).all()


# What pairs are worth.


def test_shares_give_each_pair_its_number_of_rows(rng):
    """Where rows miss entries independently a pair is worth k times both shares."""
    q = np.array([0.0, 0.1, 0.3, 0.5, 0.6])
    X = with_holes(rng, rng.standard_normal((20_000, 5)), q)
    for method in METHODS:
        found = Problem.create(X, missing=method).moments
        np.testing.assert_allclose(
            vech(found.k * np.outer(found.share, found.share)),
            vech(20_000 * np.outer(1 - q, 1 - q)), rtol=0.05,
        )  # fmt: skip


def test_a_share_is_a_number_of_rows(rng):
    """Half of every variable's root: F and b of k rows are those of k / 2."""
    A, problem = random_problem(rng, n=6, k=40)
    S = sample_covariance(problem.X)
    Theta = random_precision(rng, A)
    rows, cols = np.triu_indices(6)
    here = linearise(Theta, S, 40, rows, cols, np.full(6, np.sqrt(0.5)))
    there = linearise(Theta, S, 20, rows, cols)
    np.testing.assert_allclose(here.F, there.F)
    np.testing.assert_allclose(here.b, there.b)
    share = rng.uniform(0.5, 1, 6)
    uneven = linearise(Theta, S, 40, rows, cols, share)
    unknown = np.nonzero(np.triu(problem.U))
    at = [int(np.flatnonzero((rows == i) & (cols == j))[0]) for i, j in zip(*unknown, strict=True)]
    whole = np.diag(linearise(Theta, S, 40, rows, cols).F)[at]
    expected = whole * share[unknown[0]] * share[unknown[1]]
    np.testing.assert_allclose(np.diag(uneven.F)[at], expected)


def simulated(rng, n, k):
    A = random_graph(rng, n, 0.2)
    X = simulate_observations(simulate_precision(A, rng, tries=5000), k, rng)
    return A, X, hide(A, rng, share=1 / 3)


@pytest.fixture(scope="module", params=[("em", 40), ("pairwise", 40), ("pairwise", 200)])
def pooled(request):
    """log Bayes factors of hidden pairs and whether they are edges, a fifth of X missing."""
    method, k = request.param
    log_bf, truth = [], []
    for seed in range(80):
        rng = np.random.default_rng(seed)
        A, X, known = simulated(rng, 8, k)
        found = data_evidence(Problem.create(with_holes(rng, X), known, missing=method))
        log_bf.append(found.beliefs.log_bf)
        truth.append(A[found.rows, found.cols])
    return np.concatenate(log_bf), np.concatenate(truth)


@pytest.mark.slow
def test_probabilities_are_frequencies_with_a_fifth_missing(pooled, record_property):
    """Within 4 standard errors and 0.02, in bins of log-odds, as with complete data."""
    bins = [(-99, -2), (-2, -1.5), (-1.5, -1), (-1, 0), (0, 99)]
    assert worst_bin(*pooled, bins, 10, record_property) < 4


def test_log_odds_have_the_right_scale_with_a_fifth_missing(pooled, record_property):
    """The slope of a logistic regression of the truth on the log Bayes factor is 1."""
    found, error = slope(*pooled, record_property)
    assert abs(found - 1) < 0.2 + 4 * error < 0.9


# What a user meets.


@pytest.mark.filterwarnings("ignore::graphprior.errors.GraphPriorWarning")
@parametrize_with_checks([PartialGGM(None, missing=method) for method in METHODS])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def test_by_default_missing_entries_are_refused_with_a_count_and_the_choices(rng):
    X = pd.DataFrame(rng.standard_normal((10, 3)), columns=list("abc"))
    X.loc[[1, 4, 5], "b"] = NAN
    X.loc[4, "c"] = NAN
    message = (
        r"X\[1, 1\] is NaN: 4 of 30 entries are missing, in 3 of 10 rows; most in column "
        r"b \(3\), c \(1\)\..*missing='em'.*missing='pairwise'"
    )
    with pytest.raises(GraphPriorError, match=message):
        PartialGGM(None).fit(X)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("engine", ["direct", "gibbs", "langevin"])
def test_what_was_done_is_told(rng, method, engine):
    _, problem = random_problem(rng, n=6, k=60)
    X = with_holes(rng, problem.X)
    model = PartialGGM(
        missing=method, engine=engine_with(engine, schedule=Schedule.linear(L=2, T=3), draws=2)
    )
    with pytest.warns(GraphPriorWarning, match="are missing and were taken as missing"):
        model.fit(X, known=problem.known)
    facts = model.diagnostics_.observations
    assert facts.missing == method
    assert facts.missing_entries == np.isnan(X).sum()
    assert 30 < facts.effective_k < 60
    assert ("completely at random" in model.notes_[0]) == (method == "pairwise")
    np.testing.assert_array_equal(model.location_, model.problem_.moments.mean)
    assert np.isfinite(model.precision_).all()


def test_the_bootstrap_refuses_missing_entries(rng):
    X = with_holes(rng, rng.standard_normal((30, 4)))
    engine = Langevin(draws=2, schedule=Schedule.linear(L=2, T=3))
    with pytest.raises(GraphPriorError, match="the bootstrap needs whole rows: use Langevin"):
        PartialGGM(None, engine=engine, missing="em").fit(X)
    with notes():
        PartialGGM(None, engine=replace(engine, bootstrap=None), missing="em").fit(X)


@pytest.mark.parametrize("method", METHODS)
def test_columns_with_nothing_to_tell_are_refused_by_name(rng, method):
    X = pd.DataFrame(rng.standard_normal((10, 3)), columns=list("abc"))
    for values, message in (
        ([NAN] * 10, "column b of X has 0 values and 10 missing"),
        ([1.0] + [NAN] * 9, "column b of X has 1 values and 9 missing"),
        ([1.0, 1.0] + [NAN] * 8, "column b of X is constant"),
        ([np.inf] + [NAN] * 9, r"X\[0, 1\] is inf"),
    ):
        with pytest.raises(GraphPriorError, match=message):
            Problem.create(X.assign(b=values), missing=method)


def test_pairs_that_are_never_seen_together_need_expectation_maximisation(rng):
    X = rng.standard_normal((40, 3))
    X[:20, 0] = X[20:, 1] = NAN
    with pytest.raises(GraphPriorError, match="x0 and x1 are seen together in fewer than 2 rows"):
        _ = Problem.create(X, missing="pairwise").moments
    found = Problem.create(X, missing="em").moments
    assert found.worth[0, 1] < 5 < found.worth[0, 2]


def test_a_variable_that_is_constant_where_another_is_seen_has_no_correlation(rng):
    X = rng.standard_normal((40, 3))
    X[:20, 2], X[20:, 0] = 1.0, NAN
    with pytest.raises(GraphPriorError, match="x0 and x2 are without variation in the rows"):
        _ = Problem.create(X, missing="pairwise").moments


def test_too_little_seen_is_refused():
    X = np.full((8, 4), NAN)
    for i in range(4):
        X[2 * i : 2 * i + 2, i] = [0.0, 1.0]
    with pytest.raises(GraphPriorError, match=r"rows are worth .* complete ones: at least 2"):
        _ = Problem.create(X, missing="em").moments


def test_an_unknown_method_is_refused(rng):
    X = rng.standard_normal((10, 3))
    for call in (
        lambda: Problem.create(X, missing="mean"),
        lambda: PartialGGM(None, missing="mean").fit(X),
    ):
        with pytest.raises(GraphPriorError, match="missing = 'mean': expected one of"):
            call()


def test_empty_cells_of_pandas_are_missing(rng):
    X = pd.DataFrame({"a": [1, 2, None, 4, 5, 7], "b": [2, 1, 4, 3, 6, 5]}, dtype="Int64")
    with pytest.raises(GraphPriorError, match="1 of 12 entries are missing"):
        PartialGGM(None).fit(X)
    with notes():
        model = PartialGGM(None, missing="em").fit(X)
    assert model.diagnostics_.observations.missing_entries == 1


@pytest.mark.filterwarnings("ignore::graphprior.errors.GraphPriorWarning")
@pytest.mark.parametrize("seen", [2, 4, 8])
def test_a_column_hardly_seen_is_worth_what_was_seen_and_named(rng, seen):
    X = rng.standard_normal((60, 6))
    X[seen:, 0] = np.nan
    problem = Problem.create(X, missing="em")
    worth = problem.moments.worth
    assert worth[0].max() <= seen
    assert (worth[1:, 1:] <= 60).all()
    lines = observation_notes(problem.observations, problem.U)
    assert any(line.startswith(f"x0 ({seen}): seen in fewer rows") for line in lines) == (seen < 8)


@pytest.mark.parametrize("method", ["em", "pairwise"])
def test_empty_rows_are_no_observations(rng, method):
    X = rng.standard_normal((40, 5))
    X[rng.random(X.shape) < 0.2] = np.nan
    padded = np.vstack([X[:10], np.full((30, 5), np.nan), X[10:]])
    one, other = (Problem.create(Z, None, missing=method) for Z in (X, padded))
    assert other.k == one.k == np.sum(~np.isnan(X).all(axis=1))
    assert other.moments.worth == pytest.approx(one.moments.worth)


def test_pairs_that_are_hardly_seen_together_are_named_and_count_little(rng):
    X = rng.standard_normal((1000, 6))
    X[:497, 1] = X[500:, 0] = np.nan
    problem = Problem.create(pd.DataFrame(X, columns=list("abcdef")), None, missing="em")
    assert any(
        "a - b: seen together in 3 rows" in note
        for note in observation_notes(problem.observations, problem.U)
    )
    assert problem.moments.worth[0, 1] <= 3
