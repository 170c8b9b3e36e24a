import numpy as np
import pytest
import torch

from enumeration import random_prior
from graphprior.errors import GraphPriorError
from graphprior.graphs.matrices import unvech
from graphprior.priors.exact import FiniteGraphs, IndependentEdges
from graphprior.priors.tempered import TemperedPrior

PATH = unvech(np.array([1.0, 0, 0, 1, 0, 1]))


def some_evidence(rng, batch=3, n=4):
    """Evidence about all pairs, some of it certain, some nothing."""
    ell = unvech(rng.normal(0, 2, (batch, n * (n - 1) // 2)))
    ell[:, 0, 1] = ell[:, 1, 0] = np.inf
    ell[1:, 2, 3] = ell[1:, 3, 2] = -np.inf
    ell[:, 0, 2] = ell[:, 2, 0] = 0.0
    return torch.as_tensor(ell)


def off_diagonal(eta):
    return eta[..., ~torch.eye(eta.shape[-1], dtype=torch.bool)]


def test_at_temperature_one_it_is_the_prior(rng):
    ell, prior = some_evidence(rng), random_prior(rng)
    found = TemperedPrior(prior, 1.0, 0.3).posterior_logits(ell)
    torch.testing.assert_close(off_diagonal(found), off_diagonal(prior.posterior_logits(ell)))


def test_at_temperature_zero_edges_are_independent(rng):
    ell = some_evidence(rng)
    found = TemperedPrior(random_prior(rng), 0.0, 0.3).posterior_logits(ell)
    expected = IndependentEdges(0.3).posterior_logits(ell)
    torch.testing.assert_close(off_diagonal(found), off_diagonal(expected))


def test_between_it_is_linear_in_the_temperature(rng):
    """What is linear is the log-odds beside the pair's own evidence."""
    ell, prior = some_evidence(rng), random_prior(rng)
    cold, half, hot = (
        off_diagonal(TemperedPrior(prior, t, 0.1).posterior_logits(ell)) for t in (0.0, 0.25, 1.0)
    )
    assert ((cold - hot).abs() > 0.1).any()
    torch.testing.assert_close(half, 0.75 * cold + 0.25 * hot)


@pytest.mark.parametrize("temperature", [0.0, 0.4, 1.0])
def test_what_is_known_stays_known(rng, temperature):
    ell = some_evidence(rng)
    found = TemperedPrior(random_prior(rng), temperature, 0.3).posterior_logits(ell)
    assert torch.equal(found[ell.isinf()], ell[ell.isinf()])
    assert torch.equal(found, found.mT)
    assert off_diagonal(found)[~off_diagonal(ell).isinf()].isfinite().all()


@pytest.mark.parametrize("temperature", [0.0, 0.4, 1.0])
def test_a_prior_of_some_graphs_only_is_tempered_without_nan(temperature):
    """The prior is certain of pairs that the known ones decide; half of certain is certain."""
    prior = FiniteGraphs.up_to_relabelling([PATH])
    ell = torch.zeros(4, 4, dtype=torch.float64)
    for i, j in ((0, 1), (1, 2)):  # a third edge at 1 is no path
        ell[i, j] = ell[j, i] = torch.inf
    assert prior.posterior_logits(ell)[1, 3] == -torch.inf
    found = TemperedPrior(prior, temperature, 0.3).posterior_logits(ell)
    assert not off_diagonal(found).isnan().any()
    expected = np.log(0.3 / 0.7) if temperature == 0 else -np.inf
    assert float(found[1, 3]) == pytest.approx(expected)


def test_a_batch_equals_its_parts(rng):
    ell = some_evidence(rng, 5)
    prior = TemperedPrior(random_prior(rng), 0.6, 0.2)
    whole = prior.posterior_logits(ell)
    for own, expected in zip(ell, whole, strict=True):
        torch.testing.assert_close(prior.posterior_logits(own), expected)


def test_it_is_about_the_same_nodes_and_graphs_and_needs_more_memory(rng):
    some = FiniteGraphs.up_to_relabelling([PATH])
    assert TemperedPrior(some, 0.5, 0.2).nodes == 4
    assert not TemperedPrior(some, 0.5, 0.2).allows_all_graphs
    assert TemperedPrior(random_prior(rng), 0.5, 0.2).allows_all_graphs
    assert TemperedPrior(some, 0.5, 0.2).memory(4, 7) > some.memory(4, 7)


@pytest.mark.parametrize(("temperature", "rate"), [(-0.1, 0.2), (1.1, 0.2), (0.5, 0), (0.5, 1)])
def test_other_temperatures_and_rates_are_refused(temperature, rate):
    with pytest.raises(GraphPriorError, match="between 0 and 1"):
        TemperedPrior(IndependentEdges(0.5), temperature, rate)
