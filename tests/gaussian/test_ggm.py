import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal

from graphprior.errors import GraphPriorError
from graphprior.evidence.plug_in import (
    DEFAULT_FLOOR,
    PlugInLikelihood,
    approximate_log_posterior,
    masked_precision,
)
from graphprior.evidence.precision import constrained_mle
from graphprior.gaussian.simulate import log_likelihood, simulate_observations, simulate_precision
from graphprior.graphs.matrices import pairs
from graphprior.observations.moments import sample_covariance
from oracles import random_graph, random_precision, random_problem, relabel


def slope(likelihood, A_tilde):
    return likelihood(torch.as_tensor(A_tilde)[None], 0.5)[0].numpy()


def fitted_likelihood(problem, **options):
    fit = constrained_mle(problem)
    return PlugInLikelihood.create(fit.Theta, fit.S, problem.k, **options), fit


def finite_differences(A_tilde, Theta_hat, S, k, h=1e-6):
    out = np.zeros_like(A_tilde)
    for i, j in zip(*pairs(len(A_tilde)), strict=True):
        T = np.zeros_like(A_tilde)
        T[i, j] = T[j, i] = h
        up, down = (
            approximate_log_posterior(A, Theta_hat, S, k, 0.0) for A in (A_tilde + T, A_tilde - T)
        )
        out[i, j] = out[j, i] = (up - down) / (2 * h)
    return out


def test_log_likelihood_is_that_of_the_gaussian(rng):
    Theta = random_precision(rng, random_graph(rng, 4))
    X = rng.standard_normal((7, 4))
    expected = multivariate_normal(cov=np.linalg.inv(Theta)).logpdf(X).sum()
    S = sample_covariance(X, assume_centered=True)
    assert log_likelihood(Theta, S, 7) == pytest.approx(expected)


def test_an_indefinite_precision_has_likelihood_zero():
    assert log_likelihood(np.array([[1.0, 2.0], [2.0, 1.0]]), np.eye(2), 5) == -np.inf


@pytest.mark.parametrize("floor", [1e-6, DEFAULT_FLOOR, None])
def test_likelihood_score_is_the_slope_of_the_log_likelihood(rng, floor):
    """Near A = 1 all relative eigenvalues exceed the floor, and every rule must agree."""
    _, problem = random_problem(rng, n=7, k=40)
    likelihood, fit = fitted_likelihood(problem, floor=floor)
    A_tilde = 1 - 0.3 * rng.random((7, 7))
    A_tilde = (A_tilde + A_tilde.T) / 2
    np.fill_diagonal(A_tilde, 0)
    expected = finite_differences(A_tilde, fit.Theta, fit.S, problem.k)
    np.testing.assert_allclose(slope(likelihood, A_tilde), expected, rtol=1e-4, atol=1e-4)


def test_likelihood_score_vanishes_at_the_estimate(rng):
    """At A = 1 on the free pairs Theta_tilde is Theta_hat, the maximum."""
    _, problem = random_problem(rng, n=7, k=40)
    likelihood, _ = fitted_likelihood(problem)
    A = np.where(problem.known == 0, 0.0, 1.0)
    np.fill_diagonal(A, 0)
    free = problem.known != 0
    assert np.abs(slope(likelihood, A)[free]).max() < 1e-3


def test_likelihood_score_does_not_depend_on_units(rng):
    _, problem = random_problem(rng, n=6, k=30)
    _, fit = fitted_likelihood(problem)
    A_tilde = random_graph(rng, 6) + 0.5 * random_graph(rng, 6)
    d = np.diag(rng.uniform(0.01, 100, 6))
    changed = PlugInLikelihood.create(
        np.linalg.inv(d) @ fit.Theta @ np.linalg.inv(d), d @ fit.S @ d, problem.k
    )
    here = PlugInLikelihood.create(fit.Theta, fit.S, problem.k)
    np.testing.assert_allclose(slope(changed, A_tilde), slope(here, A_tilde), rtol=1e-6, atol=1e-6)


def test_relabelling_nodes_relabels_the_likelihood_score(rng):
    _, problem = random_problem(rng, n=6, k=30)
    _, fit = fitted_likelihood(problem)
    A_tilde, order = random_graph(rng, 6) * 0.8, rng.permutation(6)
    moved = PlugInLikelihood.create(relabel(fit.Theta, order), relabel(fit.S, order), problem.k)
    here = PlugInLikelihood.create(fit.Theta, fit.S, problem.k)
    np.testing.assert_allclose(
        slope(moved, relabel(A_tilde, order)), relabel(slope(here, A_tilde), order), atol=1e-8
    )


def indefinite_graph(Theta_hat):
    """Entries large enough that the mask destroys definiteness."""
    A = np.full(Theta_hat.shape, 8.0)
    np.fill_diagonal(A, 0)
    assert np.linalg.eigvalsh(Theta_hat * (A + np.eye(len(A))))[0] < 0
    return A


def test_indefinite_graphs_are_counted_and_led_back(rng):
    """Rule for indefinite Theta_tilde: following the slope makes it definite again."""
    _, problem = random_problem(rng, n=6, k=30, density=0.6, share=1.0)
    likelihood, fit = fitted_likelihood(problem)
    A = torch.as_tensor(np.stack([indefinite_graph(fit.Theta), np.ones((6, 6)) - np.eye(6)]))
    assert likelihood.indefinite(A).tolist() == [True, False]
    for _ in range(4000):
        A = A + 2e-4 * likelihood(A, 0.5)
    assert likelihood.indefinite(A).tolist() == [False, False]


def test_below_the_floor_the_slope_is_that_of_the_tangent(rng):
    """k/2 sum(f(mu) - mu) with f the logarithm continued by its tangent, by finite differences."""
    _, problem = random_problem(rng, n=6, k=30, density=0.6, share=1.0)
    likelihood, fit = fitted_likelihood(problem)
    L = np.linalg.cholesky(fit.Theta)

    def value(A):
        Theta_tilde = fit.Theta * (A + np.eye(6))
        mu = np.linalg.eigvalsh(np.linalg.solve(L, np.linalg.solve(L, Theta_tilde).T))
        tangent = np.log(DEFAULT_FLOOR) + (mu - DEFAULT_FLOOR) / DEFAULT_FLOOR
        log = np.where(mu > DEFAULT_FLOOR, np.log(np.maximum(mu, DEFAULT_FLOOR)), tangent)
        return problem.k / 2 * (log - mu).sum()

    A, h = indefinite_graph(fit.Theta), 1e-5
    score = slope(likelihood, A)
    for i, j in zip(*pairs(6), strict=True):
        T = np.zeros((6, 6))
        T[i, j] = T[j, i] = h
        assert (value(A + T) - value(A - T)) / (2 * h) == pytest.approx(
            score[i, j], rel=1e-3, abs=1e-2
        )


def test_curvature_is_the_largest_eigenvalue_of_the_hessian(rng):
    _, problem = random_problem(rng, n=5, k=30, share=0.6)
    likelihood, _ = fitted_likelihood(problem)
    rows, cols = pairs(5)
    unknown = problem.U[rows, cols]
    A = np.where(np.eye(5) == 1, 0.0, np.where(problem.known == 0, 0.0, 1.0))
    H, h = [], 1e-5
    for i, j in zip(rows[unknown], cols[unknown], strict=True):
        T = np.zeros((5, 5))
        T[i, j] = T[j, i] = h
        change = slope(likelihood, A + T) - slope(likelihood, A - T)
        H.append(-change[rows, cols][unknown] / (2 * h))
    expected = np.linalg.eigvalsh(np.array(H))[-1]
    assert likelihood.curvature(torch.as_tensor(problem.U)) == pytest.approx(expected, rel=1e-3)


def test_a_batch_of_graphs_equals_its_parts(rng):
    _, problem = random_problem(rng, n=6, k=30, share=1.0)
    likelihood, fit = fitted_likelihood(problem)
    A = np.stack([random_graph(rng, 6), indefinite_graph(fit.Theta), 0.7 * random_graph(rng, 6)])
    batch = likelihood(torch.as_tensor(A), 0.1).numpy()
    np.testing.assert_allclose(batch, np.stack([slope(likelihood, a) for a in A]), atol=1e-9)


def test_the_mask_leaves_the_diagonal():
    Theta = torch.tensor([[2.0, 1.0], [1.0, 3.0]])
    masked = masked_precision(Theta, torch.tensor([[[0.0, 0.5], [0.5, 0.0]]]))
    assert masked.tolist() == [[[2.0, 0.5], [0.5, 3.0]]]


@pytest.mark.parametrize("floor", [0.0, 1.0, -1.0])
def test_a_floor_outside_its_range_is_refused(floor):
    with pytest.raises(GraphPriorError, match="floor"):
        PlugInLikelihood.create(np.eye(2), np.eye(2), 3, floor=floor)


def test_simulated_precision_has_the_graphs_support(rng):
    A = random_graph(rng, 12, density=0.2)
    Theta_0 = simulate_precision(A, rng, tries=1000)
    assert np.array_equal(Theta_0 != 0, A + np.eye(12) != 0)
    assert np.linalg.eigvalsh(Theta_0)[0] > 0


def test_simulated_precision_has_the_wisharts_scale(rng):
    """E[Theta_ii] = n * 10/n = 10, with variance 2 * 100 / n."""
    n, A = 8, np.zeros((8, 8))
    diagonals = np.concatenate([np.diag(simulate_precision(A, rng)) for _ in range(500)])
    standard_error = np.sqrt(200 / n / len(diagonals))
    assert abs(diagonals.mean() - 10) < 4 * standard_error


def test_a_graph_too_dense_for_the_simulation_is_refused(rng):
    A = random_graph(rng, 60, density=0.7)  # a masked draw is then never definite
    with pytest.raises(GraphPriorError, match="dense graphs need more tries"):
        simulate_precision(A, rng)


def test_simulated_observations_have_the_models_covariance(rng):
    Theta = random_precision(rng, random_graph(rng, 4))
    k = 20_000
    X = simulate_observations(Theta, k, rng)
    Sigma = np.linalg.inv(Theta)
    S = sample_covariance(X, assume_centered=True)
    standard_error = np.sqrt((Sigma**2 + np.outer(np.diag(Sigma), np.diag(Sigma))) / k)
    assert (np.abs(S - Sigma) < 5 * standard_error).all()
