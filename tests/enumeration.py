"""Posteriors of small problems, by listing all graphs."""

from itertools import product

import numpy as np
from scipy.special import expit, logit, softmax

from exact_graphs import log_marginals
from graphprior.evidence.chains import Beliefs, Drawn, Draws, Run, codes
from graphprior.evidence.evidence import Evidence, data_evidence
from graphprior.evidence.quadratic import Coupled
from graphprior.evidence.slab import Slab
from graphprior.gaussian.simulate import simulate_observations, simulate_precision
from graphprior.gaussian.wishart import WishartPrior
from graphprior.graphs.matrices import hide, pairs, unknown_mask
from graphprior.priors.exact import FiniteGraphs, all_graphs
from graphprior.problem.problem import Problem
from oracles import random_graph

SLAB = Slab(0.1, 0.3)


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
    """A prior of full support, a problem, and the evidence of its data, the slab given."""
    rng = np.random.default_rng(seed)
    prior = random_prior(rng, n)
    _, problem = simulated_problem(rng, n, k, unknown)
    return prior, problem, data_evidence(problem, fixed=SLAB)


def log_evidence(F, b, s2, a):
    """log p(X | a) / p(X | no edge) under exp(b t - t F t / 2), strengths N(0, s2) integrated."""
    if not a.any():
        return 0.0
    H = s2 * F[np.ix_(a, a)] + np.eye(int(a.sum()))
    _, log_det = np.linalg.slogdet(H)
    return float(-0.5 * log_det + 0.5 * s2 * b[a] @ np.linalg.solve(H, b[a]))


def conditional_log_bf(F, b, s2, a):
    """log p(X | a_j = 1, rest) / p(X | a_j = 0, rest) of every pair j (m,)."""
    found = []
    for j in range(len(b)):
        on, off = a.copy(), a.copy()
        on[j], off[j] = True, False
        found.append(log_evidence(F, b, s2, on) - log_evidence(F, b, s2, off))
    return np.array(found)


class GaussianPairs:
    """In place of chains: strengths of the unknown pairs have a Gaussian likelihood."""

    slack = 0.0
    sweeps = 1

    def __init__(self, known, F, b, slab):
        self.at = np.nonzero(np.triu(unknown_mask(known)))
        self.F, self.b, self.slab, self.free = F, b, slab, codes(known)
        self.S = np.eye(len(known))
        self.states = (Drawn(self.S, known == 1, slab),) * 2

    def matrix(self, values):
        A = np.zeros_like(self.S)
        A[self.at] = A[self.at[::-1]] = values
        return A

    def log_p(self):
        """Every graph (m,), and log p(X | graph)."""
        a = np.array(list(product((False, True), repeat=len(self.b))))
        return a, np.array([log_evidence(self.F, self.b, self.slab.variance, row) for row in a])

    def beliefs(self, log_odds, with_rate=False, settle=False, keep=0):
        a, log_p = self.log_p()
        told, nothing = np.clip(log_odds[self.at], -40, 40), np.zeros(len(self.b))
        p = np.clip(softmax(log_p + a @ told) @ a, 1e-12, 1 - 1e-12)
        found = Beliefs(logit(p) - told, p, nothing, nothing + 1, nothing + 1, converged=True)
        return Run(self, self.slab, found, self.S)

    def conditional_log_bf(self, drawn):
        return self.matrix(
            conditional_log_bf(self.F, self.b, self.slab.variance, drawn.edges[self.at])
        )

    def draw(self, rng, drawn, log_odds, with_rate, sweeps, free=None):
        code = (self.free if free is None else free)[self.at]
        edges, draws = np.where(code == 1, drawn.edges[self.at], code == 2), Draws.none(1, sweeps)
        visits, p = np.zeros(len(code)), np.zeros(len(code))
        for _ in range(sweeps):
            for j in rng.permutation(np.flatnonzero(code == 1)):
                log_bf = conditional_log_bf(self.F, self.b, self.slab.variance, edges)[j]
                chance = expit(log_bf + log_odds[self.at][j])
                edges[j] = rng.random() < chance
                visits[j] += 1
                p[j] += chance
        draws = draws._replace(visits=self.matrix(visits), p=self.matrix(p))
        whole = (self.free == 2) | (self.matrix(edges) > 0)
        return Drawn(self.S, whole, self.slab), draws


class Told(Evidence):
    """Evidence by hand."""

    def coupled(self):
        return Coupled(self.chains.F, self.chains.b)


def evidence_of(known, F, b, slab=SLAB):
    """Evidence by hand: the unknown pairs of ``known`` have precision F and shift b."""
    chains, n = GaussianPairs(known, F, b, slab), len(known)
    beliefs = chains.beliefs(np.full((n, n), logit(slab.rate))).beliefs
    wishart = WishartPrior(n + 2.0, np.ones(n))
    return Told(n, *chains.at, chains, slab, wishart, beliefs, np.eye(n), np.ones(n), None)


def exact_posterior(known, prior, evidence=None):
    """The graphs of a finite prior that agree with ``known``, and their probabilities."""
    rows, cols = pairs(len(known))
    graphs = np.zeros((len(prior.a), *known.shape))
    graphs[:, rows, cols] = graphs[:, cols, rows] = prior.a.numpy()
    agree = (np.isnan(known) | (graphs == known)).all((1, 2))
    graphs, log_p = graphs[agree], prior.log_weights.numpy()[agree]
    if evidence is not None:
        likelihood = listed(known, evidence)
        log_p = log_p + [likelihood[A.tobytes()] for A in graphs]
    p = np.exp(log_p - log_p.max())
    return graphs, p / p.sum()


def listed(known, evidence):
    """log p(X | graph), up to a constant, of all graphs that agree with ``known``."""
    chains = evidence.chains
    if isinstance(chains, GaussianPairs):
        a, log_p = chains.log_p()
        graphs = [np.where(known == 1, 1.0, chains.matrix(row)) for row in a]
    else:
        graphs, log_p = log_marginals(chains, known, SLAB.variance)
    return {A.tobytes(): value for A, value in zip(graphs, log_p, strict=True)}


def exact_marginals(known, prior, evidence=None):
    """Edge probabilities (n, n) of that posterior."""
    graphs, p = exact_posterior(known, prior, evidence)
    return np.einsum("g,gij->ij", p, graphs)


def at_estimate(model, pair, partial_correlation):
    """The data's log-odds had the pair that partial correlation, all else the same."""
    e = model.evidence_
    at = [*zip(e.rows, e.cols, strict=True)].index(pair)
    slack = e.slack.variance
    precision, mean = e.beliefs.precision[at], e.beliefs.mean[at] * (1 + slack / e.slab.variance)
    there, here = (
        e.slab.log_bf(precision, np.sign(mean) * size * precision, slack)
        for size in (abs(partial_correlation), abs(mean))
    )
    log_bf = e.beliefs.log_bf[at]
    return there + np.clip(2 - abs(log_bf) / 5, 0, 1) * (log_bf - here)
