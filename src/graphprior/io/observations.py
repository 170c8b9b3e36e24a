"""A user's measurements: a header with the variables' names, one observation a row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from graphprior.errors import GraphPriorError
from graphprior.io.tables import Header, read_table
from graphprior.observations.series import counters


def read_observations(
    path: str | Path, sheet: str | None = None, index: str | None = None
) -> pd.DataFrame:
    """A table of numbers (CSV, TSV, gzipped, Parquet, Excel, NPZ); an empty cell is nan.

    ``sheet`` names the one of an Excel file, ``index`` a column of row labels to leave out
    ("" where it has no name).
    """
    names, table = read_table(path, sheet)
    if table.shape[1] != len(names):
        raise GraphPriorError(
            f"{path}: the header has {len(names)} names but rows have {table.shape[1]} values"
        )
    if index is not None:
        names, table = _without(index, names, table, path)
    _check_names(names, path)
    table.columns = pd.Index(names)
    table = table.apply(_as_numbers, path=path).astype(np.float64)
    if len(table) < 2:
        raise GraphPriorError(f"{path} has {len(table)} row(s): at least 2 observations are needed")
    _refuse_counter(table, path)
    if len(names) < 2:
        raise GraphPriorError(f"{path} has 1 column: at least 2 variables are needed for an edge")
    return table


def _refuse_counter(table: pd.DataFrame, path: str | Path) -> None:
    """A first column that counts the rows holds their labels."""
    first = table.iloc[:, 0]
    if counters(first.to_numpy()[:, None])[0] and abs(first.iloc[1] - first.iloc[0]) == 1:
        name = str(table.columns[0])
        raise GraphPriorError(
            f"{path}: column {name!r} counts the rows ({first.iloc[0]:g} to {first.iloc[-1]:g}): "
            f"row labels are not data, remove them or give index={name!r}; "
            "if it is a measurement, put another column first"
        )


def _without(
    index: str, names: Header, table: pd.DataFrame, path: str | Path
) -> tuple[Header, pd.DataFrame]:
    if names.count(index) != 1:
        raise GraphPriorError(
            f"{path}: index={index!r} names {names.count(index)} columns: expected one of "
            f"{', '.join(names[:5])}{', ...' if len(names) > 5 else ''}"
        )
    at = names.index(index)
    return names[:at] + names[at + 1 :], table.drop(columns=table.columns[at])


def _check_names(names: Header, path: str | Path) -> None:
    """A header that is missing or ambiguous is refused."""
    if "" in names:
        raise GraphPriorError(
            f"{path}: column {names.index('') + 1} has no name: name every variable; "
            "row labels are not data, remove them or give index=''"
        )
    numbers = pd.to_numeric(pd.Series(names), errors="coerce")
    if numbers.notna().all() and not (numbers.diff().iloc[1:] == 1).all():
        raise GraphPriorError(
            f"{path}: the first row holds numbers only ({', '.join(names[:3])}, ...): "
            "expected a header with the variables' names"
        )
    if len(set(names)) < len(names):
        repeated = sorted({c for c in names if names.count(c) > 1})
        raise GraphPriorError(f"{path}: column {repeated[0]!r} occurs twice: names must differ")


def _as_numbers(column: pd.Series[Any], path: str | Path) -> pd.Series[Any]:
    """The column as numbers, empty cells as nan, or an error that shows its first word."""
    if column.dtype.kind in "fiub":
        return column
    if column.dtype.kind in "mMc":  # times have numbers behind them that nobody meant
        bad = column.notna()
    else:
        numbers = pd.to_numeric(column, errors="coerce")
        bad = numbers.isna() & column.notna()
    if not bad.any():
        return column.astype(object).where(column.notna(), np.nan).astype(np.float64)
    row = int(np.flatnonzero(bad)[0])
    raise GraphPriorError(
        f"{path}: column {column.name!r} is not numeric (row {row + 2}: {column.iloc[row]!r}); "
        "remove it, give index= if it holds row labels, or turn it into numbers"
    )
