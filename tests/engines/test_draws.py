"""Graphs and precision matrices drawn together from a fitted model."""

import numpy as np
import pytest

from graphprior import PartialGGM
from graphprior.errors import GraphPriorError, notes
from graphprior.gaussian.simulate import simulate_observations, simulate_precision
from graphprior.graphs.matrices import hide
from graphprior.priors.exact import IndependentEdges
from oracles import engine_with, random_graph


def problem(seed, n=10, k=80, share=0.5):
    rng = np.random.default_rng(seed)
    A = random_graph(rng, n, 0.25)
    X = simulate_observations(simulate_precision(A, rng, tries=5000), k, rng)
    return A, X * rng.uniform(0.1, 20, n), hide(A, rng, share=share)


@pytest.mark.parametrize("engine", ["direct", "gibbs"])
@pytest.mark.parametrize("prior", [None, IndependentEdges(0.25)])
def test_draws_are_of_the_posterior_and_agree_with_what_is_known(engine, prior):
    """Shares of drawn edges are the probabilities, within 5 standard errors of dependent draws."""
    _, X, known = problem(3)
    model = PartialGGM(prior, engine=engine_with(engine, draws=400), random_state=0)
    with notes():  # the prior need not fit
        model.fit(X, known=known)
    graphs, precisions = model.draw(400, random_state=1)
    U = model.problem_.U
    assert (graphs[:, known == 1] == 1).all()
    assert (graphs[:, model.problem_.O & (known == 0)] == 0).all()
    off = ~np.eye(10, dtype=bool)
    np.testing.assert_array_equal((precisions != 0)[:, off], (graphs == 1)[:, off])
    assert (np.linalg.eigvalsh(precisions)[:, 0] > 0).all()
    p = model.edge_probabilities_[U]
    error = 5 * np.sqrt(p * (1 - p) / 100) + 0.03
    assert (np.abs(graphs.mean(0)[U] - p) < error).all()


def test_drawn_precisions_are_in_the_units_of_the_data():
    """Of much data, the covariance of the columns is found again, within some standard errors."""
    _, X, known = problem(1, k=3000)
    _, precisions = PartialGGM(None).fit(X, known=known).draw(60, random_state=0)
    S, found = np.cov(X.T), np.linalg.inv(precisions).mean(0)
    scale = np.sqrt(np.outer(np.diag(S), np.diag(S)))
    assert np.abs((found - S) / scale).max() < 5 / np.sqrt(3000)


def test_the_same_seed_draws_the_same():
    _, X, known = problem(2)
    model = PartialGGM(None).fit(X, known=known)
    for here, there in zip(model.draw(5, 3), model.draw(5, 3), strict=True):
        np.testing.assert_array_equal(here, there)


def test_what_cannot_be_drawn_is_refused():
    _, X, known = problem(2)
    with pytest.raises(GraphPriorError, match="at least 1"):
        PartialGGM(None).fit(X, known=known).draw(0)
    with pytest.raises(GraphPriorError, match="engine 'direct' or 'gibbs'"):
        PartialGGM(None, use="prior").fit(X, known=known).draw(3)
