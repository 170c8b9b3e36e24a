"""Checks of what a user passes to the estimator, with words that say what to do."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from graphprior.choices import Missing, PriorWeight, Use
from graphprior.engines.langevin import resolve_device
from graphprior.engines.run import Engine, resolve_engine
from graphprior.errors import GraphPriorError
from graphprior.observations.checks import as_numbers, node_names
from graphprior.priors.load import AUTO, NONE


def check_parameters(model: Any) -> None:
    """Refuse parameters of a `PartialGGM` that make no sense."""
    engine = resolve_engine(model.engine)
    for name, kind in (("use", Use), ("prior_weight", PriorWeight), ("missing", Missing)):
        kind.of(name, getattr(model, name))
    for name in ("assume_centered", "time_series", "unknown_at_random"):
        if not isinstance(getattr(model, name), bool | np.bool_):
            raise GraphPriorError(f"{name} = {getattr(model, name)!r}: expected True or False")
    for name in ("density", "null_scale", "threshold"):
        value = getattr(model, name)
        if value is not None and not isinstance(value, Real):
            raise GraphPriorError(f"{name} = {value!r}: expected a number or None")
    _check_density(model)
    _check_null_scale(model, engine)
    if model.threshold is not None and not 0 < model.threshold <= 1:
        raise GraphPriorError(f"threshold = {model.threshold}: expected a value in (0, 1]")
    if not isinstance(model.verbose, bool | np.bool_ | int) and not callable(model.verbose):
        raise GraphPriorError(
            f"verbose = {model.verbose!r}: expected True, False or a function (done, total)"
        )
    resolve_device(model.device)


def _check_density(model: Any) -> None:
    if model.density is None:
        return
    if not 0 < model.density < 1:
        raise GraphPriorError(f"density = {model.density}: expected None or a share in (0, 1)")
    if not (model.prior is None or (isinstance(model.prior, str) and model.prior in (AUTO, NONE))):
        raise GraphPriorError(
            f"density = {model.density} is the edge rate of independent edges: with prior = "
            f"{model.prior!r} it would not be used; leave one out"
        )
    if model.use == Use.DATA:
        raise GraphPriorError(
            f"density = {model.density} with use = 'data', which follows the data alone: leave "
            "density out, or use = 'both'"
        )


def _check_null_scale(model: Any, engine: Engine) -> None:
    scale = model.null_scale
    if scale is not None and not 0 <= scale < 1:
        raise GraphPriorError(
            f"null_scale = {scale}: expected None or a partial correlation from 0 to below 1"
        )
    if scale and model.use == Use.PRIOR:
        raise GraphPriorError(f"null_scale = {scale} with use = 'prior', which sees no data")
    if scale and engine.plugs_in:
        raise GraphPriorError(
            f"null_scale = {scale} with a precision matrix plugged in, whose absent pairs are "
            "exactly zero: use engine 'direct' or 'gibbs', or Langevin(likelihood='marginal')"
        )


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
