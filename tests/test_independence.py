"""Rows that are not independent are named, and those that are pass."""

import numpy as np
import pytest

import graphprior as gp
from graphprior.errors import GraphPriorError, GraphPriorWarning
from graphprior.independence import INFLATION, counters, dependent_rows, repeated_rows, row_order
from graphprior.report.trust import checks
from graphprior.result import Result


def names(n):
    return tuple(f"x{i}" for i in range(n))


def correlated(rng, k, n, rho):
    return np.sqrt(1 - rho) * rng.standard_normal((k, n)) + np.sqrt(rho) * rng.standard_normal(
        (k, 1)
    )


def autoregressive(rng, k, n, phi, start=60):
    X = rng.standard_normal((k + start, n))
    for t in range(1, len(X)):
        X[t] += phi * X[t - 1]
    return X[start:]


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
@pytest.mark.parametrize(("k", "n"), [(20, 5), (60, 20), (200, 3)])
def test_independent_rows_pass(k, n, rho):
    rng = np.random.default_rng([k, n])
    tables = [correlated(rng, k, n, rho) for _ in range(200)]
    told = sum(bool(dependent_rows(X, names(n))) for X in tables)
    assert told <= 2  # the level of the test is approximate: .001 at most is promised


def test_heavy_tails_are_no_dependence():
    rng = np.random.default_rng(0)
    assert not any(dependent_rows(rng.standard_t(2, (100, 8)), names(8)) for _ in range(100))


def test_a_table_that_was_sorted_by_a_column_passes():
    rng = np.random.default_rng(0)
    for _ in range(50):
        X = correlated(rng, 150, 10, 0.5)
        assert not dependent_rows(X[np.argsort(X[:, 3])], names(10))


def test_the_inflation_is_that_of_the_variance_of_a_correlation(record_property):
    rng = np.random.default_rng(0)
    k, n, tables = 300, 6, 150
    r, told = [], []
    for _ in range(tables):
        X = autoregressive(rng, k, n, 0.7)
        r.append(np.corrcoef(X.T)[np.triu_indices(n, 1)])
        told.append(row_order(X).inflation)
    true = k * np.mean(np.square(r))
    error = k * np.std(np.square(r).mean(1)) / np.sqrt(tables)
    record_property("variance of a correlation times k", true)
    record_property("inflation told", np.mean(told))
    # Autocorrelations are estimated too small by some 1 / k at each lag.
    assert abs(np.mean(told) - true) < 3 * error + 0.15 * true


DEPENDENT = {
    "series": lambda rng: autoregressive(rng, 150, 10, 0.8),
    "random walk": lambda rng: np.cumsum(rng.standard_normal((150, 10)), axis=0),
    "trend": lambda rng: rng.standard_normal((150, 10)) + np.linspace(-1.5, 1.5, 150)[:, None],
    "batches": lambda rng: rng.standard_normal((150, 10)) + np.repeat([[-0.7], [0.7]], 75, axis=0),
    "replicates": lambda rng: (
        np.repeat(rng.standard_normal((50, 10)), 3, axis=0) + 0.3 * rng.standard_normal((150, 10))
    ),
}


@pytest.mark.parametrize("kind", DEPENDENT)
def test_dependent_rows_are_named_whatever_the_units(kind):
    X = DEPENDENT[kind](np.random.default_rng(0))
    (line,) = dependent_rows(X, names(10))
    assert line.startswith("rows do not look independent")
    assert dependent_rows(X * np.geomspace(1e-6, 1e6, 10) + 3, names(10)) == [line]
    turned = row_order(X[:, ::-1])
    assert turned.inflation == pytest.approx(row_order(X).inflation)
    assert not dependent_rows(np.random.default_rng(1).permutation(X), names(10))


def test_the_columns_are_named_where_some_only_depend():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 12))
    X[:, [2, 7]] = autoregressive(rng, 200, 2, 0.9)
    (line,) = dependent_rows(X, names(12))
    assert "2 of 12 columns (x2, x7)" in line
    X[:, 2] = rng.standard_normal(200)  # one such column is in no pair with another
    assert not dependent_rows(X, names(12))


def test_missing_entries_do_not_hide_it():
    rng = np.random.default_rng(0)
    X = autoregressive(rng, 200, 8, 0.9)
    X[rng.random(X.shape) < 0.2] = np.nan
    assert row_order(X).inflation > INFLATION


def test_copies_of_rows_are_counted():
    rng = np.random.default_rng(0)
    X = rng.permutation(np.repeat(rng.standard_normal((40, 5)), 3, axis=0))
    assert repeated_rows(X) == 80
    (line,) = dependent_rows(X, names(5))
    assert line.startswith("80 of 120 rows repeat another row")
    with_gaps = np.vstack([X, np.full((3, 5), np.nan)])
    assert repeated_rows(with_gaps) == 80


@pytest.mark.parametrize("levels", [2, 3, 10])
def test_rows_of_few_values_agree_by_chance(levels):
    rng = np.random.default_rng(0)
    X = rng.integers(levels, size=(300, 4)).astype(float)
    assert len(np.unique(X, axis=0)) < 300
    assert repeated_rows(X) == 0


def test_counters_are_named_wherever_they_are():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 4))
    X[:, 1], X[:, 3] = np.arange(1000, 1090, 3), np.linspace(5.0, 2.1, 30)
    assert list(counters(X)) == [False, True, False, True]
    lines = dependent_rows(X, names(4))
    assert [line.split(" moves by")[0] for line in lines] == ["column 'x1'", "column 'x3'"]
    assert not counters(X[:4]).any()


@pytest.mark.parametrize("first", ["1000,1003,1006,1009,1012", "9,8,7,6,5", "0,.1,.2,.3,.4"])
def test_a_file_that_begins_with_a_counter_is_refused(tmp_path, first):
    path = tmp_path / "data.csv"
    rng = np.random.default_rng(0)
    rows = [
        f"{t},{a:.3f},{b:.3f}"
        for t, (a, b) in zip(first.split(","), rng.random((5, 2)), strict=True)
    ]
    path.write_text("\n".join(["id,a,b", *rows]) + "\n")
    with pytest.raises(GraphPriorError, match="column 'id' counts the rows"):
        gp.read_observations(path)


def test_the_estimate_and_its_report_say_so():
    X = autoregressive(np.random.default_rng(0), 200, 8, 0.9)
    with pytest.warns(GraphPriorWarning, match="rows do not look independent"):
        model = gp.PartialGGM(random_state=0).fit(X)
    (told,) = [check for check in checks(Result.of(model)) if check.title == "Observations"]
    assert told.level == "weak"
    assert "They depend on each other" in told.words
    fine = gp.PartialGGM(random_state=0).fit(np.random.default_rng(0).standard_normal((200, 8)))
    (told,) = [check for check in checks(Result.of(fine)) if check.title == "Observations"]
    assert told.level == "good"
    assert fine.diagnostics_["row_inflation"] == 1.0


def test_the_data_are_not_doubted_where_they_are_not_asked():
    X = autoregressive(np.random.default_rng(0), 200, 20, 0.9)
    known = np.full((20, 20), np.nan)
    known[:10, :10] = 0
    model = gp.PartialGGM("egonets", variant="LPr", random_state=0)
    with pytest.warns(GraphPriorWarning) as told:
        model.fit(X, known=known)
    assert not any("independent" in str(w.message) for w in told)
