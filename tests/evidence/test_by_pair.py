"""A second opinion on how many edges there are, and the note where it differs."""

import numpy as np
import pytest

from graphprior import PartialGGM
from graphprior.errors import notes
from graphprior.evidence.by_pair import by_pair
from graphprior.gaussian.simulate import simulate_observations, simulate_precision
from graphprior.graphs.matrices import pairs

WORDS = "stronger ones"


def factor_like(rng, n):
    """Three causes that all variables share: a quarter of all pairs, the strongest, are edges."""
    loadings = rng.standard_normal((n, 3))
    V = loadings @ loadings.T
    A = np.abs(V) > np.quantile(np.abs(V[np.triu_indices(n, 1)]), 0.75)
    np.fill_diagonal(A, False)
    V = V * A / np.abs(V * A).max()
    return A, V + (0.05 - 1.1 * np.linalg.eigvalsh(V)[0]) * np.eye(n)


def sparse(rng, n):
    A = np.triu(rng.random((n, n)) < 4 / (n - 1), 1).astype(float)
    A = A + A.T
    return A, simulate_precision(A, rng, tries=5000)


@pytest.mark.parametrize("make", [factor_like, sparse])
def test_edges_that_data_cannot_hide_are_counted(make):
    """With endless rows every edge stands out, and no other pair does."""
    A, Theta = make(np.random.default_rng(0), 20)
    S = np.linalg.inv(Theta)
    unit = np.sqrt(np.diag(S))
    found = by_pair(S / np.outer(unit, unit), 1e9, pairs(20))
    assert found.edges == pytest.approx(A.sum() / 2, rel=1e-3)
    W = Theta / np.sqrt(np.outer(np.diag(Theta), np.diag(Theta)))
    strength = np.sqrt((np.arctanh(W[A == 1]) ** 2).mean())
    assert found.variance == pytest.approx(np.tanh(strength) ** 2, rel=1e-3)


def test_other_names_count_the_same_and_few_rows_count_nothing(rng):
    X = rng.standard_normal((200, 8)) @ rng.standard_normal((8, 8))
    R = np.corrcoef(X.T)
    order = rng.permutation(8)
    here = by_pair(R, 200, pairs(8))
    assert by_pair(R[np.ix_(order, order)], 200, pairs(8)) == pytest.approx(here)
    assert by_pair(R, 15, pairs(8)) is None


@pytest.mark.slow
def test_far_too_many_edges_are_noted():
    """Where shared causes make edges seem more than half as common again, a note says so."""
    noted = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        A, Theta = factor_like(rng, 50)
        with notes() as words:
            model = PartialGGM(None).fit(simulate_observations(Theta, 500, rng))
        is_noted = any(WORDS in line for line in words)
        assert is_noted or model.edge_probabilities_.sum() < 1.5 * A.sum()
        noted += is_noted
    assert noted > 0


@pytest.mark.slow
def test_sparse_graphs_are_not_noted():
    for seed in range(4):
        rng = np.random.default_rng(seed)
        _, Theta = sparse(rng, 30)
        with notes() as words:
            PartialGGM(None).fit(simulate_observations(Theta, 300, rng))
        assert not any(WORDS in line for line in words)


@pytest.mark.slow
def test_it_is_not_said_where_the_rate_is_given():
    rng = np.random.default_rng(1)
    _, Theta = factor_like(rng, 50)
    with notes() as words:
        model = PartialGGM(None, density=0.6).fit(simulate_observations(Theta, 500, rng))
    assert model.evidence_.weak_instead_of_few
    assert not any(WORDS in line for line in words)


def test_few_strong_edges_and_none_are_not_noted():
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((120, 12))
        X[:, 1], X[:, 3] = X[:, 0] + 0.25 * X[:, 1], X[:, 2] + 0.25 * X[:, 3]
        with notes() as words:
            PartialGGM(None).fit(X)
        assert not any(WORDS in line for line in words)
    noise = np.corrcoef(np.random.default_rng(0).standard_normal((60, 12)).T)
    assert by_pair(np.eye(12), 60, pairs(12)) is None
    assert by_pair(noise, 60, pairs(12)) is None
