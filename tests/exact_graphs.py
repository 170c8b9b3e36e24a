"""The posterior of every graph of a few variables, by integrating Theta for each of them."""

from itertools import product

import numpy as np
from scipy.special import gammaln

FREEDOM = 6.0
DRAWS = 4000


def log_marginal(S, k, slab_variance, A, rng, draws=DRAWS):
    """log p(X | A): the integral of |Theta|**(k/2) exp(-k/2 tr S Theta) over slabs N(0, variance).

    Importance sampling from a Student at the mode; the diagonal has a flat prior.
    """
    n = len(S)
    rows, cols = np.nonzero(np.triu(A))
    at = (np.concatenate([np.arange(n), rows]), np.concatenate([np.arange(n), cols]))
    weight = np.where(at[0] == at[1], 0.5, 1.0)
    ridge = np.where(at[0] == at[1], 0.0, 1 / slab_variance)

    def log_density(z):
        Theta = np.zeros((len(z), n, n))
        Theta[:, at[0], at[1]] = Theta[:, at[1], at[0]] = z
        low = np.linalg.eigvalsh(Theta)
        log_det = np.log(np.maximum(low, 1e-300)).sum(1)
        value = k / 2 * (log_det - (S * Theta).sum((1, 2))) - (ridge * z**2).sum(1) / 2
        value -= len(rows) / 2 * np.log(2 * np.pi * slab_variance)
        return np.where(low[:, 0] > 0, value, -np.inf)

    z, H = _mode(S, k, at, weight, ridge, log_density)
    d = len(z)
    root = np.linalg.inv(np.linalg.cholesky(H)).T
    t = rng.standard_normal((draws, d)) / np.sqrt(rng.chisquare(FREEDOM, draws) / FREEDOM)[:, None]
    log_q = -(FREEDOM + d) / 2 * np.log1p((t**2).sum(1) / FREEDOM)
    log_q += gammaln((FREEDOM + d) / 2) - gammaln(FREEDOM / 2) - d / 2 * np.log(FREEDOM * np.pi)
    log_q -= np.linalg.slogdet(root)[1]
    weights = log_density(z + t @ root.T) - log_q
    return weights.max() + np.log(np.exp(weights - weights.max()).mean())


def _mode(S, k, at, weight, ridge, log_density):
    """The mode of Theta's free entries and minus the Hessian there, by Newton's method."""
    n, z = len(S), np.where(at[0] == at[1], 1.0, 0.0)
    z[:n] /= np.diag(S)
    for _ in range(60):
        Theta = np.zeros((n, n))
        Theta[at] = Theta[at[::-1]] = z
        W = np.linalg.inv(Theta)
        slope = k * weight * (W - S)[at] - ridge * z
        i, j = at
        H = W[np.ix_(i, i)] * W[np.ix_(j, j)] + W[np.ix_(i, j)] * W[np.ix_(j, i)]
        H = k * H * np.outer(weight, weight) + np.diag(ridge)
        step = np.linalg.solve(H, slope)
        while log_density((z + step)[None])[0] < log_density(z[None])[0] - 1e-9:
            step /= 2
        z = z + step
        if np.abs(step).max() < 1e-9:
            break
    return z, H


def graphs_of(known):
    """All graphs that agree with what is known."""
    rows, cols = np.nonzero(np.triu(np.isnan(known)))
    found = []
    for values in product((0.0, 1.0), repeat=len(rows)):
        A = np.nan_to_num(known)
        A[rows, cols] = A[cols, rows] = values
        found.append(A)
    return np.array(found)


def log_marginals(chains, known, slab_variance, seed=0):
    """Graphs that agree with what is known and log p(X | graph), by the chains' own likelihood."""
    graphs, rng = graphs_of(known), np.random.default_rng(seed)
    each = [log_marginal(chains.S, chains.k, slab_variance, A, rng) for A in graphs]
    return graphs, np.array(each)
