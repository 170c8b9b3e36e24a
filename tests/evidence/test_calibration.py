"""Probabilities, sums of them and drawn graphs mean what they say, on small problems.

The large version is benchmarks/calibration.py.
"""

from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import kstest

from graphprior import PartialGGM
from graphprior.errors import notes
from graphprior.evidence.columns import SHARPEST, SPREAD, USUAL, WEAK
from graphprior.evidence.slab import LARGEST_SLAB, Rate, Slab
from graphprior.gaussian.simulate import simulate_observations, simulate_precision
from graphprior.graphs.matrices import hide, nothing_known, unvech, vech
from graphprior.priors.exact import IndependentEdges
from graphprior.results.metrics import on_unknown
from oracles import engine_with, random_graph

pytestmark = pytest.mark.slow

PROBLEMS, RANKED, DRAWS, BINS = 30, 12, 10, 5
RATE = 0.3
SIZES = (8, 8, 9, 10, 12)
# How far beyond 4 standard errors a mean may be: the size of edges, and often their rate, are
# estimated from the same few data.
OF_EDGES, OF_A_BIN = 0.05, 0.02
STRENGTHS, RATIOS, KNOWN, PRIORS = (
    ("wishart", "own", "uniform"), (2, 10), ("nothing", "half"), ("told", "guessed"),
)  # fmt: skip
# Half of all: any three of strengths, observations, known part and prior meet in some of these.
# Of few rows and variables it cannot be told that strengths are never weak (docs/limits.md).
CELLS = [
    cell
    for i, cell in enumerate(product(STRENGTHS, RATIOS, KNOWN, PRIORS))
    if i.bit_count() % 2 == 0 and cell[:2] != ("uniform", 2)
]
each_cell = pytest.mark.parametrize("cell", CELLS, ids=lambda cell: "-".join(map(str, cell)))


class Solved(NamedTuple):
    """Truth and probabilities of the unknown pairs, and edges among them in the graphs drawn."""

    a: np.ndarray
    p: np.ndarray
    drawn: np.ndarray


def uniform_precision(rng, A):
    """Edges of +-[.2, .6], and a diagonal that makes the matrix definite."""
    v = rng.uniform(0.2, 0.6, len(vech(A))) * rng.choice([-1, 1], len(vech(A)))
    V = unvech(vech(A) * v)
    return V + max(1.0, 0.1 - np.linalg.eigvalsh(V)[0]) * np.eye(len(A))


def own_precision(rng, A):
    """Strengths from the prior that the estimator has; None where they are not definite."""
    variance = np.exp(np.log(USUAL) + SPREAD * rng.standard_normal())
    if variance > LARGEST_SLAB:
        return None
    hump = rng.beta(1, WEAK)
    while hump > SHARPEST:
        hump = rng.beta(1, WEAK)
    slab = Slab(variance, RATE, hump, rng.random())
    m = len(vech(A))
    side = np.where(rng.random(m) < slab.positive, 1, -1)
    t = side * slab.centre + np.sqrt(slab.width) * rng.standard_normal(m)
    Theta = np.eye(len(A)) + unvech(vech(A) * t)
    return Theta if np.linalg.eigvalsh(Theta)[0] > 0 else None


def own_problem(rng, n, told):
    """A graph at the rate told, or at one from the prior of rates, and its precision matrix."""
    while True:
        A = random_graph(rng, n, RATE if told else rng.beta(*Rate()))
        Theta = own_precision(rng, A)
        if Theta is not None:
            return A, Theta


def draw_problem(cell, g):
    """A graph, observations, and what is known."""
    strength, ratio, known, prior = cell
    rng = np.random.default_rng([STRENGTHS.index(strength), ratio, KNOWN.index(known), g])
    n = SIZES[g % len(SIZES)]
    A = random_graph(rng, n, RATE)
    if strength == "own":
        A, Theta = own_problem(rng, n, prior == "told")
    elif strength == "wishart":
        Theta = simulate_precision(A, rng, tries=100_000)
    else:
        Theta = uniform_precision(rng, A)
    X = simulate_observations(Theta, ratio * n, rng)
    return A, X, hide(A, rng, share=0.5) if known == "half" else nothing_known(n)


@cache
def solved(cell, engine, problems):
    """Problems of a cell, solved by an engine."""
    prior, found = IndependentEdges(RATE) if cell[-1] == "told" else None, []
    for g in range(problems):
        A, X, known = draw_problem(cell, g)
        model = PartialGGM(prior, engine=engine_with(engine, draws=DRAWS), random_state=g)
        with notes():
            model.fit(X, known=known)
        U = model.problem_.U
        drawn = np.array([on_unknown(G, U).sum() for G in model.samples_])
        found.append(Solved(on_unknown(A, U), on_unknown(model.edge_probabilities_, U), drawn))
    return found


@each_cell
def test_probabilities_sum_to_the_number_of_edges(cell, record_property):
    found = solved(cell, "direct", PROBLEMS)
    difference = np.array([one.p.sum() - one.a.sum() for one in found])
    edges = np.mean([one.a.sum() for one in found])
    standard_error = difference.std(ddof=1) / np.sqrt(PROBLEMS)
    record_property("expected_over_true_edges", 1 + difference.mean() / edges)
    assert abs(difference.mean()) < 4 * standard_error + OF_EDGES * edges


@each_cell
def test_pairs_are_edges_as_often_as_they_are_likely(cell, record_property):
    """In bins of equally many pairs; pairs of one problem err together, so problems are counted."""
    found = solved(cell, "direct", PROBLEMS)
    p, a = (np.concatenate([one[i] for one in found]) for i in (1, 0))
    problem = np.repeat(np.arange(PROBLEMS), [len(one.a) for one in found])
    worst = 0.0
    for part in np.array_split(np.argsort(p, kind="stable"), BINS):
        error = (a - p)[part]
        spread = np.bincount(problem[part], error - error.mean()) ** 2
        least = p[part] * (1 - p[part])  # what independent pairs would have
        standard_error = np.sqrt(max(spread.sum(), least.sum())) / len(part)
        worst = max(worst, (abs(error.mean()) - OF_A_BIN) / standard_error)
    record_property("worst_bin_in_standard_errors", worst)
    assert worst < 4


@pytest.mark.parametrize("prior", PRIORS)
def test_the_number_of_edges_ranks_anywhere_among_those_drawn(prior, record_property):
    """Ranks are uniform if the truth is one more draw; so is their distance from the middle."""
    rng, u = np.random.default_rng(0), []
    for cell in CELLS:
        for a, _, drawn in solved(cell, "gibbs", RANKED) if cell[-1] == prior else ():
            below, ties = (drawn < a.sum()).sum(), (drawn == a.sum()).sum()
            u.append((below + rng.integers(ties + 1) + rng.random()) / (DRAWS + 1))
    u = np.array(u)
    tests = (kstest(x, "uniform", method="exact").pvalue for x in (u, np.abs(2 * u - 1)))
    p = min(1.0, 2 * min(tests))
    record_property("p_value_of_uniform_ranks", p)
    assert p > 1e-4
