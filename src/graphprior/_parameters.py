"""Checks of what a user passes to the estimator, with words that say what to do."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from graphprior.engines.gibbs import Sweeps
from graphprior.engines.langevin import resolve_device
from graphprior.engines.run import ENGINES
from graphprior.errors import GraphPriorError
from graphprior.observations.checks import MISSING, ROWS, as_numbers, node_names
from graphprior.priors.noise import Schedule


def check_parameters(model: Any) -> None:
    """Refuse parameters of a `PartialGGM` that make no sense."""
    if model.engine not in ENGINES:
        raise GraphPriorError(f"engine = {model.engine!r}: expected one of {list(ENGINES)}")
    allowed = (None, "marginal", *(["plug-in"] if model.engine == "langevin" else []))
    if model.likelihood not in allowed:
        raise GraphPriorError(
            f"likelihood = {model.likelihood!r} with engine {model.engine!r}: expected one of "
            f"{list(allowed)}"
        )
    if model.hidden not in ("by value", "at random"):
        raise GraphPriorError(f"hidden = {model.hidden!r}: expected 'by value' or 'at random'")
    if model.variant not in ("LPost", "LPr", "LL"):
        raise GraphPriorError(f"variant = {model.variant!r}: expected 'LPost', 'LPr' or 'LL'")
    for name, choices in (("missing", MISSING), ("rows", ROWS)):
        if getattr(model, name) not in choices:
            raise GraphPriorError(
                f"{name} = {getattr(model, name)!r}: expected one of {list(choices)}"
            )
    _check_numbers(model)
    if not isinstance(model.schedule, Schedule | None):
        raise GraphPriorError(f"schedule = {model.schedule!r}: expected a Schedule or None")
    if not isinstance(model.sweeps, Sweeps | None):
        raise GraphPriorError(f"sweeps = {model.sweeps!r}: expected Sweeps or None")
    resolve_device(model.device)


def _check_numbers(model: Any) -> None:
    """Refuse numbers, switches and a progress function that are none, or out of range."""
    for name in ("temper", "assume_centered"):
        if not isinstance(getattr(model, name), bool | np.bool_):
            raise GraphPriorError(f"{name} = {getattr(model, name)!r}: expected True or False")
    for name in ("density", "slack", "threshold", "p_m", "lam"):
        value = getattr(model, name)
        if value is not None and not isinstance(value, Real):
            raise GraphPriorError(f"{name} = {value!r}: expected a number or None")
    if model.density is not None and not 0 < model.density < 1:
        raise GraphPriorError(f"density = {model.density}: expected None or a share in (0, 1)")
    if model.density is not None and model.prior is not None:
        raise GraphPriorError(
            f"density = {model.density} is the edge rate of independent edges: with prior = "
            f"{model.prior!r} it would not be used; leave one out"
        )
    if model.density is not None and model.variant == "LL":
        raise GraphPriorError(
            f"density = {model.density} with variant 'LL', which uses the likelihood alone: leave "
            "density out, or use variant 'LPost'"
        )
    if model.slack is not None and not 0 <= model.slack < 1:
        raise GraphPriorError(
            f"slack = {model.slack}: expected None or a partial correlation from 0 to below 1"
        )
    if model.slack and model.variant == "LPr":
        raise GraphPriorError(f"slack = {model.slack} with variant 'LPr', which sees no data")
    if model.slack and model.engine == "langevin" and model.likelihood in (None, "plug-in"):
        raise GraphPriorError(
            f"slack = {model.slack} with the plug-in likelihood, which has none: use engine "
            "'direct' or 'gibbs', or likelihood 'marginal'"
        )
    for name in ("n_samples", "n_bootstrap"):
        value = getattr(model, name)
        if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
            raise GraphPriorError(f"{name} = {value!r}: expected a whole number from 1 on")
    if model.threshold is not None and not 0 < model.threshold <= 1:
        raise GraphPriorError(f"threshold = {model.threshold}: expected a value in (0, 1]")
    if model.p_m is not None and not 0 <= model.p_m <= 0.5:
        raise GraphPriorError(f"p_m = {model.p_m}: the margin must lie between 0 and 0.5")
    if model.lam is not None and not model.lam > 0:
        raise GraphPriorError(f"lam = {model.lam}: the penalty must be positive")
    if model.progress is not None and not callable(model.progress):
        raise GraphPriorError(f"progress = {model.progress!r}: expected a function (done, total)")


def refuse_misplaced(X: Any, y: Any) -> None:
    """A square second argument is meant as ``known``; a column of words is named."""
    if y is not None and (hasattr(y, "columns") or (np.ndim(y) == 2 and np.shape(y)[1] > 1)):
        raise GraphPriorError("the second argument of fit is y, which is ignored: pass known=...")
    if hasattr(X, "column_names"):
        raise GraphPriorError("X is a table of PyArrow: pass X.to_pandas()")
    columns = getattr(X, "columns", None)
    if columns is None:
        return
    node_names(X, len(columns))
    for name in columns:
        if getattr(X[name].dtype, "kind", None) in ("m", "M", "c"):
            raise GraphPriorError(
                f"column {str(name)!r} of X holds {X[name].dtype}, no numbers: leave it out"
            )
        try:
            as_numbers(X[name])
        except (TypeError, ValueError) as error:
            raise GraphPriorError(f"column {str(name)!r} of X is not numeric: {error}") from None


def generator(random_state: Any) -> np.random.Generator:
    """A generator from whatever scikit-learn users pass as random_state."""
    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**31 - 1))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise GraphPriorError(f"random_state = {random_state!r}: {error}") from None


def position(node: Any, names: tuple[str, ...]) -> int:
    """The column of a variable, by name or by number."""
    if str(node) in names:
        return names.index(str(node))
    if isinstance(node, int | np.integer) and 0 <= node < len(names):
        return int(node)
    raise GraphPriorError(f"{node!r} is no variable: expected a name such as {names[0]!r}")
