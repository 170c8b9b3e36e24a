"""Rows that are not independent are named, and those that are pass."""

import numpy as np
import pytest

import graphprior as gp
from graphprior.diagnosis.rows import dependent_rows
from graphprior.errors import GraphPriorError, GraphPriorWarning
from graphprior.observations.series import counters, repeated_rows, row_order
from graphprior.report.trust import checks
from graphprior.results.result import Result


def names(X):
    return [f"x{i}" for i in range(X.shape[1])]


def order_of(X):
    return row_order(X, names(X))


def said(X):
    return dependent_rows(X, names(X), order_of(X))


def correlated(rng, k, n, rho):
    common = rng.standard_normal((k, 1))
    return np.sqrt(1 - rho) * rng.standard_normal((k, n)) + np.sqrt(rho) * common


def autoregressive(rng, k, n, phi, rho=0.0, start=60):
    X = correlated(rng, k + start, n, rho)
    for t in range(1, len(X)):
        X[t] += phi * X[t - 1]
    return X[start:]


def replicates(rng, k, n, m, noise):
    own = np.repeat(rng.standard_normal((-(-k // m), n)), m, axis=0)[:k]
    return own + noise * rng.standard_normal((k, n))


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
@pytest.mark.parametrize(("k", "n"), [(20, 5), (60, 20), (200, 3)])
def test_independent_rows_pass(k, n, rho):
    rng = np.random.default_rng([k, n])
    told = sum(bool(said(correlated(rng, k, n, rho))) for _ in range(400))
    assert told <= 4  # .002 at most is promised, which leaves more than 4 to one table in 600


def test_heavy_tails_are_no_dependence():
    rng = np.random.default_rng(0)
    assert not any(said(rng.standard_t(2, (100, 8))) for _ in range(100))


@pytest.mark.parametrize("column", ["as it is", "skewed", "with gaps"])
def test_a_table_that_was_sorted_by_a_column_passes(column):
    rng, told = np.random.default_rng(0), 0
    for _ in range(50):
        X = correlated(rng, 150, 10, 0.5)
        X = X[np.argsort(X[:, 3])]
        if column == "skewed":
            X[:, 3] = np.exp(X[:, 3])
        if column == "with gaps":
            X[rng.integers(150, size=3), 3] = np.nan
        told += bool(said(X))
    assert told <= 1


@pytest.mark.parametrize("rho", [0.0, 0.9])
def test_the_inflation_is_that_of_the_variance_of_a_correlation(rho, record_property):
    rng = np.random.default_rng(0)
    k, n, tables = 300, 6, 150
    r, told = [], []
    for _ in range(tables):
        X = autoregressive(rng, k, n, 0.7, rho)
        r.append(np.corrcoef(X.T)[np.triu_indices(n, 1)])
        told.append(order_of(X).inflation)
    squares = k * np.square(np.array(r) - rho) / (1 - rho**2) ** 2
    true, error = squares.mean(), squares.mean(1).std() / np.sqrt(tables)
    record_property(f"variance of a correlation times k, rho {rho}", true)
    record_property(f"inflation told, rho {rho}", np.mean(told))
    # Autocorrelations are estimated too small by some 1 / k at each lag.
    assert abs(np.mean(told) - true) < 3 * error + 0.15 * true


@pytest.mark.parametrize("m", [2, 3, 5])
def test_of_replicates_no_more_is_told_than_is_true(m, record_property):
    rng = np.random.default_rng(0)
    noise, k = 0.2, 200
    share = 1 / (1 + noise**2)  # of the variance that replicates have in common
    found = [order_of(replicates(rng, k, 8, m, noise)) for _ in range(60)]
    told = np.mean([order.inflation - 1 for order in found if order])
    record_property(f"excess told of {m} replicates, of the true one", told / (m - 1) / share**2)
    assert sum(order is not None for order in found) > 50
    assert 0.4 < told / ((m - 1) * share**2) < 1.1


DEPENDENT = {
    "series": lambda rng: autoregressive(rng, 150, 10, 0.8),
    "random walk": lambda rng: np.cumsum(rng.standard_normal((150, 10)), axis=0),
    "trend": lambda rng: rng.standard_normal((150, 10)) + np.linspace(-1.5, 1.5, 150)[:, None],
    "batches": lambda rng: rng.standard_normal((150, 10)) + np.repeat([[-0.7], [0.7]], 75, axis=0),
    "replicates": lambda rng: replicates(rng, 150, 10, 3, 0.3),
}


@pytest.mark.parametrize("kind", DEPENDENT)
def test_dependent_rows_are_named_whatever_the_units(kind):
    X = DEPENDENT[kind](np.random.default_rng(0))
    (line,) = said(X)
    assert line.startswith("rows depend on those near them in the table, in all columns")
    assert said(X * np.geomspace(1e-6, 1e6, 10) + 3) == [line]
    assert order_of(X[:, ::-1]).inflation == pytest.approx(order_of(X).inflation)
    assert not said(np.random.default_rng(1).permutation(X))


def test_the_columns_are_named_where_some_only_depend():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 12))
    X[:, [2, 7]] = autoregressive(rng, 200, 2, 0.9)
    (line,) = said(X)
    assert "2 of 12 columns (x2, x7)" in line
    X[:, 2] = rng.standard_normal(200)  # one such column is in no pair with another
    assert not said(X)


def test_missing_entries_do_not_hide_it():
    rng = np.random.default_rng(0)
    X = autoregressive(rng, 200, 8, 0.9)
    X[rng.random(X.shape) < 0.2] = np.nan
    assert order_of(X) is not None


@pytest.mark.parametrize("k", [2, 3, 19, 20, 25])
def test_short_and_odd_tables_pass(k):
    X = np.random.default_rng(0).standard_normal((k, 4))
    X[:, 1], X[:, 2] = np.nan, 7.0
    assert not said(X)
    assert not said(X[:, [0, 3]] * 1e300)


def test_columns_are_transformed_in_parts_alike(monkeypatch):
    X = autoregressive(np.random.default_rng(0), 100, 7, 0.8)
    whole = order_of(X)
    monkeypatch.setattr("graphprior.observations.series.SPARE", 200)
    assert order_of(X).inflation == pytest.approx(whole.inflation)


@pytest.mark.parametrize(("distinct", "n"), [(40, 5), (10, 5), (60, 2)])
def test_copies_of_rows_are_counted(distinct, n):
    rng = np.random.default_rng(0)
    X = rng.permutation(np.repeat(rng.standard_normal((distinct, n)), 3, axis=0))
    assert repeated_rows(X) == 2 * distinct
    assert said(X)[0].startswith(f"{2 * distinct} of {3 * distinct} rows repeat another row")
    assert repeated_rows(np.vstack([X, np.full((3, n), np.nan)])) == 2 * distinct


@pytest.mark.parametrize("levels", [2, 3, 10])
@pytest.mark.parametrize("rho", [0.0, 0.8])
def test_rows_of_few_values_agree_by_chance(levels, rho):
    X = correlated(np.random.default_rng(0), 300, 4, rho)
    X = np.floor(levels * (X.argsort(0).argsort(0) / 300))
    assert len(np.unique(X, axis=0)) < 300
    assert repeated_rows(X) == 0


def test_counters_are_named_wherever_they_are():
    X = np.random.default_rng(0).standard_normal((30, 4))
    X[:, 1], X[:, 3] = np.arange(1000, 1090, 3), np.linspace(5.0, 2.1, 30)
    assert list(counters(X)) == [False, True, False, True]
    assert [line.split(" moves by")[0] for line in said(X)] == ["column 'x1'", "column 'x3'"]
    assert not counters(X[:4]).any()


@pytest.mark.parametrize(
    ("first", "refused"), [("9,8,7,6,5", True), ("1,2,3,4,5", True), ("0,10,20,30,40", False)]
)
def test_a_file_that_begins_with_a_counter_is_refused(tmp_path, first, refused):
    path = tmp_path / "data.csv"
    values = np.random.default_rng(0).random((5, 2))
    rows = [f"{t},{a:.3f},{b:.3f}" for t, (a, b) in zip(first.split(","), values, strict=True)]
    path.write_text("\n".join(["id,a,b", *rows]) + "\n")
    if not refused:  # doses may be set in equal steps
        assert list(gp.read_observations(path)) == ["id", "a", "b"]
        return
    with pytest.raises(GraphPriorError, match="column 'id' counts the rows"):
        gp.read_observations(path)


def observations(model):
    (check,) = [check for check in checks(Result.of(model)) if check.title == "Observations"]
    return check


def test_the_estimate_and_its_report_say_so():
    X = autoregressive(np.random.default_rng(0), 200, 8, 0.9)
    with pytest.warns(GraphPriorWarning, match="rows depend on those near them"):
        model = gp.PartialGGM(None, random_state=0).fit(X)
    assert model.diagnostics_.row_order.columns == [f"x{i}" for i in range(8)]
    assert observations(model).level == "weak"
    assert "Each depends on those near it" in observations(model).words
    fine = gp.PartialGGM(None, random_state=0).fit(
        np.random.default_rng(0).standard_normal((200, 8))
    )
    assert observations(fine).level == "good"
    assert fine.diagnostics_.row_order is None


def test_the_data_are_not_doubted_where_they_are_not_asked():
    X = autoregressive(np.random.default_rng(0), 200, 20, 0.9)
    known = np.full((20, 20), np.nan)
    known[:10, :10] = 0
    model = gp.PartialGGM("egonets", use="prior", random_state=0)
    with pytest.warns(GraphPriorWarning) as told:
        model.fit(X, known=known)
    assert not any("near them" in str(w.message) for w in told)
