import networkx as nx
import numpy as np
import pytest
import torch

from graphprior.errors import GraphPriorError
from graphprior.graphs.matrices import pairs, unvech, vech
from graphprior.priors.exact import (
    FiniteGraphs,
    IndependentEdges,
    StochasticBlocks,
    all_graphs,
    alternating_k_stars,
    ergm,
    ergm_log_weight,
)
from oracles import random_graph, relabel

NAN = np.nan


def as_finite(log_weight, n):
    """Any distribution on small graphs, listed."""
    graphs = all_graphs(n)
    return FiniteGraphs(list(graphs), [log_weight(A) for A in graphs])


def block_matrix():
    return StochasticBlocks([0, 0, 1, 1], [[0.7, 0.2], [0.2, 0.4]])


PRIORS = {
    "independent": lambda: IndependentEdges(0.3),
    "blocks": block_matrix,
    "finite": lambda: FiniteGraphs(
        [random_graph(np.random.default_rng(s), 4, 0.5) for s in range(9)], np.arange(9) / 4
    ),
    "ergm": lambda: ergm(4),
}
each_prior = pytest.mark.parametrize("name", PRIORS)


def log_noisy_density(prior_graphs, log_weights, a_tilde, sigma, unknown):
    """log sum_g w_g N(a_tilde; a_g, sigma**2) over graphs that agree with the known pairs."""
    distance = ((a_tilde - prior_graphs) ** 2)[:, unknown].sum(1)
    known = ~unknown
    agree = (prior_graphs[:, known] == a_tilde[known].round()).all(1)
    terms = log_weights[agree] - distance[agree] / (2 * sigma**2)
    return torch.logsumexp(terms, 0)


def listed(prior, n=4):
    """The prior as a list: every graph and its log-weight."""
    if isinstance(prior, FiniteGraphs):
        return prior.a, prior.log_weights
    a = torch.as_tensor(vech(all_graphs(n)))
    rows, cols = pairs(n)
    log_odds = prior.log_odds.expand(n, n)[rows, cols]
    return a, a @ log_odds


@each_prior
@pytest.mark.parametrize("sigma", [0.1, 0.3, 0.5])
@pytest.mark.parametrize("share_known", [False, True])
def test_score_is_the_slope_of_the_noisy_log_density(rng, name, sigma, share_known):
    prior = PRIORS[name]()
    a, log_weights = listed(prior)
    truth = a[3]
    unknown = torch.tensor([True, True, False, True, False, True]) | (not share_known)
    noise = torch.as_tensor(rng.standard_normal(6))
    a_tilde = torch.where(unknown, truth + sigma * noise, truth).requires_grad_()
    density = log_noisy_density(a, log_weights, a_tilde, sigma, unknown)
    (expected,) = torch.autograd.grad(density, a_tilde)
    known = unvech(np.where(unknown.numpy(), NAN, truth.numpy()))
    score = prior.score(torch.as_tensor(known))(
        torch.as_tensor(unvech(a_tilde.detach().numpy()))[None], sigma
    )
    got = vech(score[0].numpy())[unknown.numpy()]
    np.testing.assert_allclose(got, expected[unknown].numpy(), rtol=1e-6, atol=1e-6)


@each_prior
def test_posterior_logits_without_evidence_are_the_edge_rates(name):
    prior = PRIORS[name]()
    a, log_weights = listed(prior)
    expected = (log_weights.softmax(0) @ a).numpy()
    p = prior.posterior_logits(torch.zeros(4, 4, dtype=torch.float64)).sigmoid()
    np.testing.assert_allclose(vech(p.numpy()), expected, atol=1e-12)


@each_prior
def test_posterior_logits_of_certain_evidence_are_certain(name):
    prior = PRIORS[name]()
    A = unvech(listed(prior)[0][2].numpy())
    ell = torch.as_tensor(np.where(A == 1, np.inf, -np.inf))
    p = prior.posterior_logits(ell).sigmoid().numpy()
    np.testing.assert_array_equal(vech(p), vech(A))


@each_prior
def test_a_batch_equals_its_parts(rng, name):
    prior = PRIORS[name]()
    ell = torch.as_tensor(unvech(rng.normal(0, 2, (3, 6))))
    parts = torch.stack([prior.posterior_logits(e) for e in ell])
    torch.testing.assert_close(prior.posterior_logits(ell), parts)


def test_a_set_closed_under_relabelling_has_a_relabelling_score(rng):
    prior = FiniteGraphs.up_to_relabelling([nx.to_numpy_array(nx.path_graph(4))])
    ell, order = unvech(rng.normal(0, 2, 6)), rng.permutation(4)
    here = prior.posterior_logits(torch.as_tensor(ell)).numpy()
    there = prior.posterior_logits(torch.as_tensor(relabel(ell, order))).numpy()
    np.testing.assert_allclose(there, relabel(here, order))


def test_known_entries_that_no_graph_has_are_refused():
    prior = FiniteGraphs([np.zeros((3, 3))])
    ell = torch.full((3, 3), torch.inf)
    with pytest.raises(GraphPriorError, match="no graph of the finite prior agrees"):
        prior.posterior_logits(ell)


def test_alternating_k_stars_is_the_sum_over_stars(rng):
    """Eq. (43) term by term: S_d counts d-stars, a node of degree q is the centre of C(q, d)."""
    from math import comb

    A, gamma = random_graph(rng, 7, 0.5), 0.3
    degrees = A.sum(0).astype(int)
    stars = sum(
        (-1) ** d * sum(comb(q, d) for q in degrees) / gamma ** (d - 2) for d in range(2, 7)
    )
    assert alternating_k_stars(A, gamma) == pytest.approx(stars)


def test_ergm_weight_adds_stars_and_edges(rng):
    A = random_graph(rng, 5, 0.5)
    expected = 0.7 * alternating_k_stars(A, 0.3) - 2 * A.sum() / 2
    assert ergm_log_weight(A, (0.7, -2.0), 0.3) == pytest.approx(expected)


def test_all_graphs_are_all_different():
    graphs = vech(all_graphs(4))
    assert len(np.unique(graphs, axis=0)) == 64


@pytest.mark.parametrize(
    "make",
    [
        lambda: IndependentEdges(0.0),
        lambda: IndependentEdges(1.0),
        lambda: StochasticBlocks([0, 2], [[0.1, 0.2], [0.2, 0.3]]),
        lambda: StochasticBlocks([0, 1], [[0.1, 0.2], [0.3, 0.3]]),
        lambda: IndependentEdges([[0.5, 0.2], [0.3, 0.5]]),
        lambda: FiniteGraphs([np.zeros((2, 2))], [0.0, 1.0]),
        lambda: FiniteGraphs([]),
        lambda: FiniteGraphs([np.zeros((2, 2)), np.zeros((3, 3))]),
        lambda: FiniteGraphs.up_to_relabelling([np.zeros((8, 8))]),
        lambda: all_graphs(7),
    ],
)
def test_impossible_priors_are_refused(make):
    with pytest.raises(GraphPriorError):
        make()
