from collections import deque

import networkx as nx
import numpy as np
import pytest
import torch

from graphprior.errors import GraphPriorError
from graphprior.graphs import pairs
from graphprior.graphsets import write_npz
from graphprior.noise import perturb
from graphprior.prior.edp_gnn import EDPGNNConfig
from graphprior.prior.exact import FiniteGraphs, IndependentEdges
from graphprior.prior.store import load_checkpoint, save_checkpoint
from graphprior.prior.training import (
    TrainingConfig,
    fit_prior,
    mean_over_pairs,
    new_state,
    pad,
    score_matching_loss,
    split,
    train,
)
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
    learned = fit_prior(graphs, TrainingConfig(steps=400, batch=32, network=TINY))
    fresh = [random_graph(rng, 8, density=0.15) for _ in range(300)]
    return learned, IndependentEdges(np.mean([g.sum() / 56 for g in graphs])), fresh


@pytest.fixture(scope="module")
def finite_set():
    """All labellings of a path, a star and a cycle with a tail, on five nodes."""
    tadpole = nx.cycle_graph(4)
    tadpole.add_edge(0, 4)
    kinds = [nx.to_numpy_array(g) for g in (nx.path_graph(5), nx.star_graph(4), tadpole)]
    exact = FiniteGraphs.up_to_relabelling(kinds)
    rng = np.random.default_rng(0)
    graphs = [kinds[rng.integers(3)] for _ in range(300)]
    learned = fit_prior(
        graphs,
        TrainingConfig(
            steps=1500,
            batch=48,
            network=EDPGNNConfig(layers=3, channels=12, features=16, hidden=24),
        ),
    )
    return learned, exact, graphs


@pytest.mark.parametrize(("sigma", "most"), [(0.2, 0.2), (0.35, 0.2), (0.5, 0.2)])
def test_learned_score_approaches_that_of_a_finite_set(finite_set, sigma, most, record_property):
    learned, exact, graphs = finite_set
    error = relative_error(learned, exact, graphs, sigma)
    record_property("relative_error", error)
    assert error < most


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


def weights(network):
    return {key: value.clone() for key, value in network.state_dict().items()}


def test_a_training_goes_on_from_any_step_to_the_same_weights(rng, tmp_path):
    graphs = [random_graph(rng, int(n)) for n in rng.integers(3, 7, 12)]
    config = TrainingConfig(steps=25, batch=4, validate_every=10, network=TINY)
    whole = new_state(config)
    deque(train(graphs, config, whole), maxlen=0)
    for stop in (1, 9, 10, 24):
        part = new_state(config)
        for _ in train(graphs, config, part):
            if part.step == stop:
                break
        save_checkpoint(tmp_path / "c", part, config, "hash")
        again = load_checkpoint(tmp_path / "c", config, "hash")
        deque(train(graphs, config, again), maxlen=0)
        for name in ("network", "average", "best"):
            expected, got = weights(getattr(whole, name)), weights(getattr(again, name))
            assert all(torch.equal(expected[key], got[key]) for key in expected)
        assert again.history == whole.history


def test_the_best_network_is_the_one_of_the_lowest_validation_loss(rng):
    graphs = [random_graph(rng, 6) for _ in range(20)]
    config = TrainingConfig(steps=30, batch=4, validate_every=5, network=TINY)
    state, seen = new_state(config), {}
    for _ in train(graphs, config, state):
        if state.history and state.history[-1]["step"] == state.step:
            seen[state.history[-1]["loss"]] = weights(state.average)
    best = weights(state.best)
    assert all(torch.equal(best[key], value) for key, value in seen[min(seen)].items())


def test_training_and_validation_graphs_are_apart_and_all_there(rng):
    graphs = [np.full((2, 2), float(g)) for g in range(30)]
    learn, held = split(graphs, TrainingConfig())
    ids = sorted(A[0, 0] for A in learn + held)
    assert ids == list(range(30))
    assert 1 <= len(held) < len(learn)


def test_the_seed_decides_everything(rng):
    graphs = [random_graph(rng, 5) for _ in range(6)]
    runs = []
    for seed in (1, 1, 2):
        torch.manual_seed(int(rng.integers(1000)))  # the global state must not matter
        config = TrainingConfig(steps=5, batch=3, seed=seed, network=TINY)
        runs.append(weights(fit_prior(graphs, config).network))
    same = [torch.equal(runs[0][key], runs[1][key]) for key in runs[0]]
    other = [torch.equal(runs[0][key], runs[2][key]) for key in runs[0]]
    assert all(same)
    assert not all(other)


def test_training_leaves_the_global_random_state_alone(rng):
    graphs = [random_graph(rng, 5) for _ in range(6)]
    before = torch.get_rng_state()
    fit_prior(graphs, TrainingConfig(steps=2, batch=2, network=TINY))
    assert torch.equal(before, torch.get_rng_state())


def test_graphs_may_come_from_files_or_other_libraries(rng, tmp_path):
    matrices = [random_graph(rng, 5) for _ in range(4)]
    write_npz(tmp_path / "graphs.npz", matrices)
    config = TrainingConfig(steps=2, batch=2, network=TINY)
    expected = weights(fit_prior(matrices, config).network)
    for graphs in (tmp_path / "graphs.npz", [nx.from_numpy_array(A) for A in matrices]):
        got = weights(fit_prior(graphs, config).network)
        assert all(torch.equal(expected[key], got[key]) for key in expected)


def test_progress_is_reported_for_every_step(rng):
    seen = []
    graphs = [random_graph(rng, 5) for _ in range(4)]
    config = TrainingConfig(steps=3, batch=2, network=TINY)
    fit_prior(graphs, config, progress=lambda *a: seen.append(a))
    assert seen == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize(
    ("graphs", "message"),
    [
        ([], "0 training graph"),
        ([np.zeros((3, 3))], "1 training graph"),
        ([np.zeros((3, 3)), np.eye(3)], r"graph 1\[0, 0\] = 1: the diagonal"),
        ([np.zeros((3, 3)), np.triu(np.ones((3, 3)), 1)], r"graph 1\[0, 1\].*not symmetric"),
        ([np.zeros((3, 3)), 0.5 * (1 - np.eye(3))], r"graph 1\[0, 1\] = 0.5"),
        ([np.zeros((3, 3)), np.zeros((1, 1))], r"graph 1 has 1 node"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(graphs, message):
    with pytest.raises(GraphPriorError, match=message):
        fit_prior(graphs, TrainingConfig(steps=1))
