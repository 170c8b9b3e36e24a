import numpy as np
import pytest

from graphprior.engines.bootstrap import (
    bootstrapped_glasso,
    correlation,
    default_penalty,
    fix_edges,
)
from graphprior.errors import GraphPriorError
from graphprior.gaussian.simulate import simulate_observations
from oracles import random_graph, random_precision


def test_fixing_keeps_the_middle_unknown():
    A_boot = np.array([[0, 0.1, 0.5], [0.1, 0, 0.9], [0.5, 0.9, 0]])
    known = fix_edges(A_boot, p_m=0.3)
    np.testing.assert_array_equal(known, [[0, 0, np.nan], [0, 0, 1], [np.nan, 1, 0]])


def test_the_margin_itself_stays_unknown():
    A_boot = np.array([[0, 0.2], [0.2, 0]])
    assert np.isnan(fix_edges(A_boot, p_m=0.3)[0, 1])


def test_a_larger_margin_fixes_fewer_pairs(rng):
    A_boot = rng.random((20, 20))
    A_boot = (A_boot + A_boot.T) / 2
    counts = [np.isnan(fix_edges(A_boot, p)).sum() for p in (0.0, 0.2, 0.4, 0.5)]
    assert counts == sorted(counts)
    assert counts[-1] == 380


@pytest.mark.parametrize("p_m", [-0.1, 0.6])
def test_a_margin_that_is_none_is_refused(p_m):
    with pytest.raises(GraphPriorError, match="p_m"):
        fix_edges(np.zeros((2, 2)), p_m)


def test_true_edges_are_found_more_often_than_others(rng):
    A = random_graph(rng, 10, 0.3)
    X = simulate_observations(random_precision(rng, A), 300, rng)
    A_boot = bootstrapped_glasso(X, rng, B=30)
    off = ~np.eye(10, dtype=bool)
    assert A_boot[A == 1].mean() > A_boot[(A == 0) & off].mean() + 0.3
    assert ((A_boot >= 0) & (A_boot <= 1)).all()
    assert np.array_equal(A_boot, A_boot.T)


@pytest.mark.parametrize("k", [2, 3, 5, 12])
def test_singular_resamples_do_not_stop_the_bootstrap(rng, k):
    X = rng.standard_normal((k, 12))
    X[:, 0] = np.round(X[:, 0])  # often constant in a resample
    A_boot = bootstrapped_glasso(X, rng, B=20)
    assert np.isfinite(A_boot).all()


def test_a_constant_column_has_no_correlation(rng):
    X = rng.standard_normal((8, 3))
    X[:, 1] = 4.0
    R = correlation(X)
    np.testing.assert_array_equal(R[1], [0, 1, 0])
    np.testing.assert_allclose(R[0, 2], np.corrcoef(X[:, 0], X[:, 2])[0, 1])


def test_units_do_not_matter(rng):
    X = rng.standard_normal((40, 6))
    scaled = X * rng.uniform(0.01, 100, 6) + rng.normal(0, 50, 6)
    a = bootstrapped_glasso(X, np.random.default_rng(0), B=10)
    b = bootstrapped_glasso(scaled, np.random.default_rng(0), B=10)
    assert np.abs(a - b).max() <= 0.1  # a resample on the edge of the penalty may flip


def test_the_penalty_falls_with_the_observations():
    assert default_penalty(20, 400) == pytest.approx(default_penalty(20, 100) / 2)


@pytest.mark.parametrize("arguments", [{"B": 0}, {"lam": 0.0}, {"lam": -1.0}])
def test_nonsense_is_refused(rng, arguments):
    with pytest.raises(GraphPriorError):
        bootstrapped_glasso(rng.standard_normal((9, 3)), rng, **arguments)
