"""Absent pairs that are not quite zero.

In a Gaussian graphical model a pair without an edge has strength 0. Real data
are not so exact: what no edge stands for (weather over neighbouring valleys)
still leaves a little dependence everywhere, and enough observations find it at
every pair. Pairs known to be absent tell how much: every strength is given an
error N(0, v) of its own, and v is where their likelihood is highest. An edge
must then stand out from such pairs, not from zero.

v stays 0 unless the likelihood gains clearly, so data that obey the model are
judged by it. A pair that stands out even so is a `Doubt`: it may be an edge that
was wrongly taken as absent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from graphprior.evidence.quadratic import Coupled, integrate_out, linearise
from graphprior.problem.problem import Problem
from graphprior.types import Index, Matrix, Vector

# Nats. Under the model half of all gains are 0 and the rest half a chi-squared of one degree:
# one problem in a thousand comes so far.
CLEAR = 5.0
# Nats by which a few wrong entries must explain the absent pairs better than slack does.
SURE = 10.0
# Standard deviations of the score at v = 0; below it the costly search hardly finds a clear gain.
SCORE = 2.0
SMALLEST, LARGEST = 1e-7, 0.2
FEWEST_ABSENT = 20
# Of a doubt where there is none, a problem; and how many are named.
FALSE_ALARM, MOST_DOUBTS = 1e-3, 3
MOST_PAIRS = 3000


class Slack(NamedTuple):
    """Strengths have an error N(0, variance); it adds ``gain`` nats to the log likelihood."""

    variance: float = 0.0
    gain: float = 0.0

    @property
    def size(self) -> float:
        """As a partial correlation: the standard deviation."""
        return float(np.sqrt(self.variance))


class Doubt(NamedTuple):
    """An absent pair that looks like an edge: partial correlation, and standard errors from 0."""

    i: int
    j: int
    partial_correlation: float
    z: float


def tells_slack(problem: Problem) -> bool:
    """Whether enough pairs are known to be absent."""
    absent = np.triu(problem.known == 0, 1)
    return int(absent.sum()) >= FEWEST_ABSENT


def clear_slack(told: Coupled) -> Slack:
    """The slack of the absent pairs, if it is clear and a few wrong entries do not explain it.

    They do if little is gained once they are left free, and far more is gained by them than by
    slack; which pairs they are costs the logarithm of how many there are. In doubt it is slack:
    that costs weak edges, while exact zeros where there is some make false ones.
    """
    slack = absent_slack(told)
    if slack.gain < CLEAR:
        return Slack()
    found, rest = _stand_out(told)
    by_them = sum(z**2 / 2 - np.log(len(told.b)) for _, z in found)
    wrong = by_them > slack.gain + SURE and absent_slack(rest).gain < CLEAR
    return Slack() if wrong else slack


def absent_slack(told: Coupled) -> Slack:
    """The slack at which the likelihood of the absent pairs' strengths is highest.

    With strengths N(0, v) it is, up to a constant,
    ``-log det(I + v F) / 2 + v b inv(I + v F) b / 2``.
    """
    F, b = told
    if b @ b - np.trace(F) <= SCORE * np.sqrt(2 * np.vdot(F, F)):
        return Slack()
    spectrum, basis = np.linalg.eigh(F)
    spectrum, pull = np.maximum(spectrum, 0.0), (basis.T @ b) ** 2

    def loss(log_v: float) -> float:
        v = np.exp(log_v)
        scale = 1 + v * spectrum
        return float((np.log(scale) - v * pull / scale).sum() / 2)

    bounds = (np.log(SMALLEST), np.log(LARGEST))
    best = minimize_scalar(loss, bounds=bounds, method="bounded")
    return Slack(float(np.exp(best.x)), -float(best.fun)) if best.fun < 0 else Slack()


def doubts(
    told: Coupled, slack: Slack, rows: Index, cols: Index, exact: Coupled | None = None
) -> tuple[Doubt, ...]:
    """Absent pairs (rows, cols) that the model cannot explain, the clearest first.

    Where slack was found one is named in any case: a single wrong entry can look like it.
    ``exact`` is the likelihood before there was slack: there they are at 0 and their strengths,
    free together, can be read off.
    """
    found, _ = _stand_out(told, slack.variance)
    if slack.gain and not found:
        found = [_clearest(told, slack.variance)]
    free = [j for j, _ in found]
    F, b = exact or told
    strength = np.clip(np.linalg.solve(F[np.ix_(free, free)], b[free]), -1, 1)
    return tuple(
        Doubt(int(rows[j]), int(cols[j]), -float(t), z)
        for (j, z), t in zip(found, strength, strict=True)
    )


def _clearest(told: Coupled, variance: float) -> tuple[int, float]:
    """The pair furthest out, and how many standard errors: under the model b is N(0, F + v F F)."""
    F, b = told
    z = b / np.sqrt(np.maximum(np.diag(F), 1e-12) + variance * (F * F).sum(axis=1))
    j = int(np.abs(z).argmax())
    return j, float(z[j])


def _stand_out(told: Coupled, variance: float = 0.0) -> tuple[list[tuple[int, float]], Coupled]:
    """Pairs too far out to be chance, and the likelihood of the others with those left free.

    They are left free one by one, so that those around them are not blamed for them.
    """
    found: list[tuple[int, float]] = []
    limit = norm.isf(FALSE_ALARM / 2 / len(told.b))
    while len(found) < MOST_DOUBTS:
        j, z = _clearest(told, variance)
        if abs(z) < limit:
            break
        found.append((j, z))
        F, b = told
        column = F[:, j] / F[j, j]
        F, b = F - np.outer(column, F[j]), b - column * b[j]
        F[j] = F[:, j] = b[j] = 0.0
        told = Coupled(F, b)
    return found, told


def blur(told: Coupled, variance: Vector) -> Coupled:
    """The likelihood when each strength has an error N(0, variance): inv(inv(F) + variance)."""
    F, b = told
    both = np.column_stack([F, b])
    seen: Matrix = np.linalg.solve(np.eye(len(b)) + F * variance, both).astype(np.float64)
    return Coupled((seen[:, :-1] + seen[:, :-1].T) / 2, seen[:, -1])


def linearise_with_slack(
    Theta: Matrix, S: Matrix, k: float, rows: Index, cols: Index, absent: tuple[Index, ...],
    variance: float, share: Vector | None = None,
) -> Coupled:  # fmt: skip
    """`linearise` for what the entries have beside their errors.

    Errors and all that the absent pairs have are integrated out. The diagonal has no error: it
    is free already.
    """
    if variance == 0:
        return linearise(Theta, S, k, rows, cols, share)
    entries = zip((rows, cols), absent, strict=True)
    rows_too, cols_too = (np.concatenate(part) for part in entries)
    told = linearise(Theta, S, k, rows_too, cols_too, share)
    is_absent = np.arange(len(rows_too)) >= len(rows)
    F, b, *_ = integrate_out(told.F, told.b, is_absent, np.full(len(absent[0]), 1 / variance))
    return blur(Coupled(F, b), np.where(rows == cols, 0.0, variance))
