"""Problems of the calibration benchmark: how one is drawn, solved and scored."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any
from zlib import crc32

import numpy as np
from calibration_cells import SEED, Cell
from record import cpu_seconds

from graphprior import PartialGGM
from graphprior.engines.gibbs import Gibbs
from graphprior.errors import GraphPriorError, notes
from graphprior.gaussian.simulate import simulate_observations, simulate_precision
from graphprior.graphs.matrices import hide, nothing_known, unvech, vech
from graphprior.io.provenance import commit
from graphprior.paper.datasets import egonets
from graphprior.paper.datasets.registry import family
from graphprior.priors.exact import IndependentEdges, StochasticBlocks
from graphprior.results.metrics import auc, f1, on_unknown
from graphprior.types import Matrix

ENGINES = ("direct", "gibbs")
GROUPS = 3
DELTA = 3  # degrees of freedom of the G-Wishart distribution
TRIES = 5000
LEVELS = (-1.5, -0.5, 0.5, 1.5)  # where an ordinal column is cut, in standard deviations
DRAWS = 20
STATISTICS = ("edges", "triangles", "largest_degree", "pair")
PLACES = 5  # digits of a kept probability; all but the bins are computed before
LEAST = 1e-9  # a probability of less than this counts as this much in bits
Row = dict[str, Any]


def edge_rate(n: int) -> float:
    """Of a graph in which a variable has four neighbours on average, and not too dense."""
    return min(4 / (n - 1), 0.3)


def _random_graph(P: Matrix, rng: np.random.Generator) -> Matrix:
    p = vech(P)
    return unvech((rng.random(len(p)) < p).astype(float))


def _block_prior(n: int) -> tuple[list[int], Matrix]:
    """Groups of alike size, with many edges inside and few between; the mean rate is the usual."""
    rate = edge_rate(n)
    P = np.full((GROUPS, GROUPS), 0.3 * rate) + 2.1 * rate * np.eye(GROUPS)
    return [GROUPS * i // n for i in range(n)], P


@cache  # else the file is read for each problem
def _held_out() -> list[Matrix]:
    return egonets("test")


def draw_graph(kind: str, n: int, rng: np.random.Generator) -> Matrix:
    """A graph of a kind; those of a family have the sizes of the family."""
    if kind == "independent":
        return _random_graph(np.full((n, n), edge_rate(n)), rng)
    if kind == "blocks":
        labels, P = _block_prior(n)
        return _random_graph(P[np.ix_(labels, labels)], rng)
    if kind == "egonets":
        return _held_out()[rng.integers(len(_held_out()))]
    return family(kind).test(1, rng)[0]


def right_prior(cell: Cell) -> Any:
    """The distribution of the graphs of a cell, or the name of a prior that learned it."""
    if cell.graph == "independent":
        return IndependentEdges(edge_rate(cell.n))
    if cell.graph == "blocks":
        return StochasticBlocks(*_block_prior(cell.n))
    return cell.graph


def graph_wishart(A: Matrix, rng: np.random.Generator, delta: int = DELTA) -> Matrix:
    """A draw of the G-Wishart distribution with identity scale.

    Its density on the matrices with the zeros of the graph is proportional to
    det(K)^((delta - 2) / 2) exp(-trace(K) / 2). A Wishart matrix is drawn without regard to the
    graph. Its inverse is kept on the diagonal and the edges and completed elsewhere, by regressing
    each variable on its neighbours until nothing moves (Lenkoski 2013, doi:10.1002/sta4.23).
    """
    n = len(A)
    Z = rng.standard_normal((delta + n - 1, n))
    Sigma = np.linalg.inv(Z.T @ Z)
    W, neighbours = Sigma.copy(), [np.flatnonzero(row) for row in A]
    for _ in range(10_000):
        last = W.copy()
        for j, N in enumerate(neighbours):
            w = W[:, N] @ np.linalg.solve(W[np.ix_(N, N)], Sigma[N, j])
            w[j] = Sigma[j, j]
            W[j] = W[:, j] = w
        if np.abs(W - last).max() < 1e-10 * np.abs(W).max():
            break
    K = np.linalg.inv(W)
    return 0.5 * (K + K.T) * (A + np.eye(n))


def _dominant(V: Matrix) -> Matrix:
    """Entries off the diagonal, and a diagonal that makes the matrix definite."""
    return V + max(1.0, 0.1 - np.linalg.eigvalsh(V)[0]) * np.eye(len(V))


def _factor_truth(n: int, rng: np.random.Generator) -> tuple[Matrix, Matrix]:
    """The quarter of all pairs that three factors tie the most, as in sizes.py."""
    loadings = rng.standard_normal((n, 3))
    V = loadings @ loadings.T
    limit = np.quantile(np.abs(vech(V)), 0.75)
    A = (np.abs(V) > limit) * (1.0 - np.eye(n))
    V = V * A / np.abs(V * A).max()
    return A, V + (0.05 - 1.1 * np.linalg.eigvalsh(V)[0]) * np.eye(n)


def draw_truth(cell: Cell, rng: np.random.Generator) -> tuple[Matrix, Matrix]:
    """A graph and a precision matrix with its zeros."""
    if cell.strength == "factor":
        return _factor_truth(cell.n, rng)
    A = draw_graph(cell.graph, cell.n, rng)
    if cell.strength == "wishart":
        try:
            return A, simulate_precision(A, rng, tries=TRIES)
        except GraphPriorError:  # no positive definite draw: another graph
            return draw_truth(cell, rng)
    if cell.strength == "gwishart":
        return A, graph_wishart(A, rng)
    a = vech(A)
    if cell.strength == "positive":
        return A, _dominant(unvech(-a * rng.uniform(0.05, 0.3, len(a))))
    return A, _dominant(unvech(a * rng.uniform(0.2, 0.6, len(a)) * rng.choice([-1, 1], len(a))))


def draw_known(A: Matrix, kind: str, rng: np.random.Generator) -> Matrix:
    """What is known of a graph: half of the pairs, half of the edges and no more, or nothing."""
    if kind == "half":
        return hide(A, rng, share=0.5)
    if kind == "nothing":
        return nothing_known(len(A))
    a = vech(A)
    known, edges = np.full(len(a), np.nan), np.flatnonzero(a)
    known[rng.choice(edges, len(edges) // 2, replace=False)] = 1.0
    known = unvech(known)
    np.fill_diagonal(known, 0.0)
    return known


def _heavy(X: Matrix, z: Matrix, rng: np.random.Generator) -> Matrix:
    return X / np.sqrt(rng.chisquare(4, len(X)) / 4)[:, None]


def _spoiled(X: Matrix, z: Matrix, rng: np.random.Generator) -> Matrix:
    return np.where(rng.random(X.shape) < 0.01, 10 * X, X)


# Of Gaussian rows X, and the same with columns of variance one.
COLUMNS: dict[str, Callable[[Matrix, Matrix, np.random.Generator], Matrix]] = {
    "gaussian": lambda X, z, rng: X,
    "t4": _heavy,
    "skewed": lambda X, z, rng: np.exp(0.8 * z),
    "ordinal": lambda X, z, rng: np.digitize(z, LEVELS).astype(float),
    "outliers": _spoiled,
}


def draw_problem(cell: Cell, repeat: int) -> tuple[Matrix, Matrix, Matrix]:
    """The graph A, the observations X and what is known."""
    rng = cell.generator(repeat)
    A, Theta = draw_truth(cell, rng)
    X = simulate_observations(Theta, max(3, round(cell.ratio * len(A))), rng)
    known = draw_known(A, cell.known, rng)
    z = X / np.sqrt(np.diag(np.linalg.inv(Theta)))
    return A, COLUMNS[cell.columns](X, z, rng), known


@cache
def warm() -> None:
    """Compile, load and import before anything is timed, once in each process."""
    X = np.random.default_rng(0).standard_normal((50, 26))
    for engine in ENGINES:
        with notes():
            PartialGGM(None, engine=engine).fit(X)


def statistics(A: Matrix) -> list[float]:
    """Edges, triangles and the largest degree of a graph."""
    return [A.sum() / 2, np.trace(A @ A @ A) / 6, A.sum(0).max()]


def ranks(A: Matrix, model: Any, rng: np.random.Generator) -> Row:
    """Where the truth lies among the drawn graphs, from 0 to 1, by each statistic."""
    rows, cols = np.nonzero(np.triu(model.problem_.U))
    at = rng.integers(len(rows))
    drawn = model.samples_.astype(float)
    truth = np.array([*statistics(A), A[rows[at], cols[at]]])
    values = np.array([[*statistics(G), G[rows[at], cols[at]]] for G in drawn])
    below, ties = (values < truth).sum(0), (values == truth).sum(0)
    u = (below + rng.integers(ties + 1) + rng.random(len(truth))) / (len(drawn) + 1)
    covered = values[:, 0].min() <= truth[0] <= values[:, 0].max()
    return {
        **{f"u_{name}": float(x) for name, x in zip(STATISTICS, u, strict=True)},
        "covered": float(covered),
    }


def scores(A: Matrix, model: Any) -> Row:
    """How the probabilities of one problem fare; they and the truth are kept for the bins."""
    a, p = (on_unknown(M, model.problem_.U) for M in (A, model.edge_probabilities_))
    right = np.where(a == 1, p, 1 - p)
    return {
        "pairs": len(a), "edges": float(a.sum()), "expected": float(p.sum()),
        "bits": float(-np.log2(np.clip(right, LEAST, 1)).mean()),
        "f1": float(f1(a, p >= 0.5)), "auc": auc(a, p),
        "settled": float(getattr(model.diagnostics_.data, "evidence_converged", np.nan)),
        "a": "".join(str(int(x)) for x in a),
        "p": [round(float(x), PLACES) for x in p],
    }  # fmt: skip


def solve(text: str) -> Row:
    """One problem of a cell by one engine; a problem that fails says why."""
    unit = json.loads(text)
    cell, engine, repeat = Cell(**unit["cell"]), unit["engine"], unit["repeat"]
    warm()
    A, X, known = draw_problem(cell, repeat)
    rng = np.random.default_rng([SEED, crc32(cell.name.encode()), repeat])
    prior = right_prior(cell) if cell.told else None
    drawing = Gibbs(DRAWS) if engine == "gibbs" else engine
    model = PartialGGM(
        prior, engine=drawing, prior_weight="full", random_state=int(rng.integers(2**31))
    )
    row: Row = {"commit": commit(), "n": len(A), "k": len(X)}
    try:
        with notes():  # nothing is said twice: the model keeps its notes
            seconds, _ = cpu_seconds(lambda: model.fit(X, known=known))
    except Exception as error:  # an hour of work is not lost for one problem
        return row | {"error": f"{type(error).__name__}: {error}"}
    row |= {"seconds": seconds, "notes": model.notes_, **scores(A, model)}
    return row if engine == "direct" else row | ranks(A, model, rng)
