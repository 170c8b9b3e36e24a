"""What one worker does: a method on one problem, or a lasso's penalties on one training problem."""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import astuple
from functools import lru_cache
from typing import Any

import numpy as np

from graphprior.errors import GraphPriorError, GraphPriorWarning
from graphprior.paper.baselines.lasso import supports
from graphprior.paper.baselines.protocol import Method, Penalty, Setting
from graphprior.paper.baselines.registry import factory, without_data
from graphprior.paper.experiments.spec import Spec
from graphprior.results.metrics import METRICS, f1, on_unknown
from graphprior.types import Vector

DIGITS = 6
# In the units of S, whose diagonal is 0.1 to 0.2 in these problems.
LAMBDAS = tuple(float(lam) for lam in np.geomspace(0.001, 0.3, 28))


def ignores_x(spec: Spec, method: str) -> bool:
    """Whether a method's answer is the same at every x."""
    return method in without_data() and not spec.unknown.moves_with_x


def method_of(key: str) -> str:
    """The method of a unit."""
    return key.split(" | ")[0]


def solve_unit(
    spec: Spec,
    method: str,
    x: float,
    g: int,
    penalties: dict[str, Penalty],
    mark: str | None = None,
) -> tuple[str, str]:
    """Key and text of a method on problem ``g`` at x; ``mark`` goes with the result."""
    place = "*" if ignores_x(spec, method) else f"{x:g}"
    fitted = {name: astuple(p) for name, p in penalties.items()}
    text = {
        "spec": spec.to_json(), "method": method, "x": x, "g": g, "penalties": fitted, "mark": mark,
    }  # fmt: skip
    return f"{method} | {place} | {g}", json.dumps(text)


@lru_cache(maxsize=32)
def _method(name: str, spec_text: str, penalties: str) -> Method:
    spec = Spec.from_json(spec_text)
    fitted = {lasso: Penalty(*values) for lasso, values in json.loads(penalties).items()}
    return factory(name)(Setting(spec.priors, fitted, spec.T))


def cpu_seconds() -> float:
    """CPU time of this process and of the programs it called."""
    called = os.times()
    return time.process_time() + called.children_user + called.children_system


def attempt(work: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
    """What ``work`` found, with its CPU seconds; an error is an answer too.

    One failure is then a row, and not the end of a run of hours.
    """
    start, found, error = cpu_seconds(), {}, None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GraphPriorWarning)
            found = dict(work())
    except Exception as failure:
        error = f"{type(failure).__name__}: {' '.join(str(failure).split())}"
    return {"error": error, "seconds": round(cpu_seconds() - start, 3), **found}


def kept(truth: Vector, scores: Vector, digits: int = DIGITS) -> dict[str, Any]:
    """The two vectors of a unit as its line in the journal has them."""
    return {
        "truth": "".join("1" if a else "0" for a in truth),
        "scores": [round(float(s), digits) for s in scores],
    }


def truth_and_scores(result: Mapping[str, Any]) -> tuple[Any, Any]:
    """The two vectors that `kept` wrote."""
    truth = np.frombuffer(result["truth"].encode(), dtype=np.uint8) - ord("0")
    return truth.astype(np.float64), np.array(result["scores"], dtype=np.float64)


def check_scores(scores: Vector, count: int) -> Vector:
    """One number from 0 to 1 for each unknown pair, or an error that becomes the method's row."""
    good = np.shape(scores) == (count,) and np.isfinite(scores).all()
    if not good or (scores < 0).any() or (scores > 1).any():
        raise GraphPriorError(
            f"scores of shape {np.shape(scores)}: expected {count} numbers from 0 to 1"
        )
    return scores


def solve(text: str) -> dict[str, Any]:
    """Scores, truth and CPU seconds; an error of the method is an answer too."""
    unit = json.loads(text)
    spec, g, x = Spec.from_json(unit["spec"]), unit["g"], unit["x"]
    A = spec.graph("test", g)
    problem = spec.problem(x, A, "test", g)
    place = "*" if ignores_x(spec, unit["method"]) else repr(float(x))
    rng = spec.seeds("test", unit["method"], g, place)
    truth = on_unknown(A, problem.U)

    def method() -> Method:
        return _method(unit["method"], unit["spec"], json.dumps(unit["penalties"]))

    def judged() -> dict[str, Any]:
        return kept(truth, check_scores(method()(problem, rng), len(truth)))

    made = attempt(lambda: {"method": method()})  # reading a prior is not the problem's cost
    return {
        "mark": unit["mark"], "k": problem.k, "unknown": len(truth),
        **(made if made["error"] else attempt(judged)),
    }  # fmt: skip


def tune_unit(spec: Spec, lasso: str, x: float, g: int, mark: str | None = None) -> tuple[str, str]:
    """Key and text of a lasso on training problem ``g`` at x; ``mark`` goes with the result."""
    text = {"spec": spec.to_json(), "lasso": lasso, "x": x, "g": g, "mark": mark}
    return f"tune {lasso} | {x:g} | {g}", json.dumps(text)


def tune(text: str) -> dict[str, Any]:
    """The figure's metric (F1 where that is AUC) of a lasso at each penalty."""
    unit = json.loads(text)
    spec, g, x = Spec.from_json(unit["spec"]), unit["g"], unit["x"]
    A = spec.graph("train", g)
    problem = spec.problem(x, A, "train", g)
    truth = on_unknown(A, problem.U)
    if unit["lasso"] not in ("WGL", "GL"):
        raise GraphPriorError(f"{unit['lasso']!r} has no penalty to tune: WGL and GL have")
    found = supports(problem, LAMBDAS, uses_known=unit["lasso"] == "WGL")
    metric = METRICS.get(spec.metric, f1)
    values = [round(float(metric(truth, s >= 0.5)), DIGITS) for s in found]
    return {"mark": unit["mark"], "k": problem.k, "values": values}
