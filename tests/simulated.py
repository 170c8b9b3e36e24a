"""Results of any size without fitting: sparse graphs, and probabilities that lean their way."""

import networkx as nx
import numpy as np
from scipy.special import expit

from graphprior.engines.posterior import Reasons, share_interval
from graphprior.graphs.matrices import unvech, vech
from graphprior.results.diagnostics import Diagnostics
from graphprior.results.result import Result


def simulated_result(n, seed=0, names=None, share=0.5, draws=0, **diagnostics):
    """A graph of communities, a share of it unknown, with log-odds that are right on average."""
    rng = np.random.default_rng(seed)
    sizes = [len(part) for part in np.array_split(np.arange(n), max(n // 15, 1))]
    graph = nx.random_partition_graph(sizes, min(1.0, 4 / min(sizes)), 0.4 / n, seed=seed)
    A = nx.to_numpy_array(graph)
    a = vech(A)
    unknown = rng.random(len(a)) < share
    prior = np.where(a == 1, rng.normal(0.5, 1.5, len(a)), rng.normal(-4.0, 1.2, len(a)))
    data = np.where(a == 1, rng.normal(3.0, 2.5, len(a)), rng.normal(-1.0, 0.8, len(a)))
    parts = [np.where(unknown, part, 0.0) for part in (prior, data, np.full(len(a), -0.3))]
    rest = [np.zeros(len(a))] * (len(Reasons._fields) - len(parts))
    reasons = Reasons(*(unvech(part) for part in parts + rest))
    p = np.where(unknown, expit(sum(parts)), a)
    if draws:
        p = np.where(unknown, np.round(p * draws) / draws, a)
    P = unvech(p)
    low, high = share_interval(P, draws) if draws else (P, P)
    A_hat = (P >= 0.5).astype(float)
    weights = unvech(vech(A_hat) * rng.uniform(0.2, 0.9, len(a)) * rng.choice([-1, 1], len(a)))
    precision = np.diag(np.abs(weights).sum(1) + 0.5) + weights
    known = unvech(np.where(unknown, np.nan, a))
    facts = {
        "n": n, "k": 4 * n, "unknown_pairs": int(unknown.sum()), "fixed_by_bootstrap": 0,
        "threshold": 0.5, "engine": "gibbs" if draws else "direct", "likelihood": "marginal",
        "precision_shrinkage": 0.0, "prior_gain": None,
    }  # fmt: skip
    return Result(
        tuple(names or (f"g{i:03d}" for i in range(n))),
        known,
        P,
        np.stack([low, high]),
        A_hat,
        precision,
        np.zeros((draws, n, n), np.uint8),
        reasons,
        Diagnostics.from_dict(facts | diagnostics),
    )
