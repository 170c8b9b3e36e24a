import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score

from graphprior.errors import GraphPriorError
from graphprior.graphs.matrices import hide, unknown_mask
from graphprior.results.metrics import accuracy, auc, f1, on_unknown, split_metric
from oracles import random_graph

labels = st.lists(st.booleans(), min_size=1, max_size=30)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=30))
def test_f1_and_accuracy_equal_scikit_learn(rows):
    truth = np.array([a for a, _ in rows], dtype=float)
    predicted = np.array([b for _, b in rows])
    assert f1(truth, predicted) == pytest.approx(f1_score(truth, predicted, zero_division=0))
    assert accuracy(truth, predicted) == pytest.approx(accuracy_score(truth, predicted))


@given(labels, st.integers(0, 99))
def test_auc_is_the_chance_to_rank_an_edge_first(truth, seed):
    truth = np.array(truth, dtype=float)
    scores = np.random.default_rng(seed).integers(0, 5, len(truth)).astype(float)
    ones, zeros = scores[truth == 1], scores[truth == 0]
    if not len(ones) or not len(zeros):
        assert np.isnan(auc(truth, scores))
        return
    wins = (ones[:, None] > zeros).mean() + 0.5 * (ones[:, None] == zeros).mean()
    assert auc(truth, scores) == pytest.approx(wins)


def test_only_unknown_pairs_count(rng):
    A = random_graph(rng, 8)
    U = unknown_mask(hide(A, rng, share=0.3))
    a = on_unknown(A, U)
    assert len(a) == U.sum() // 2
    other = np.where(U, A, 1 - A)
    assert np.array_equal(on_unknown(other, U), a)


def random_scores(rng, R, shift):
    truths = [(rng.random(40) < 0.3).astype(float) for _ in range(R)]
    scores = [a * shift + rng.random(40) * (1 - shift) for a in truths]
    return truths, scores


def test_algorithm_2_by_hand(rng):
    """Redo the loop of Algorithm 2 with scikit-learn's F1 and the same splits."""
    truths, scores = random_scores(rng, 12, 0.3)
    grid = np.array([0.2, 0.4, 0.6])
    result = split_metric(truths, scores, np.random.default_rng(7), thresholds=grid, S=4)
    splits = np.random.default_rng(7)
    expected = []
    for _ in range(4):
        order = splits.permutation(12)
        train, test = order[:6], order[6:]
        mean = lambda part, tau: np.mean(  # noqa: E731
            [f1_score(truths[r], scores[r] >= tau, zero_division=0) for r in part]
        )
        tau = max(grid, key=lambda tau: (mean(train, tau), -tau))
        expected.append(mean(test, tau))
    np.testing.assert_allclose(result.values, expected)
    assert result.mean == pytest.approx(np.mean(expected))


def test_perfect_scores_give_one_and_the_threshold_is_tuned(rng):
    truths = [(rng.random(40) < 0.3).astype(float) for _ in range(10)]
    scores = [0.1 * a + 0.8 for a in truths]  # right, but only a threshold above 0.8 sees it
    result = split_metric(truths, scores, rng)
    assert result.mean == 1.0
    assert (result.thresholds > 0.8).all()


def test_too_few_graphs_are_refused(rng):
    with pytest.raises(GraphPriorError, match="at least 2"):
        split_metric([np.ones(3)], [np.ones(3)], rng)
    with pytest.raises(GraphPriorError, match="expected as many"):
        split_metric([np.ones(3)] * 2, [np.ones(3)] * 3, rng)
