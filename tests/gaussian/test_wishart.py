import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import gamma, multivariate_t, norm, wishart

from graphprior.gaussian.simulate import log_likelihood, simulate_observations
from graphprior.gaussian.wishart import LARGEST, WishartPrior, fit_wishart, log_marginal_likelihood
from oracles import relabel


def scatter_of(X):
    """S of observations with mean zero, and their number."""
    return X.T @ X / len(X), len(X)


def draw(rng, n, k, nu):
    """k observations of the model itself, and the prior that made them."""
    prior = WishartPrior(nu, rng.uniform(0.1, 10, n))
    Theta = wishart(df=nu, scale=np.diag(1 / prior.psi)).rvs(random_state=rng)
    return simulate_observations(np.reshape(Theta, (n, n)), k, rng), prior


@pytest.mark.parametrize("k", [1, 4])
def test_one_variable_agrees_with_numerical_integration(rng, k):
    """For n = 1 the Wishart is a gamma distribution of the precision."""
    x = 1.5 * rng.standard_normal(k)
    prior = WishartPrior(3.3, np.array([2.1]))

    def integrand(theta):
        density = gamma(prior.nu / 2, scale=2 / prior.psi[0]).pdf(theta)
        return density * np.exp(norm(scale=theta**-0.5).logpdf(x).sum())

    expected, _ = quad(integrand, 0, np.inf, epsabs=0)
    found = log_marginal_likelihood(*scatter_of(x[:, None]), prior)
    assert found == pytest.approx(np.log(expected), abs=1e-6)


def test_two_variables_agree_with_drawing_from_the_prior(rng, record_property):
    X = rng.standard_normal((3, 2)) * [1, 2]
    prior, (S, k) = WishartPrior(4.5, np.array([3.0, 8.0])), scatter_of(X)
    Thetas = wishart(4.5, np.diag(1 / prior.psi)).rvs(40_000, random_state=rng)
    likelihoods = np.exp([log_likelihood(Theta, S, k) for Theta in Thetas])
    ratio = likelihoods.mean() / np.exp(log_marginal_likelihood(S, k, prior))
    standard_error = likelihoods.std() / likelihoods.mean() / np.sqrt(len(Thetas))
    record_property("relative_error", abs(ratio - 1))
    assert abs(ratio - 1) < 4 * standard_error < 0.05
    weights = likelihoods / likelihoods.sum()
    mean = np.einsum("t,tij->ij", weights, Thetas)
    error = np.sqrt(np.einsum("t,tij->ij", weights**2, (Thetas - mean) ** 2))
    assert (np.abs(mean - prior.posterior_mean(S, k)) < 4 * error).all()


@given(st.integers(1, 6), st.integers(1, 12), st.floats(0.1, 30), st.integers(0, 999))
def test_one_more_observation_adds_its_predictive_density(n, k, above, seed):
    """p(x | X) of a Wishart posterior is a t distribution: the chain rule."""
    rng = np.random.default_rng(seed)
    prior = WishartPrior(n - 1 + above, rng.uniform(0.2, 5, n))
    X = rng.standard_normal((k + 1, n))
    df = prior.nu + k - n + 1
    shape = (np.diag(prior.psi) + X[:k].T @ X[:k]) / df
    added = log_marginal_likelihood(*scatter_of(X), prior)
    added -= log_marginal_likelihood(*scatter_of(X[:k]), prior)
    expected = multivariate_t(np.zeros(n), shape, df).logpdf(X[k])
    assert added == pytest.approx(expected, rel=1e-8, abs=1e-8)


def test_observations_along_the_axes_only_update_the_prior(rng):
    """Their scatter is diagonal, so what is learned is again nu and psi."""
    n, axes = 4, np.diag([0.5, 1.0, 2.0, 3.0])
    prior = WishartPrior(6.0, rng.uniform(0.5, 4, n))
    later = WishartPrior(prior.nu + n, prior.psi + np.diag(axes) ** 2)
    X = rng.standard_normal((5, n))
    both = log_marginal_likelihood(*scatter_of(np.vstack([axes, X])), prior)
    first = log_marginal_likelihood(*scatter_of(axes), prior)
    assert both == pytest.approx(first + log_marginal_likelihood(*scatter_of(X), later))


@pytest.mark.parametrize(
    ("n", "k"),
    [
        (5, 1),
        (5, 3),
        (2, 1),
        (5, 10),
        (5, 50),
        (20, 5),
        (20, 15),
        (20, 100),
    ],
)
def test_the_fit_is_a_maximum(n, k, record_property):
    """No change of nu, of any psi_i or of all of them raises the likelihood."""
    gains = []
    for seed in range(4):
        X, _ = draw(np.random.default_rng(seed), n, k, n + 4.0)
        S, _ = scatter_of(X)
        best = fit_wishart(S, k)
        value = log_marginal_likelihood(S, k, best)
        assert n - 1 < best.nu <= n - 1 + LARGEST * n
        for factor in (0.7, 0.97, 1.03, 1.4):
            nu = n - 1 + (best.nu - n + 1) * factor
            others = [WishartPrior(best.nu, best.psi * factor)]
            others += [
                WishartPrior(best.nu, best.psi * np.where(np.arange(n) == i, factor, 1.0))
                for i in range(n)
            ]
            if nu <= n - 1 + LARGEST * n:
                others += [WishartPrior(nu, best.psi), WishartPrior(nu, best.psi * nu / best.nu)]
            gains += [log_marginal_likelihood(S, k, other) - value for other in others]
    record_property("largest_gain", max(gains))
    assert max(gains) < 1e-3
    assert min(gains) < -1e-2  # and it does fall elsewhere


def test_units_scale_psi_and_leave_nu(rng):
    S, k = scatter_of(draw(rng, 6, 12, 9.0)[0])
    d = 10.0 ** rng.uniform(-3, 3, 6)
    here, there = fit_wishart(S, k), fit_wishart(S * np.outer(d, d), k)
    assert there.nu == pytest.approx(here.nu, rel=1e-6)
    np.testing.assert_allclose(there.psi, here.psi * d**2, rtol=1e-6)


def test_relabelling_relabels_the_fit(rng):
    S, k = scatter_of(draw(rng, 6, 12, 9.0)[0])
    order = rng.permutation(6)
    here, there = fit_wishart(S, k), fit_wishart(relabel(S, order), k)
    assert there.nu == pytest.approx(here.nu, rel=1e-6)
    np.testing.assert_allclose(there.psi, here.psi[order], rtol=1e-6)


def test_what_made_the_data_is_found(record_property):
    """n = 20, k = 100. That psi is fitted too makes nu a little large (a fifth, measured)."""
    nu_errors, psi_errors = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, truth = draw(rng, 20, 100, rng.choice([22.0, 30.0, 60.0]))
        fit = fit_wishart(*scatter_of(X))
        nu_errors.append(np.log((fit.nu - 19) / (truth.nu - 19)))
        psi_errors.append(np.log(fit.psi / fit.nu * truth.nu / truth.psi))
    spread = np.std(psi_errors)
    record_property("log_nu_error", np.mean(nu_errors))
    record_property("log_nu_spread", np.std(nu_errors))
    record_property("log_psi_spread", spread)
    assert abs(np.mean(nu_errors)) < 0.2 + 4 * np.std(nu_errors) / np.sqrt(12) < 0.5
    assert np.abs(nu_errors).max() < 1
    assert abs(np.mean(psi_errors)) < 4 * spread / np.sqrt(12 * 20)


def test_independent_variables_have_large_nu(rng):
    """Partial correlations are about 1 / sqrt(nu): here 0, and seen to within 1 / sqrt(k)."""
    S, k = scatter_of(rng.standard_normal((1000, 8)))
    assert fit_wishart(S, k).nu > 0.95 * LARGEST * 8


@pytest.mark.parametrize(("n", "k"), [(8, 1), (8, 2), (30, 1), (30, 10), (2, 1), (3, 10_000)])
def test_any_number_of_observations_gives_a_proper_prior(rng, n, k):
    S, _ = scatter_of(rng.standard_normal((k, n)))
    fit = fit_wishart(S, k)
    assert n - 1 < fit.nu <= n - 1 + LARGEST * n
    assert np.isfinite(fit.psi).all()
    assert (fit.psi > 0).all()
    assert np.linalg.eigvalsh(fit.posterior_mean(S, k))[0] > 0
