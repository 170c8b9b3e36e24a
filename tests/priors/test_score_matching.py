import networkx as nx
import numpy as np
import pytest
import torch

from graphprior.graphs.matrices import pairs
from graphprior.priors.exact import FiniteGraphs, IndependentEdges
from graphprior.priors.networks.edp_gnn import EDPGNN, EDPGNNConfig
from graphprior.priors.noise import Schedule, perturb
from graphprior.priors.training.batches import pad
from graphprior.priors.training.fit import fit_prior
from graphprior.priors.training.score_matching import (
    ScoreMatching,
    mean_over_pairs,
    score_matching_loss,
)
from graphprior.priors.training.training import TrainingConfig
from oracles import random_graph

TINY = EDPGNNConfig(layers=2, channels=6, features=8, hidden=16)


def noisy_graphs(graphs, sigma, seed=0):
    A, _ = pad(graphs)
    level = torch.full((len(A),), sigma)
    return A, perturb(A, level, torch.Generator().manual_seed(seed)), level


def relative_error(learned, exact, graphs, sigma):
    """Squared distance of the learned to the exact score, as a share of what there is to learn.

    1 is the error of knowing nothing of the prior: a fair coin on every pair.
    """
    A, A_tilde, _ = noisy_graphs(graphs, sigma)
    n = A.shape[-1]
    rows, cols = pairs(n)
    unknown = torch.full((n, n), torch.nan)
    right = exact.score(unknown.double())(A_tilde.double(), sigma)[:, rows, cols]
    got = learned.score(unknown)(A_tilde, sigma)[:, rows, cols]
    coin = IndependentEdges(0.5).score(unknown.double())(A_tilde.double(), sigma)[:, rows, cols]
    return float(((got - right) ** 2).sum() / ((coin - right) ** 2).sum())


@pytest.mark.parametrize("sigma", [0.2, 0.35, 0.5])
def test_learned_score_approaches_that_of_independent_edges(
    independent_edges, sigma, record_property
):
    learned, exact, fresh = independent_edges
    error = relative_error(learned, exact, fresh, sigma)
    record_property("relative_error", error)
    assert error < 0.005


@pytest.fixture(scope="module")
def independent_edges():
    rng = np.random.default_rng(0)
    graphs = [random_graph(rng, 8, density=0.15) for _ in range(400)]
    objective = ScoreMatching(network=TINY)
    config = TrainingConfig(steps=200, batch=32, learning_rate=5e-3, ema=0.98, objective=objective)
    learned = fit_prior(graphs, config)
    fresh = [random_graph(rng, 8, density=0.15) for _ in range(300)]
    return learned, IndependentEdges(np.mean([g.sum() / 56 for g in graphs])), fresh


@pytest.fixture(scope="module")
def finite_set():
    """All labellings of a path and a star on four nodes."""
    kinds = [nx.to_numpy_array(g) for g in (nx.path_graph(4), nx.star_graph(3))]
    exact = FiniteGraphs.up_to_relabelling(kinds)
    rng = np.random.default_rng(0)
    graphs = [kinds[rng.integers(2)] for _ in range(300)]
    sizes = EDPGNNConfig(layers=2, channels=8, features=12, hidden=16)
    objective = ScoreMatching(network=sizes)
    config = TrainingConfig(steps=400, batch=32, learning_rate=5e-3, ema=0.98, objective=objective)
    learned = fit_prior(graphs, config)
    return learned, exact, graphs


@pytest.mark.parametrize("sigma", [0.2, 0.35, 0.5])
def test_learned_score_approaches_that_of_a_finite_set(finite_set, sigma, record_property):
    learned, exact, graphs = finite_set
    error = relative_error(learned, exact, graphs, sigma)
    record_property("relative_error", error)
    assert error < 0.15


def test_the_exact_score_has_the_lowest_loss(rng):
    """Eq. (29) is proper: no score has a lower expected loss than the true one."""
    graphs = [random_graph(rng, 8, density=0.15) for _ in range(500)]
    A, A_tilde, sigma = noisy_graphs(graphs, 0.4)
    unknown = torch.full((8, 8), torch.nan)
    rows, cols = pairs(8)

    def loss(p):
        score = IndependentEdges(p).score(unknown)(A_tilde, 0.4)
        return score_matching_loss(score, A, A_tilde, sigma)[:, rows, cols].mean()

    truth = float(A[:, rows, cols].mean())
    assert all(loss(truth) < loss(p) for p in (0.05, 0.3, 0.5))


def test_the_loss_is_the_weighted_distance_to_the_noise_score(rng):
    A, A_tilde, sigma = noisy_graphs([random_graph(rng, 5)], 0.3)
    loss = score_matching_loss(torch.zeros_like(A), A, A_tilde, sigma)
    expected = 0.5 * ((A - A_tilde) / 0.3) ** 2
    torch.testing.assert_close(loss, expected)


def test_the_mean_over_pairs_leaves_padding_out():
    loss = torch.ones(2, 4, 4)
    loss[1, 2:, :] = loss[1, :, 2:] = 100.0
    is_node = torch.tensor([[True] * 4, [True, True, False, False]])
    assert mean_over_pairs(loss, is_node).tolist() == [1.0, 1.0]


def test_noise_levels_are_those_of_the_algorithm_and_a_share_of_wider_ones(rng):
    objective, count = ScoreMatching(), 20_000
    sigma = objective.draw_levels(count, rng).double().numpy()
    assert sigma.shape == (count,)
    assert sigma.min() >= objective.sigma_L - 1e-6
    assert sigma.max() <= objective.sigma_0 + 1e-6
    wide, p = sigma > objective.sigma_1, objective.wide_share
    assert abs(wide.mean() - p) < 4 * np.sqrt(p * (1 - p) / count)
    # evenly spread between the levels of Algorithm 1, evenly in the logarithm above them
    low = (sigma[~wide] - objective.sigma_L) / (objective.sigma_1 - objective.sigma_L)
    high = np.log(sigma[wide] / objective.sigma_1) / np.log(objective.sigma_0 / objective.sigma_1)
    for u in (low, high):
        assert abs(u.mean() - 0.5) < 4 * np.sqrt(1 / 12 / len(u))


@pytest.fixture
def network():
    torch.manual_seed(0)
    network = EDPGNN(TINY)
    for p in network.parameters():
        torch.nn.init.normal_(p, std=0.3)
    return network


def test_the_loss_of_a_batch_is_drawn_from_the_generator_alone(network, rng):
    graphs = [random_graph(rng, n) for n in (4, 6)]
    objective = ScoreMatching(network=TINY)
    losses = []
    for seed in (1, 1, 2):
        torch.manual_seed(int(rng.integers(1000)))  # the global state must not matter
        losses.append(objective.loss(network, graphs, np.random.default_rng(seed)).item())
    assert losses[0] == losses[1] != losses[2]


def test_validation_measures_the_levels_of_the_algorithm_and_the_widest(network, rng):
    graphs = [random_graph(rng, n) for n in (4, 6, 5)]
    objective = ScoreMatching(network=TINY)
    row = objective.validate(network, graphs, 0)
    levels = Schedule.linear().sigmas
    assert set(row) == {"loss", "sigma=2.000", *(f"sigma={s:.3f}" for s in levels)}
    assert row["loss"] == pytest.approx(np.mean([row[f"sigma={s:.3f}"] for s in levels]))
    assert row == objective.validate(network, graphs, 0)
    assert row != objective.validate(network, graphs, 1)
