"""A user's tables and matrices: observations, names, lists of pairs, covariance, penalties."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from graphprior.choices import Missing
from graphprior.errors import GraphPriorError
from graphprior.types import Matrix

SHORTEST_SERIES = 20  # rows below which their order cannot be judged


def as_numbers(table: Any) -> Matrix:
    """Floats of an array, a DataFrame or its column; what is missing, pandas.NA too, is nan."""
    if hasattr(table, "iloc"):
        return np.array(table.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.array(table, dtype=np.float64)


def check_observations(
    X: Any, names: Sequence[str], missing: str = Missing.REFUSE, time_series: bool = False
) -> Matrix:
    """``X`` as a (k, n) float matrix, or an error naming what cannot be used.

    Entries may be nan unless ``missing`` is "refuse". A series is long enough to
    see how its rows depend on each other.
    """
    missing = Missing.of("missing", missing)
    try:
        table = as_numbers(X)
    except (TypeError, ValueError) as error:
        raise GraphPriorError(f"X is not a table of numbers: {error}") from None
    if table.ndim != 2:
        raise GraphPriorError(f"X has shape {table.shape}: expected (observations, variables)")
    if np.isinf(table).any():
        t, i = np.argwhere(np.isinf(table))[0]
        raise GraphPriorError(
            f"X[{t}, {i}] is {table[t, i]}: every entry must be a finite number "
            f"({int(np.isinf(table).sum())} are infinite); correct them or leave them empty"
        )
    if time_series:
        _refuse_unordered(X)
    if missing is Missing.REFUSE:
        _refuse_missing(table, names)
    table = table[~np.isnan(table).all(axis=1)]  # an empty row is no observation
    if len(table) < 2:
        raise GraphPriorError(f"X has {len(table)} row(s): at least 2 observations are needed")
    if time_series and len(table) < SHORTEST_SERIES:
        raise GraphPriorError(
            f"time_series=True with {len(table)} rows: at least {SHORTEST_SERIES} are needed to "
            "see how they depend on each other; take a longer series, or leave time_series out "
            "and read the probabilities as too sure"
        )
    return table


def _refuse_unordered(X: Any) -> None:
    """A table that has times as its index is in their order, one way or the other."""
    index: Any = getattr(X, "index", None)
    is_time = getattr(getattr(index, "dtype", None), "kind", None) == "M"
    if is_time and not (index.is_monotonic_increasing or index.is_monotonic_decreasing):
        raise GraphPriorError(
            "time_series=True, but X is not in the order of its index of times: X.sort_index()"
        )


def _refuse_missing(X: Matrix, names: Sequence[str]) -> None:
    gone = np.isnan(X)
    if not gone.any():
        return
    t, i = np.argwhere(gone)[0]
    counts = gone.sum(axis=0)
    worst = [c for c in np.argsort(-counts, kind="stable")[:3] if counts[c]]
    most = ", ".join(f"{names[c]} ({counts[c]})" for c in worst)
    raise GraphPriorError(
        f"X[{t}, {i}] is NaN: {int(gone.sum())} of {X.size} entries are missing, in "
        f"{int(gone.any(axis=1).sum())} of {len(X)} rows; most in column {most}. "
        "Drop those rows or columns, or choose missing='em' (missing at random) or "
        "missing='pairwise' (missing completely at random)"
    )


def refuse_constant_columns(X: Matrix, names: Sequence[str]) -> None:
    """A variable that never varies, or is never seen twice, has no covariance to find."""
    seen = (~np.isnan(X)).sum(axis=0)
    if (seen < 2).any():
        i = int(np.argmin(seen))
        raise GraphPriorError(
            f"column {names[i]} of X has {seen[i]} values and {len(X) - seen[i]} missing: "
            "at least 2 values are needed; remove it"
        )
    spread = np.nanmax(X, axis=0) - np.nanmin(X, axis=0)
    scale = np.nanmax(np.abs(X), axis=0)
    far = np.flatnonzero((scale > 1e140) | ((spread > 0) & (spread < 1e-140)))
    if len(far):
        raise GraphPriorError(
            f"column {names[far[0]]} of X has values of the size {scale[far[0]]:.0e}, whose "
            "squares are no numbers any more: change its units"
        )
    flat = np.flatnonzero(spread <= 8 * np.finfo(float).eps * scale)
    if len(flat):
        listed = ", ".join(str(names[i]) for i in flat[:5]) + (", ..." if len(flat) > 5 else "")
        raise GraphPriorError(
            f"column {listed} of X is constant: a variable that does not vary has no edges "
            "to estimate; remove it"
        )


def node_names(X: Any, n: int) -> tuple[str, ...]:
    """Column names of a DataFrame, or x0 .. x(n-1); duplicates are refused."""
    columns = getattr(X, "columns", None)
    if columns is None:
        return tuple(f"x{i}" for i in range(n))
    names = tuple(str(c) for c in columns)
    odd = [name for name in names if any(ord(c) < 32 and c not in "\t\n\r" for c in name)]
    if odd:
        raise GraphPriorError(f"column name {odd[0]!r} holds a control character: rename it")
    repeated = sorted({c for c in names if names.count(c) > 1}) if len(set(names)) < n else []
    if repeated:
        raise GraphPriorError(
            f"column name {repeated[0]!r} occurs more than once: names must differ"
        )
    return names


def match_names(table: Any, names: Sequence[str], name: str) -> npt.NDArray[Any]:
    """The entries of a DataFrame whose rows and columns are named, in the order of ``names``."""
    rows, cols = [str(c) for c in table.index], [str(c) for c in table.columns]
    for label in (rows, cols):
        missing, extra = sorted(set(names) - set(label)), sorted(set(label) - set(names))
        if missing or extra:
            raise GraphPriorError(
                f"names of {name} do not match X's columns: missing {missing[:5]}, "
                f"not in X {extra[:5]}; expected a matrix with those names on rows and columns, or "
                "an edge table with columns source, target, present"
            )
        if len(label) != len(names):
            raise GraphPriorError(f"{name} names a variable more than once: names must differ")
    order = [rows.index(c) for c in names], [cols.index(c) for c in names]
    # pandas.NA is nan; words stay, for the caller to complain about.
    entries: npt.NDArray[Any] = table.astype(object).where(table.notna(), np.nan).to_numpy()
    return entries[np.ix_(*order)]
