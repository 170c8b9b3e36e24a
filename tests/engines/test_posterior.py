import numpy as np
import pytest
from scipy.stats import binom

from graphprior.engines.posterior import Posterior, chains_interval, share_interval


def test_bounds_of_chains_hold_as_often_as_they_say(record_property):
    rng = np.random.default_rng(0)
    for p, spread in ((0.05, 20), (0.2, 5), (0.5, 5), (0.98, 100)):
        means = rng.beta(p * spread, (1 - p) * spread, (10, 4000))
        low, high = chains_interval(means)
        held = np.mean((low <= p) & (p <= high))
        record_property(f"bounds that hold at {p}", held)
        assert 0.92 < held < 0.98
        assert (low >= 0).all()
        assert (high <= 1).all()
    # Turned round they are the other's.
    other = chains_interval(1 - means)
    np.testing.assert_allclose([low, high], [1 - other[1], 1 - other[0]])


def test_bounds_of_chains_that_agree_have_no_width_and_one_chain_tells_nothing():
    means = np.tile([0.0, 0.3, 1.0], (4, 1))
    np.testing.assert_allclose(chains_interval(means), [means[0], means[0]])
    np.testing.assert_array_equal(chains_interval(means[:1]), [np.zeros(3), np.ones(3)])


@pytest.mark.parametrize("M", [1, 5, 10, 50])
def test_the_interval_covers_every_probability_at_least_as_often_as_it_says(M):
    """Exact coverage: sum over all shares of the chance of the share, where the bounds hold."""
    shares = np.arange(M + 1) / M
    low, high = share_interval(shares, M)
    for p in np.linspace(0.001, 0.999, 97):
        coverage = binom.pmf(np.arange(M + 1), M, p)[(low <= p) & (p <= high)].sum()
        assert coverage >= 0.95


def test_no_number_of_draws_is_certainty():
    low, high = share_interval(np.array([0.0, 1.0]), 10)
    assert high[0] > 0
    assert low[1] < 1


def test_probabilities_are_shares_of_the_samples(rng):
    samples = rng.integers(0, 2, (7, 4, 4)).astype(np.uint8)
    posterior = Posterior.from_samples(samples)
    np.testing.assert_allclose(posterior.edge_probabilities, samples.mean(0))
    assert (posterior.low <= posterior.edge_probabilities).all()
    assert (posterior.edge_probabilities <= posterior.high).all()
