"""Rows of a series count as fewer: as many as independent rows that would tell as much."""

import numpy as np
import pandas as pd
import pytest
from scipy.signal import lfilter

import graphprior as gp
from calibration import slope
from graphprior.diagnosis.notes import dependent_names
from graphprior.errors import GraphPriorError, GraphPriorWarning, notes
from graphprior.evidence.evidence import data_evidence
from graphprior.evidence.precision import constrained_mle
from graphprior.gaussian.simulate import simulate_observations, simulate_precision
from graphprior.graphs.matrices import hide, vech
from graphprior.observations.series import inflations
from graphprior.problem.problem import Problem
from graphprior.report.trust import checks
from graphprior.results.result import Result
from oracles import random_graph, relabel

START = 100  # rows after which a series has forgotten its start


def autoregressive(X, phi):
    """The series whose shocks are the rows of X; ``phi`` may differ between columns."""
    phis = np.broadcast_to(phi, X.shape[1])
    columns = [lfilter([1.0], [1.0, -p], x) for p, x in zip(phis, X.T, strict=True)]
    return np.column_stack(columns)[START:]


def centred(X):
    return X - np.nanmean(X, axis=0)


def series(seed, k=200, n=8, phi=0.8):
    return autoregressive(np.random.default_rng(seed).standard_normal((k + START, n)), phi)


def test_the_inflation_is_that_of_the_variance_of_a_correlation():
    phis, k = np.array([0.0, 0.4, 0.7, 0.9]), 1000
    tables = [series(seed, k, 4, phis) for seed in range(300)]
    told = np.mean([inflations(centred(X)) for X in tables], axis=0)
    assert told == pytest.approx((1 + phis**2) / (1 - phis**2), rel=0.08)
    product = np.outer(phis, phis)
    exact = (1 + product) / (1 - product)
    squares = k * np.square([np.corrcoef(X.T) for X in tables])
    for i, j in zip(*np.triu_indices(4, 1), strict=True):
        error = squares[:, i, j].std() / np.sqrt(len(tables))
        assert abs(squares[:, i, j].mean() - exact[i, j]) < 4 * error
        assert exact[i, j] <= np.sqrt(np.diag(exact)[i] * np.diag(exact)[j])  # what is counted


def test_gaps_that_two_columns_share_are_counted():
    rng, k, told, squares = np.random.default_rng(0), 400, [], []
    for seed in range(200):
        X = series(seed, k, 2, 0.9)
        X[rng.random(k) < 0.5] = np.nan
        told.append(inflations(centred(X)).mean())
        seen = X[~np.isnan(X[:, 0])]
        squares.append(len(seen) * np.corrcoef(seen.T)[0, 1] ** 2)
    error = np.std(squares) / np.sqrt(len(squares))
    assert abs(np.mean(told) - np.mean(squares)) < 3 * error + 0.15 * np.mean(squares)


def test_columns_are_done_in_parts_alike(monkeypatch):
    Z = centred(series(0))
    whole = inflations(Z)
    monkeypatch.setattr("graphprior.observations.series.SPARE", 200)
    assert np.allclose(inflations(Z), whole)


def slow_noise_on_a_fast_driver(seed, k):
    """x1 to x5 follow x0, which is white, and each is slow in what x0 does not explain."""
    X = 3 * np.random.default_rng([seed, 1]).standard_normal((k, 1)) + series(seed, k, 6, 0.9)
    X[:, 0] = X[:, 0] - series(seed, k, 6, 0.9)[:, 0]
    return X


def test_what_counts_is_the_memory_of_what_the_others_do_not_explain():
    k, squares, told = 300, [], []
    for seed in range(200):
        X = slow_noise_on_a_fast_driver(seed, k)
        Theta = np.linalg.inv(np.cov(X.T))
        squares.append(k * Theta[1, 2] ** 2 / Theta[1, 1] / Theta[2, 2])
        told.append(k / Problem.create(X, time_series=True).moments.worth[1, 2])
    error = np.std(squares) / np.sqrt(len(squares))
    assert np.mean(squares) > 5
    assert abs(np.mean(told) - np.mean(squares)) < 3 * error + 0.2 * np.mean(squares)


def test_no_pair_counts_more_rows_than_there_are():
    for seed in range(5):
        X = series(seed, 500, 12, np.where(np.arange(12) < 8, 0.9, 0.0))
        told = Problem.create(X, time_series=True).moments
        assert (told.k * np.outer(told.share, told.share) <= 500 * 1.001).all()


def simulated(seed, k, phi):
    """A graph, a series whose rows all have its precision, and the graph with a third hidden.

    Several values of ``phi`` are the memories of the independent series that it is mixed of.
    """
    rng = np.random.default_rng(seed)
    A = random_graph(rng, 8, 0.2)
    Theta = simulate_precision(A, rng, tries=5000)
    if np.ndim(phi) == 0:
        X = autoregressive(simulate_observations(Theta, k + START, rng), phi)
    else:
        phis = rng.permutation(np.resize(phi, 8))
        shocks = rng.standard_normal((k + START, 8)) * np.sqrt(1 - phis**2)
        X = autoregressive(shocks, phis) @ np.linalg.cholesky(np.linalg.inv(Theta)).T
    return A, X, hide(A, rng, share=1 / 3)


def pooled(rows, k, phi, tables=60):
    """log Bayes factors of hidden pairs, and whether they are edges."""
    log_bf, truth = [], []
    for seed in range(tables):
        A, X, known = simulated(seed, k, phi)
        found = data_evidence(Problem.create(X, known, time_series=rows == "series"))
        log_bf.append(found.beliefs.log_bf)
        truth.append(A[found.rows, found.cols])
    return np.concatenate(log_bf), np.concatenate(truth)


@pytest.mark.parametrize(("k", "phi"), [(100, 0.0), (100, 0.5), (150, 0.7), (300, 0.9), (100, 0.9)])
def test_log_odds_of_a_series_have_the_right_scale(k, phi, record_property):
    """The slope of a logistic regression of the truth on the log Bayes factor is 1."""
    found, error = slope(*pooled("series", k, phi), record_property)
    assert abs(found - 1) < 3 * error
    if phi >= 0.5:  # what it repairs
        naive, error = slope(*pooled("independent", k, phi), record_property)
        assert naive < 1 - 3 * error


@pytest.mark.parametrize(("k", "phi"), [(300, (0.0, 0.9)), (150, (0.3, 0.5, 0.8))])
def test_log_odds_are_not_too_sure_where_memories_differ(k, phi, record_property):
    found, error = slope(*pooled("series", k, phi), record_property)
    assert 1 - 3 * error < found < 2
    naive, error = slope(*pooled("independent", k, phi), record_property)
    assert naive < 1 - 2 * error


@pytest.mark.parametrize(("k", "phi"), [(100, 0.5), (150, 0.7), (300, 0.9), (100, 0.9)])
def test_rows_that_count_are_as_many_as_tell_as_much(k, phi, record_property):
    """Too many where memory is long and the series short, but not twice as many."""
    tables = (simulated(seed, k, phi)[1] for seed in range(60))
    told = np.mean([Problem.create(X, time_series=True).moments.k for X in tables])
    true = k * (1 - phi**2) / (1 + phi**2)
    record_property(f"rows that count of {k}, phi {phi}", told)
    record_property(f"rows that should count of {k}, phi {phi}", true)
    assert 0.95 < told / true < 2.0


def test_only_what_the_rows_are_worth_changes():
    X = series(0)
    plain, told = (
        Problem.create(X, time_series=rows == "series").moments
        for rows in ("independent", "series")
    )
    assert np.array_equal(plain.S, told.S)
    assert np.array_equal(plain.mean, told.mean)
    assert plain.k == 200
    assert plain.worth is None
    off = ~np.eye(8, dtype=bool)
    assert told.k == pytest.approx(told.worth[off].mean())
    assert 200 / 8 < told.k < 200 / 3  # (1 + .64) / (1 - .64) is 4.6
    estimate = constrained_mle(Problem.create(X, time_series=True))
    assert estimate.k == told.k


def test_relabelling_units_and_direction_of_time_do_not_matter():
    X, order = series(1), np.random.default_rng(0).permutation(8)
    worth = Problem.create(X, time_series=True).moments.worth
    assert np.allclose(
        Problem.create(X[:, order], time_series=True).moments.worth, relabel(worth, order)
    )
    for same in (X[::-1], X * np.geomspace(1e-6, 1e6, 8) + 5):
        assert np.allclose(Problem.create(same, time_series=True).moments.worth, worth)


@pytest.mark.parametrize("missing", ["em", "pairwise"])
def test_what_is_missing_and_what_repeats_both_cost(missing):
    X = series(2)
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    both, gaps = (
        Problem.create(X, missing=missing, time_series=rows == "series").moments
        for rows in ("series", "independent")
    )
    assert both.k < 0.6 * gaps.k
    # Neighbours of which one is missing repeat nothing.
    whole = Problem.create(series(2), time_series=True).moments.worth
    assert both.k > 1.1 * vech(gaps.worth * whole / 200).mean()


def test_sums_of_columns_are_named_in_a_series_too():
    X = series(3, n=4)
    X = np.column_stack([X, X[:, 0] + X[:, 1]])
    assert dependent_names(Problem.create(X, time_series=True)) == "x0, x1, x4"


def test_notes_and_report_tell_what_rows_are_worth():
    with pytest.warns(GraphPriorWarning, match="the 200 rows count as .* independent ones"):
        model = gp.PartialGGM(None, time_series=True, random_state=0).fit(series(0))
    assert not any("near them in the table" in note for note in model.notes_)
    facts = model.diagnostics_.observations
    assert facts.time_series is True
    assert facts.k == 200
    assert f"count as {facts.effective_k:.0f} independent" in model.notes_[0]
    (check,) = [check for check in checks(Result.of(model)) if check.title == "Observations"]
    assert f"As a series they are worth {facts.effective_k:.1f} independent ones" in check.words
    with notes():
        short = gp.PartialGGM(None, time_series=True, random_state=0).fit(series(0, k=30, phi=0.9))
    (check,) = [check for check in checks(Result.of(short)) if check.title == "Observations"]
    assert check.level == "weak"  # 30 rows, but fewer than 8 of independent ones


def test_a_random_walk_no_longer_makes_certain_edges():
    walks = [np.cumsum(series(seed, 200, 10, 0.0), axis=0) for seed in range(10)]
    certain = {}
    for rows in ("independent", "series"):
        with notes():
            models = [
                gp.PartialGGM(None, time_series=rows == "series", random_state=0).fit(X)
                for X in walks
            ]
        certain[rows] = sum((m.edge_probabilities_ > 0.95).sum() // 2 for m in models)
    assert certain["independent"] > 100  # of 450 pairs, of which none is an edge
    assert certain["series"] == 0


def test_a_table_that_is_not_in_the_order_of_time_is_noticed():
    X = pd.DataFrame(series(0), index=pd.date_range("2020-01-01", periods=200))
    shuffled = X.sample(frac=1.0, random_state=0)
    with pytest.raises(GraphPriorError, match="not in the order of its index of times"):
        gp.PartialGGM(None, time_series=True).fit(shuffled)
    for table, in_order in ((shuffled.to_numpy(), False), (X, True), (X[::-1], True)):
        with notes() as told:
            gp.PartialGGM(None, time_series=True).fit(table)
        assert any("is the table in the order of time" in line for line in told) != in_order


def test_what_cannot_be_a_series_is_refused():
    with pytest.raises(GraphPriorError, match="time_series = 'time': expected True or False"):
        gp.PartialGGM(None, time_series="time").fit(series(0))
    with pytest.raises(GraphPriorError, match="with 19 rows: at least 20 are needed"):
        gp.PartialGGM(None, time_series=True).fit(series(0)[:19])
    with pytest.raises(GraphPriorError, match="bootstrap draws rows as if each were independent"):
        gp.PartialGGM("egonets-edp-gnn", engine="langevin", time_series=True).fit(series(0))
    walks = np.cumsum(series(0, 20, 2, 0.0), axis=0)
    walks[12:, 0] = walks[:9, 1] = np.nan
    with pytest.raises(GraphPriorError, match="so alike, that its 20 rows are worth 1"):
        gp.PartialGGM(None, time_series=True, missing="pairwise").fit(walks)
