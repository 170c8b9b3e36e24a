"""What every prior, every engine and every method to compare with must keep to."""

import numpy as np
import torch

from graphprior.errors import notes
from graphprior.estimator import PartialGGM
from graphprior.priors.protocol import certain_log_odds


def asked(prior, ell):
    return prior.posterior_logits(torch.as_tensor(ell)).numpy()


def check_prior(prior, n, rng, exact=True):
    """Symmetric answers; a batch is its parts; what is certain stays.

    Of an ``exact`` prior evidence about a pair enters its own log-odds as it is, whatever the rest;
    a network that learned has that only nearly, and it must move them the right way.
    """
    off = ~np.eye(n, dtype=bool)
    ell = rng.normal(0, 2, (3, n, n))
    ell = ell + ell.transpose(0, 2, 1)
    eta = asked(prior, ell)
    assert eta.shape == ell.shape
    assert np.isfinite(eta[:, off]).all()
    np.testing.assert_allclose(eta, eta.transpose(0, 2, 1), atol=1e-6)
    for one, answer in zip(ell, eta, strict=True):
        np.testing.assert_allclose(asked(prior, one)[off], answer[off], atol=1e-5)
    more = ell[0].copy()
    more[0, 1] = more[1, 0] = more[0, 1] + 1.0
    gained = asked(prior, more)[0, 1] - eta[0, 0, 1]
    assert abs(gained - 1) < 1e-4 if exact else gained > 0
    known = np.full((n, n), np.nan)
    known[0, 1] = known[1, 0] = 1.0
    known[0, 2] = known[2, 0] = 0.0
    certain = np.where(np.isnan(known), ell[0], certain_log_odds(known))
    answer = asked(prior, certain)
    assert answer[0, 1] == np.inf
    assert answer[0, 2] == -np.inf
    assert prior.memory(n, 2) > 0


def check_engine(engine, problem, prior=None):
    """A posterior of the unknown pairs alone; the same seed says the same; draws are graphs."""
    options = {"prior": prior, "engine": engine, "random_state": 0}
    with notes():
        here, there = (
            PartialGGM(**{"prior": None, **options}).fit(problem.X, known=problem.known)
            for _ in range(2)
        )
    P, O = here.edge_probabilities_, problem.O  # noqa: E741
    np.testing.assert_array_equal(P, there.edge_probabilities_)
    np.testing.assert_array_equal(P, P.T)
    assert ((P >= 0) & (P <= 1)).all()
    np.testing.assert_array_equal(P[O], problem.known[O])
    low, high = here.edge_intervals_
    assert (low <= P).all()
    assert (high >= P).all()
    assert here.samples_.shape == (engine.draws, problem.n, problem.n)
    assert (here.samples_[:, O] == problem.known[O]).all()
    assert hash(engine) == hash(type(engine)(**vars(engine)))  # a value: equal settings, equal


def check_method(method, problem):
    """A score in [0, 1] for each unknown pair; the same seed scores the same; nothing changes."""
    X = problem.X.copy()
    scores = [method(problem, np.random.default_rng(0)) for _ in range(2)]
    assert scores[0].shape == (problem.U.sum() // 2,)
    assert ((scores[0] >= 0) & (scores[0] <= 1)).all()
    np.testing.assert_array_equal(*scores)
    np.testing.assert_array_equal(problem.X, X)
