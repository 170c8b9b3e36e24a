"""Graphs of many kinds to train on, and the prior that was."""

import numpy as np
import pytest
import torch

from graphprior.priors.general.mixture import KINDS, Mixture, draw_graph
from graphprior.priors.load import GENERAL
from graphprior.priors.networks.evidence_network import EvidenceNetworkConfig
from graphprior.priors.protocol import ask
from graphprior.priors.store import load_prior, read_card
from graphprior.priors.training.cross_entropy import CrossEntropy
from graphprior.priors.training.training import TrainingConfig, new_state, train

SMALL = EvidenceNetworkConfig(layers=1, channels=4, paths=2, hidden=4)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_gives_graphs_of_any_size(kind):
    """Symmetric, no loops, and not always the same."""
    rng, seen = np.random.default_rng(0), set()
    for n in (5, 6, 9, 20, 45, 120):
        for _ in range(3):
            A = kind(rng, n)
            np.fill_diagonal(A, False)  # as the mixture does
            assert A.shape == (n, n)
            assert A.dtype == bool
            np.testing.assert_array_equal(A, A.T)
            seen.add(A.tobytes())
    assert len(seen) > 6


def test_a_drawn_graph_has_no_loops_and_the_size_asked_for():
    rng = np.random.default_rng(1)
    for n in [5, 8, 13, 34, 89] * 20:
        A = draw_graph(rng, n)
        assert A.shape == (n, n)
        assert not A.diagonal().any()
        assert set(np.unique(A)) <= {0.0, 1.0}
        np.testing.assert_array_equal(A, A.T)


def test_which_node_is_which_tells_nothing():
    """Degrees by position over many graphs: positions differ no more than by chance."""
    rng, n = np.random.default_rng(2), 12
    degrees = np.array([draw_graph(rng, n).sum(0) for _ in range(2000)])
    apart = degrees - degrees.mean(1, keepdims=True)
    z = apart.mean(0) / (apart.std(0, ddof=1) / np.sqrt(len(apart)))
    assert np.abs(z).max() < 4


def test_batches_are_of_like_size_and_bounded_work():
    rng, mixture = np.random.default_rng(3), Mixture()
    for _ in range(50):
        sizes = [len(A) for A in mixture.batch(rng)]
        assert min(sizes) >= 0.85 * max(sizes) - 1
        assert len(sizes) == 1 or sum(n * (n - 1) / 2 for n in sizes) <= 5000


def test_a_training_without_end_goes_on_to_the_same_weights():
    """All randomness of a step is that of its number: stopped half way it ends the same."""
    objective = CrossEntropy(network=SMALL)
    config = TrainingConfig(steps=4, validate_every=4, objective=objective)
    whole = new_state(config)
    for _ in train(Mixture(validation=2), config, whole):
        pass
    parts = new_state(config)
    for state in train(Mixture(validation=2), config, parts):
        if state.step == 2:
            break
    for _ in train(Mixture(validation=2), config, parts):
        pass
    for here, there in zip(whole.network.parameters(), parts.network.parameters(), strict=True):
        assert torch.equal(here, there)


def test_where_it_knows_nothing_it_answers_with_one_density():
    """Nothing known, no data: all pairs alike, and neither empty nor full."""
    prior = load_prior(GENERAL)
    for n in (6, 20, 60):
        eta = ask(prior, np.full((n, n), np.nan) * (1 - np.eye(n)), np.zeros((n, n)), "cpu")
        p = 1 / (1 + np.exp(-eta[np.triu_indices(n, 1)]))
        assert np.ptp(p) < 1e-4
        assert 0.02 < p.mean() < 0.6


def test_it_knows_more_than_the_density_of_its_own_graphs():
    """On graphs of the mixture that are drawn here: calibrated sums, and fewer bits."""
    prior, rng = load_prior(GENERAL), np.random.default_rng(11)
    gained, expected, true = [], 0.0, 0.0
    for _ in range(60):
        n = int(rng.integers(12, 30))
        A = draw_graph(rng, n)
        U = np.triu(rng.random((n, n)) < 0.5, 1)
        U = U | U.T
        known = np.where(U, np.nan, A)
        rows, cols = np.nonzero(np.triu(U))
        p = 1 / (1 + np.exp(-ask(prior, known, np.zeros((n, n)), "cpu")[rows, cols]))
        a, rest = A[rows, cols], A[~U & ~np.eye(n, dtype=bool)]
        rate = (rest.sum() / 2 + 0.5) / (len(rest) / 2 + 1)
        usual = np.where(a == 1, rate, 1 - rate)
        gained.append(np.log2(np.where(a == 1, p, 1 - p) / usual).mean())
        expected, true = expected + p.sum(), true + a.sum()
    assert np.mean(gained) > 4 * np.std(gained) / np.sqrt(len(gained))
    assert expected == pytest.approx(true, rel=0.1)


def test_the_card_tells_how_it_was_made():
    card = read_card(GENERAL)
    assert card["command"].startswith("python scripts/train_general.py")
    assert card["training"]["steps"] > 10_000
    assert min(map(int, card["graphs"]["sizes"])) < 10
    assert max(map(int, card["graphs"]["sizes"])) > 60
