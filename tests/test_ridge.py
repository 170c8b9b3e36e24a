import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from graphprior.covariance import constrained_mle, sample_covariance
from graphprior.graphs import Problem
from graphprior.linalg import is_definite, to_unit_diagonal
from graphprior.ridge import ridge_mode
from oracles import random_precision, random_problem, relabel


def ridge_problem(rng, n, k, size, share=0.5):
    """Correlations of k observations, and prior variances about ``size``, 0 at known gaps."""
    _, problem = random_problem(rng, n, k, share=share)
    S, _ = to_unit_diagonal(sample_covariance(problem.X))
    tau = size * rng.uniform(0.5, 2, (n, n))
    tau = np.where(problem.known == 0, 0.0, (tau + tau.T) / 2)
    return S, tau


def objective(Theta, S, k, tau):
    rows, cols = np.nonzero(np.triu(tau, 1))
    sign, log_det = np.linalg.slogdet(Theta)
    assert sign > 0
    prior = (Theta[rows, cols] ** 2 / tau[rows, cols]).sum() / 2
    return k / 2 * (log_det - np.trace(S @ Theta)) - prior


def slopes(Theta, S, k, tau):
    """Slope and curvature along every free entry, by finite differences."""
    free = tau > 0
    np.fill_diagonal(free, True)
    here, found = objective(Theta, S, k, tau), []
    for i, j in zip(*np.nonzero(np.triu(free)), strict=True):
        V = np.zeros_like(Theta)
        V[i, j] = V[j, i] = 1e-4 * np.sqrt(Theta[i, i] * Theta[j, j])
        up, down = (objective(Theta + T, S, k, tau) for T in (V, -V))
        found.append(((up - down) / 2, 2 * here - up - down))
    return np.array(found).T / [[1e-4], [1e-8]]


tables = st.tuples(
    st.integers(2, 10), st.integers(2, 40), st.sampled_from([1e-3, 0.02, 0.25]), st.integers(0, 999)
)


@given(tables)
def test_the_mode_has_no_slope_and_keeps_the_zeros(parameters):
    """Along each free entry it lies within 1e-3 of its posterior's width from the top."""
    n, k, size, seed = parameters
    S, tau = ridge_problem(np.random.default_rng(seed), n, k, size)
    assume(np.triu(tau, 1).any())
    Theta = ridge_mode(S, k, tau)
    assert is_definite(Theta)
    off = ~np.eye(n, dtype=bool)
    assert not Theta[off & (tau == 0)].any()
    slope, curvature = slopes(Theta, S, k, tau)
    assert (curvature > 0).all()
    assert (np.abs(slope) / np.sqrt(curvature)).max() < 1e-3


@given(tables)
def test_the_start_does_not_matter(parameters):
    n, k, size, seed = parameters
    rng = np.random.default_rng(seed)
    S, tau = ridge_problem(rng, n, k, size)
    assume(np.triu(tau, 1).any())
    here = ridge_mode(S, k, tau)
    indefinite = np.ones((n, n)) - 2 * np.eye(n)
    for start in (random_precision(rng, np.ones((n, n)), 0.1), here, indefinite):
        np.testing.assert_allclose(ridge_mode(S, k, tau, start), here, rtol=1e-3, atol=1e-3)


def test_a_wide_prior_gives_the_constrained_mle():
    for seed in range(6):
        _, problem = random_problem(np.random.default_rng(seed), n=8, k=60)
        fit = constrained_mle(problem)
        assert fit.exists
        tau = np.where(problem.known == 0, 0.0, 1e12)
        Theta = ridge_mode(fit.S, problem.k, tau)
        size = np.sqrt(np.outer(np.diag(Theta), np.diag(Theta)))
        np.testing.assert_allclose(Theta / size, fit.Theta / size, atol=1e-4)


def test_a_narrow_prior_gives_independent_variables(rng):
    S, tau = ridge_problem(rng, 6, 20, 1e-9, share=1.0)
    np.testing.assert_allclose(ridge_mode(S, 20, tau), np.eye(6), atol=1e-6)


def test_strengths_shrink_with_the_prior(rng):
    S, tau = ridge_problem(rng, 6, 8, 1.0, share=1.0)
    off = ~np.eye(6, dtype=bool)
    sizes = [np.abs(ridge_mode(S, 8, tau * size)[off]).sum() for size in (1e-3, 1e-2, 0.1, 1)]
    assert sizes == sorted(sizes)
    assert sizes[-1] > 10 * sizes[0]


def test_relabelling_relabels_the_mode(rng):
    S, tau = ridge_problem(rng, 8, 6, 0.1)
    order = rng.permutation(8)
    moved = ridge_mode(relabel(S, order), 6, relabel(tau, order))
    np.testing.assert_allclose(moved, relabel(ridge_mode(S, 6, tau), order), atol=1e-5)


def test_units_do_not_matter(rng):
    S, tau = ridge_problem(rng, 7, 20, 0.1)
    d = 10.0 ** rng.uniform(-2, 2, 7)
    units = np.outer(d, d)
    scaled = ridge_mode(S * units, 20, tau / units**2) * units
    np.testing.assert_allclose(scaled, ridge_mode(S, 20, tau), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(("n", "k"), [(30, 3), (12, 1), (2, 1)])
def test_fewer_observations_than_variables_are_enough(rng, n, k):
    X = rng.standard_normal((k + 1, n))
    S, _ = to_unit_diagonal(sample_covariance(X))
    Theta = ridge_mode(S, k, np.full((n, n), 0.25))
    assert is_definite(Theta)
    slope, curvature = slopes(Theta, S, k, np.full((n, n), 0.25))
    assert (np.abs(slope) / np.sqrt(curvature)).max() < 1e-3


def test_rounding_does_not_grow():
    """S is symmetric to the last bit but one; so must be the mode."""
    S, tau = ridge_problem(np.random.default_rng(1), 30, 5, 0.25)
    Theta = ridge_mode(S, 5, tau)
    np.testing.assert_allclose(Theta, Theta.T, atol=1e-8)


@pytest.mark.parametrize("size", [0.0, 0.1])
def test_a_start_at_the_mode_stays_there(size):
    """Orthogonal columns, or no free pair: independent variables are the mode already."""
    X = np.array([[1.0, 1], [1, -1], [-1, 1], [-1, -1]])
    problem = Problem.create(X)
    Theta = ridge_mode(sample_covariance(problem.X), 3, np.full((2, 2), size))
    assert np.array_equal(Theta, np.eye(2))
