"""Slow, plain answers that the package's fast ones are held to."""

from dataclasses import fields
from itertools import pairwise

import networkx as nx
import numpy as np

from graphprior.engines.run import ENGINES, engine_of
from graphprior.gaussian.simulate import log_likelihood, simulate_observations
from graphprior.graphs.matrices import hide, unvech, vech
from graphprior.priors.exact import all_graphs
from graphprior.problem.problem import Problem


def random_graph(rng, n, density=0.3):
    return unvech((rng.random(n * (n - 1) // 2) < density).astype(float))


def random_precision(rng, A, strength=0.4):
    """Definite with the support of A: entries of either sign, dominated by the diagonal."""
    Theta = unvech(
        vech(A) * rng.uniform(0.3, 1.0, len(vech(A))) * rng.choice([-1, 1], len(vech(A)))
    )
    Theta = Theta * strength + np.diag(strength * np.abs(Theta).sum(1) + 1.0)
    scale = rng.uniform(0.5, 2.0, len(A))
    return Theta * scale * scale[:, None]


def random_problem(rng, n=8, k=50, density=0.3, share=0.5):
    """A graph, and the problem of finding a share of it from k observations."""
    A = random_graph(rng, n, density)
    X = simulate_observations(random_precision(rng, A), k, rng)
    return A, Problem.create(X, hide(A, rng, share=share))


def approximate_posterior(known, Theta_hat, S, k, log_prior):
    """Every graph that agrees with `known`, and its probability by Eq. (10)."""
    graphs = all_graphs(len(known))
    agree = np.array([np.array_equal(A[~np.isnan(known)], known[~np.isnan(known)]) for A in graphs])
    graphs, log_prior = graphs[agree], np.asarray(log_prior)[agree]
    eye = np.eye(len(known))
    log_p = np.array([log_likelihood(Theta_hat * (A + eye), S, k) for A in graphs]) + log_prior
    p = np.exp(log_p - log_p.max())
    return graphs, p / p.sum()


def relabel(A, order):
    return A[np.ix_(order, order)]


def is_falling(values):
    return all(a > b for a, b in pairwise(values))


def to_networkx(A):
    return nx.from_numpy_array(A)


def engine_with(name, **settings):
    """The engine of a name, with those of the settings that it has."""
    has = {field.name for field in fields(ENGINES[name])}
    return engine_of(name, **{key: value for key, value in settings.items() if key in has})
