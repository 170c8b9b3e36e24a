"""TIGER (Liu & Wang 2017): the graph of one square-root lasso for each variable.

Each standardised variable is regressed on all others by

    min_beta  |Z_j - Z beta|_2 / sqrt(k) + lam |beta|_1,    beta_j = 0.

The size of the noise, which a lasso's penalty must be tuned to, cancels in the
optimality conditions; one ``lam`` suits all data. What is known of the graph
cannot be told to it.

The minimum is a point of the lasso's path, where the path's penalty ``alpha``
has fallen to ``lam`` times the residuals' size ``sigma``. Between two changes of
its support the path is a straight line and that point a closed form, so the
path is walked until it is met: no tolerance, no iteration that may not end, and
nothing special where no residual is left.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graphprior.engines.bootstrap import correlation
from graphprior.errors import GraphPriorError
from graphprior.paper.baselines.protocol import Factory
from graphprior.problem.problem import Problem
from graphprior.results.metrics import on_unknown
from graphprior.types import Mask, Matrix, Vector

# lam = zeta pi sqrt(log n / (2 k)) for some zeta from sqrt(2) / pi to 1. The smallest gives
# sqrt(log n / k); it is what the authors of both papers take. The largest finds no false edges.
ZETA = float(np.sqrt(2) / np.pi)
# What is smaller, on the scale of correlations, is a rounding error.
ROUNDING = 1e-10


def tiger_penalty(n: int, k: int, zeta: float = ZETA) -> float:
    """lam, which depends on the numbers of variables and observations alone."""
    return float(zeta * np.pi * np.sqrt(np.log(n) / (2 * k)))


class Line(NamedTuple):
    """A stretch of the lasso's path: beta = u - alpha v on the support, 0 elsewhere."""

    support: list[int]
    signs: list[float]
    u: Vector
    v: Vector
    unexplained: float

    def next_to_leave(self) -> tuple[float, int]:
        """Largest alpha where a coefficient is back at zero, and its place in the support."""
        shrinks = self.v * self.signs < 0
        alphas = np.where(shrinks, self.u / np.where(shrinks, self.v, 1.0), 0.0)
        return float(alphas.max()), int(alphas.argmax())

    def next_to_enter(self, R: Matrix, j: int) -> tuple[float, int, float]:
        """Largest alpha where another variable explains as much, that variable and its sign."""
        if self.unexplained == 0:
            return 0.0, j, 1.0
        p = R[j] - self.u @ R[self.support]
        q = self.v @ R[self.support]
        alphas = np.zeros((2, len(R)))
        for row, sign in zip(alphas, (1.0, -1.0), strict=True):
            nears = 1 - sign * q > ROUNDING
            row[nears] = sign * p[nears] / (1 - sign * q[nears])
        alphas[:, [j, *self.support]] = 0.0
        negative, i = divmod(int(alphas.argmax()), len(R))
        return float(alphas[negative, i]), i, -1.0 if negative else 1.0

    def meeting(self, lam: float) -> float:
        """The alpha where alpha = lam sigma(alpha), were the line not to end before."""
        slope = 1 - lam**2 * float(self.v @ self.signs)
        return lam * float(np.sqrt(self.unexplained / slope)) if slope > 0 else np.inf


def _line(R: Matrix, j: int, support: list[int], signs: list[float]) -> Line:
    targets = np.stack([R[support, j], signs], axis=1)
    try:
        u, v = np.linalg.solve(R[np.ix_(support, support)], targets).T
    except np.linalg.LinAlgError:
        raise _dependent(j) from None
    unexplained = 1 - float(R[j, support] @ u)
    return Line(support, signs, u, v, unexplained if unexplained > ROUNDING else 0.0)


def square_root_lasso(R: Matrix, j: int, lam: float) -> Vector:
    """Coefficients of variable j on the others, from the correlations ``R``."""
    beta: Vector = np.zeros(len(R))
    r = R[j] * (np.arange(len(R)) != j)
    first = int(np.abs(r).argmax())
    alpha = float(np.abs(r[first]))
    if alpha <= lam:
        return beta
    support, signs = [first], [float(np.sign(r[first]))]
    # Paths change their support about as often as it has variables; ties may add some changes.
    for _ in range(20 * len(R)):
        line = _line(R, j, support, signs)
        leave, place = line.next_to_leave()
        enter, i, sign = line.next_to_enter(R, j)
        end = min(line.meeting(lam), alpha)
        if end >= max(leave, enter):
            beta[support] = line.u - end * line.v
            return np.where(np.abs(beta) > ROUNDING, beta, 0.0)
        alpha = min(max(leave, enter), alpha)
        support, signs = support.copy(), signs.copy()
        if leave >= enter:
            del support[place], signs[place]
        else:
            support.append(i)
            signs.append(sign)
    raise _dependent(j)


def _dependent(j: int) -> GraphPriorError:
    return GraphPriorError(
        f"TIGER found no regression of column {j}: the columns of X are (nearly) dependent; "
        "remove those that repeat others"
    )


def tiger_graph(X: Matrix, zeta: float = ZETA) -> Matrix:
    """A: pairs of variables each of which takes part in the regression of the other.

    These are the entries of the paper's precision matrix that are not zero: of
    its two estimates of an entry, one from each regression, it keeps the smaller.
    """
    k, n = X.shape
    R, lam = correlation(X), tiger_penalty(n, k, zeta)
    chosen: Mask = np.array([square_root_lasso(R, j, lam) for j in range(n)]) != 0
    return (chosen & chosen.T).astype(np.float64)


def tiger(problem: Problem, rng: np.random.Generator) -> Vector:
    """1 for an edge of TIGER's graph, else 0; neither ``known`` nor ``rng`` plays a part."""
    return on_unknown(tiger_graph(problem.X), problem.U)


METHODS: dict[str, Factory] = {"TIGER": lambda setting: tiger}
