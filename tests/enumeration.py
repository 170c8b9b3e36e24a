"""Posteriors of small problems, by listing all graphs."""

import numpy as np

from graphprior.evidence import Coupled, Evidence, Slab, data_evidence
from graphprior.ggm import simulate_observations, simulate_precision
from graphprior.graphs import Problem, hide, pairs, unknown_mask
from graphprior.prior.exact import FiniteGraphs, all_graphs
from graphprior.spike_slab import expectation_propagation, log_evidence
from graphprior.wishart import WishartPrior
from oracles import random_graph


def random_prior(rng, n=4, spread=1.0):
    """All graphs on n nodes, each with its own log-weight."""
    graphs = all_graphs(n)
    return FiniteGraphs(list(graphs), spread * rng.standard_normal(len(graphs)))


def simulated_problem(rng, n=4, k=60, unknown=None, density=0.4):
    """k observations of a random graph as in the paper, ``unknown`` pairs hidden (None: all)."""
    A = random_graph(rng, n, density)
    X = simulate_observations(simulate_precision(A, rng, tries=5000), k, rng)
    return A, Problem.create(X, None if unknown is None else hide(A, rng, count=unknown))


def small_problem(seed, n=4, k=60, unknown=None):
    """A prior of full support, a problem, and the evidence of its data."""
    rng = np.random.default_rng(seed)
    prior = random_prior(rng, n)
    _, problem = simulated_problem(rng, n, k, unknown)
    return prior, problem, data_evidence(problem)


def evidence_of(known, F, b, variance=0.1, rate=0.3):
    """Evidence by hand for the unknown pairs of ``known``."""
    rows, cols = np.nonzero(np.triu(unknown_mask(known)))
    odds = np.full(len(b), np.log(rate / (1 - rate)))
    beliefs = expectation_propagation(F, b, variance, odds)
    likelihood, slab = Coupled(F, b), Slab(variance, rate)
    wishart = WishartPrior(len(known) + 2.0, np.ones(len(known)))
    return Evidence(len(known), rows, cols, likelihood, slab, wishart, beliefs)


def exact_posterior(known, prior, evidence=None):
    """The graphs of a finite prior that agree with ``known``, and their probabilities."""
    rows, cols = pairs(len(known))
    graphs = np.zeros((len(prior.a), *known.shape))
    graphs[:, rows, cols] = graphs[:, cols, rows] = prior.a.numpy()
    agree = (np.isnan(known) | (graphs == known)).all((1, 2))
    graphs, log_p = graphs[agree], prior.log_weights.numpy()[agree]
    if evidence is not None:
        F, b = evidence.coupled
        a = graphs[:, evidence.rows, evidence.cols] == 1
        log_p = log_p + [log_evidence(F, b, evidence.slab.variance, row) for row in a]
    p = np.exp(log_p - log_p.max())
    return graphs, p / p.sum()


def exact_marginals(known, prior, evidence=None):
    """Edge probabilities (n, n) of that posterior."""
    graphs, p = exact_posterior(known, prior, evidence)
    return np.einsum("g,gij->ij", p, graphs)
