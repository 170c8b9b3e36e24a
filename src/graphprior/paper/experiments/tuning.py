"""lambda(k): the best penalty on training graphs for several k, and the curve through them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from graphprior.errors import GraphPriorError
from graphprior.paper.baselines.protocol import Penalty
from graphprior.paper.experiments.spec import Spec
from graphprior.paper.experiments.units import LAMBDAS, tune_unit
from graphprior.types import Vector

POINTS = 8
# The lasso whose penalty a method takes.
TUNED = {
    "WGL": "WGL", "GL": "GL", "BGL": "GL", "LPost(p_m=0.3)": "GL", "LPost(p_m=0.45)": "GL",
}  # fmt: skip


@dataclass(frozen=True)
class Tuned:
    """A lasso's tuning: for each point the mean k, the metric at every penalty and the best one."""

    lasso: str
    k: Vector
    values: Vector
    best: Vector
    penalty: Penalty


def tuning_xs(spec: Spec) -> list[float]:
    """Points along the x axis, more than the figure has: three numbers are fitted."""
    if spec.k_per == "graph":
        return list(spec.xs)
    return [float(x) for x in np.geomspace(min(spec.xs), max(spec.xs), POINTS)]


def training(spec: Spec) -> range:
    """The training graphs that a figure tunes on."""
    return range(spec.tuning_graphs)


def tuning_units(spec: Spec, lasso: str) -> list[tuple[str, str]]:
    """All training problems of a lasso."""
    return [
        tune_unit(spec, lasso, x, g, spec.mark) for x in tuning_xs(spec) for g in training(spec)
    ]


def fitted(spec: Spec, lasso: str, results: Mapping[str, Any]) -> Tuned:
    """The curve through the best penalties of the training problems in ``results``."""
    rows = []
    for x in tuning_xs(spec):
        at = [results[tune_unit(spec, lasso, x, g)[0]] for g in training(spec)]
        means = np.mean([r["values"] for r in at], axis=0)
        rows.append((float(np.exp(np.mean([np.log(r["k"]) for r in at]))), means))
    k = np.array([r[0] for r in rows])
    table = np.array([r[1] for r in rows])
    best = np.array(LAMBDAS)[table.argmax(1)]
    return Tuned(lasso, k, table, best, fit_penalty(k, best))


def fit_penalty(k: Vector, best: Vector) -> Penalty:
    """Least squares of log lambda(k) = -log(a log(k)^2 + b log(k) + c).

    On the log scale a penalty that is twice too large counts as one that is
    half. The reciprocal stays positive from the lowest to the highest k.
    """
    t = np.log(np.maximum(k, 2))
    between = np.linspace(t.min(), t.max(), 50)

    def misses(abc: Sequence[float]) -> Vector:
        value = np.maximum(np.polyval(abc, t), 1e-3)
        below = np.maximum(1e-3 - np.polyval(abc, between), 0.0)
        return np.concatenate([np.log(value) + np.log(best), 10 * below])

    fit = least_squares(misses, [0.0, 0.0, float(1 / np.median(best))])
    if not fit.success or (np.polyval(fit.x, between) <= 0).any():
        raise GraphPriorError(f"no curve lambda(k) fits the penalties {best} at k = {k}")
    a, b, c = (float(v) for v in fit.x)
    return Penalty(a, b, c, float(k.min()), float(k.max()))
