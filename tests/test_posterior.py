import numpy as np
import pytest
from scipy.stats import binom

from graphprior.engines.posterior import Posterior, share_interval


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
