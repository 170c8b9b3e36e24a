"""A user's tables and matrices: observations, names, lists of pairs, covariance, penalties."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from graphprior.errors import GraphPriorError

Matrix = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
MISSING = ("refuse", "em", "pairwise")
ROWS = ("independent", "series")
SHORTEST_SERIES = 20  # rows below which their order cannot be judged


def as_numbers(table: Any) -> Matrix:
    """Floats of an array, a DataFrame or its column; what is missing, pandas.NA too, is nan."""
    if hasattr(table, "iloc"):
        return np.array(table.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.array(table, dtype=np.float64)


def check_observations(
    X: Any, names: Sequence[str], missing: str = "refuse", rows: str = "independent"
) -> Matrix:
    """``X`` as a (k, n) float matrix, or an error naming what cannot be used.

    Entries may be nan unless ``missing`` is "refuse". A series is long enough to
    see how its rows depend on each other.
    """
    if rows not in ROWS:
        raise GraphPriorError(f"rows = {rows!r}: expected one of {list(ROWS)}")
    if missing not in MISSING:
        raise GraphPriorError(f"missing = {missing!r}: expected one of {list(MISSING)}")
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
    if rows == "series":
        _refuse_unordered(X)
    if missing == "refuse":
        _refuse_missing(table, names)
    table = table[~np.isnan(table).all(axis=1)]  # an empty row is no observation
    if len(table) < 2:
        raise GraphPriorError(f"X has {len(table)} row(s): at least 2 observations are needed")
    if rows == "series" and len(table) < SHORTEST_SERIES:
        raise GraphPriorError(
            f"rows = 'series' with {len(table)} rows: at least {SHORTEST_SERIES} are needed to "
            "see how they depend on each other; take a longer series, or leave them 'independent' "
            "and read the probabilities as too sure"
        )
    return table


def _refuse_unordered(X: Any) -> None:
    """A table that has times as its index is in their order, one way or the other."""
    index: Any = getattr(X, "index", None)
    is_time = getattr(getattr(index, "dtype", None), "kind", None) == "M"
    if is_time and not (index.is_monotonic_increasing or index.is_monotonic_decreasing):
        raise GraphPriorError(
            "rows = 'series', but X is not in the order of its index of times: X.sort_index()"
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
        "missing='pairwise' (missing completely at random); --missing on the command line"
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


def as_square(entries: Any, n: int | None, name: str, expected: str) -> Matrix:
    """A square matrix of numbers with a row for each of ``n`` variables, or an error."""
    try:
        A = np.array(entries, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise GraphPriorError(
            f"{name} is not a matrix of numbers ({error}): expected {expected}"
        ) from None
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise GraphPriorError(f"{name} has shape {A.shape}: expected a square matrix")
    if n is not None and len(A) != n:
        raise GraphPriorError(
            f"{name} is {len(A)} x {len(A)} but X has {n} columns: "
            "expected one row and one column for each variable"
        )
    return A


def refuse_one_sided(A: Matrix, name: str) -> None:
    """A pair has one value, whichever of its variables comes first."""
    one_sided = (A != A.T) & ~(np.isnan(A) & np.isnan(A.T))
    np.fill_diagonal(one_sided, False)
    refuse_first(one_sided, A, name, "not symmetric, (i, j) and (j, i) are the same pair")


def refuse_first(bad: Mask, A: Matrix, name: str, rule: str) -> None:
    """An error about the first bad entry of ``A``, if there is one."""
    if bad.any():
        i, j = np.argwhere(bad)[0]
        mirror = f", [{j}, {i}] = {A[j, i]:g}" if i != j and A[i, j] != A[j, i] else ""
        raise GraphPriorError(
            f"{name}[{i}, {j}] = {A[i, j]:g}{mirror}: {rule} ({int(bad.sum())} such entries)"
        )


def listed_pairs(
    rows: Iterable[Any], columns: Sequence[str], names: Sequence[str], source: str
) -> Iterator[tuple[str, int, int, list[str]]]:
    """Where a row of an edge table stands, its pair i, j, and its other entries as words."""
    index = {name: i for i, name in enumerate(names)}
    for number, row in enumerate(rows, start=2):
        where = f"{source} row {number}"
        if len(row) != len(columns):
            raise GraphPriorError(f"{where} has {len(row)} entries: expected {', '.join(columns)}")
        a, b, *rest = (str(entry).strip() for entry in row)
        for name in (a, b):
            if name not in index:
                raise GraphPriorError(
                    f"{where}: {name!r} is no column of X "
                    f"(X has {', '.join(list(names)[:5])}{', ...' if len(names) > 5 else ''})"
                )
        if a == b:
            raise GraphPriorError(f"{where}: {a!r} is paired with itself")
        yield where, index[a], index[b], rest


def check_covariance(S: Matrix) -> Matrix:
    """A finite symmetric matrix with positive diagonal."""
    S = np.asarray(S, dtype=np.float64)
    if S.ndim != 2 or S.shape[0] != S.shape[1] or not np.isfinite(S).all():
        raise GraphPriorError(f"S has shape {S.shape}: expected a square matrix of finite numbers")
    if not np.allclose(S, S.T, rtol=1e-8, atol=0):
        raise GraphPriorError("S is not symmetric: it is no covariance matrix")
    if (np.diag(S) <= 0).any():
        i = int(np.flatnonzero(np.diag(S) <= 0)[0])
        raise GraphPriorError(f"S[{i}, {i}] = {S[i, i]:g}: a variable must vary; remove it")
    return S


def check_penalty(Lambda: Matrix, n: int) -> Matrix:
    """A symmetric, non-negative penalty matrix with a finite diagonal."""
    Lambda = np.asarray(Lambda, dtype=np.float64)
    if Lambda.shape != (n, n):
        raise GraphPriorError(f"Lambda has shape {Lambda.shape}: expected ({n}, {n})")
    if np.isnan(Lambda).any() or (Lambda < 0).any() or not np.array_equal(Lambda, Lambda.T):
        raise GraphPriorError("Lambda must be symmetric with entries from 0 to inf")
    if np.isinf(np.diag(Lambda)).any():
        raise GraphPriorError("Lambda's diagonal must be finite: a variance is never zero")
    return Lambda
