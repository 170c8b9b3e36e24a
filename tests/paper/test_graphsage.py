import sys

import numpy as np
import pytest
import torch
from torch_geometric.nn import SAGEConv

from graphprior.errors import GraphPriorError
from graphprior.graphs.matrices import hide, nothing_known
from graphprior.paper.baselines.graphsage import LinkPredictor, graphsage, link_log_odds
from graphprior.problem.problem import Problem
from graphprior.results.metrics import auc, on_unknown
from oracles import random_problem, relabel


def generator():
    return np.random.default_rng(3)


def two_groups(rng, n=16, k=30):
    """Variables of a group follow a common signal and are all joined."""
    group = np.arange(n) % 2
    A = (group[:, None] == group).astype(float) - np.eye(n)
    X = rng.standard_normal((k, 2))[:, group] + 0.5 * rng.standard_normal((k, n))
    return A, Problem.create(X, hide(A, rng, share=0.5))


def test_what_the_features_decide_is_learned(rng):
    """Groups that features tell apart: the known pairs by heart, the unknown ones nearly."""
    A, problem = two_groups(rng)
    eta = link_log_odds(problem, generator())
    assert ((eta > 0) == (A == 1))[problem.O].all()
    assert auc(on_unknown(A, problem.U), on_unknown(eta, problem.U)) > 0.95


def test_scores_are_an_increasing_function_of_the_log_odds_that_keeps_even_odds(rng):
    _, problem = random_problem(rng, n=9)
    eta = on_unknown(link_log_odds(problem, generator(), epochs=100), problem.U)
    scores = graphsage(problem, generator(), epochs=100)
    assert (np.argsort(eta) == np.argsort(scores)).all()
    assert ((eta > 0) == (scores > 0.5)).all()
    assert ((scores > 0) & (scores < 1)).all()
    assert scores.min() > 0.01


def test_the_seed_decides(rng):
    _, problem = random_problem(rng)
    first, again = (graphsage(problem, generator(), epochs=20) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, graphsage(problem, rng, epochs=20))


def test_global_randomness_is_left_alone(rng):
    _, problem = random_problem(rng)
    before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    graphsage(problem, rng, epochs=2)
    assert torch.equal(before[0], torch.get_rng_state())
    np.testing.assert_array_equal(before[1], np.random.get_state()[1])  # noqa: NPY002


@pytest.mark.parametrize("epochs", [0, 10])
def test_relabelling_relabels(rng, epochs):
    """Before training, and while it is too short for rounding to grow."""
    _, problem = random_problem(rng, n=10)
    order = rng.permutation(10)
    other = Problem.create(problem.X[:, order], relabel(problem.known, order))
    np.testing.assert_allclose(
        link_log_odds(other, generator(), epochs),
        relabel(link_log_odds(problem, generator(), epochs), order),
        atol=1e-5,
    )


def test_units_do_not_matter(rng):
    _, problem = random_problem(rng, n=10)
    scaled = Problem.create(problem.X * rng.uniform(0.1, 9, 10) + 5, problem.known)
    np.testing.assert_allclose(
        link_log_odds(scaled, generator(), 10), link_log_odds(problem, generator(), 10), atol=1e-4
    )


def test_layers_are_those_of_graphsage(rng):
    """The dense form is that of edge lists: own features, and the mean of the neighbours'."""
    _, problem = random_problem(rng, n=10)
    A = torch.as_tensor(np.nan_to_num(problem.known), dtype=torch.float32)
    x = torch.randn(10, problem.k, generator=torch.Generator().manual_seed(0))
    dense = LinkPredictor(problem.k).first
    sparse = SAGEConv(problem.k, dense.out_channels, aggr="mean")
    sparse.lin_l.weight, sparse.lin_l.bias = dense.lin_rel.weight, dense.lin_root.bias
    sparse.lin_r.weight = dense.lin_root.weight
    torch.testing.assert_close(dense(x, A)[0], sparse(x, A.nonzero().T))


def test_the_log_odds_are_symmetric(rng):
    _, problem = random_problem(rng)
    eta = link_log_odds(problem, rng, epochs=3)
    np.testing.assert_array_equal(eta, eta.T)


def test_no_unknown_pair_no_scores(rng):
    A, problem = random_problem(rng)
    assert graphsage(Problem.create(problem.X, A), rng, epochs=1).shape == (0,)


def test_nothing_known_is_refused(rng):
    with pytest.raises(GraphPriorError, match="known pairs"):
        graphsage(Problem.create(rng.standard_normal((9, 5)), nothing_known(5)), rng)


def test_a_missing_package_is_named(rng, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch_geometric.nn", None)
    with pytest.raises(GraphPriorError, match=r"graphprior\[graphsage\]"):
        graphsage(random_problem(rng)[1], rng)
