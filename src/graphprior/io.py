"""A user's tables in, and what a result was made from."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from graphprior.errors import GraphPriorError
from graphprior.graphs import (
    EDGE_TABLE,
    Matrix,
    align_known,
    known_from_edge_table,
)
from graphprior.provenance import machine, versions


def _read_csv(path: Path, **options: Any) -> pd.DataFrame:
    if not path.is_file():
        raise GraphPriorError(f"{path}: no such file")
    try:
        separator = "\t" if path.suffix.lower() == ".tsv" else ","
        table: pd.DataFrame = pd.read_csv(path, sep=separator, **options)
    except (ValueError, UnicodeDecodeError, pd.errors.ParserError) as error:
        raise GraphPriorError(f"{path} is not a table ({str(error).strip()})") from None
    return table


def read_observations(path: str | Path) -> pd.DataFrame:
    """A CSV or TSV file: a header with the variables' names, one observation a row."""
    path = Path(path)
    names = _read_names(path)
    table = _read_csv(path, header=None, skiprows=1)
    if table.shape[1] != len(names):
        raise GraphPriorError(
            f"{path}: the header has {len(names)} names but rows have {table.shape[1]} values"
        )
    table.columns = pd.Index(names)
    for name in names:
        _refuse_words(table[name], path)
    if len(table) < 2:
        raise GraphPriorError(f"{path} has {len(table)} row(s): at least 2 observations are needed")
    if len(names) < 2:
        raise GraphPriorError(f"{path} has 1 column: at least 2 variables are needed for an edge")
    return table


def _read_names(path: Path) -> list[str]:
    """The header of a table; one that is missing or ambiguous is refused."""
    header = _read_csv(path, header=None, nrows=1, dtype=str, keep_default_na=False)
    names = [str(c).strip() for c in header.iloc[0]]
    repeated = sorted({c for c in names if names.count(c) > 1})
    if "" in names:
        raise GraphPriorError(
            f"{path}: column {names.index('') + 1} has no name: name every variable; "
            "row labels are not data, remove them"
        )
    numbers = pd.to_numeric(pd.Series(names), errors="coerce")
    if numbers.notna().all() and not (numbers.diff().iloc[1:] == 1).all():
        raise GraphPriorError(
            f"{path}: the first row holds numbers only ({', '.join(names[:3])}, ...): "
            "expected a header with the variables' names"
        )
    if repeated:
        raise GraphPriorError(f"{path}: column {repeated[0]!r} occurs twice: names must differ")
    return names


def _refuse_words(column: pd.Series[Any], path: Path) -> None:
    if pd.api.types.is_numeric_dtype(column):
        return
    bad = pd.to_numeric(column, errors="coerce").isna()
    row = int(np.flatnonzero(bad)[0]) if bad.any() else 0
    raise GraphPriorError(
        f"{path}: column {column.name!r} is not numeric (row {row + 2}: {column.iloc[row]!r}); "
        "remove it or turn it into numbers"
    )


def read_known(path: str | Path, names: Sequence[str]) -> Matrix:
    """A known part: a named matrix of 0, 1 and empty, or a table source, target, present.

    Pairs that an edge table does not mention are unknown.
    """
    path = Path(path)
    table = _read_csv(path, dtype=str, keep_default_na=False)
    columns = [str(c).strip() for c in table.columns]
    if columns == EDGE_TABLE:  # a matrix has one column more than X, its first without meaning
        return known_from_edge_table(table.to_numpy(dtype=str), names, path.name)
    if ("source" in columns or "target" in columns) and sorted(columns[1:]) != sorted(names):
        raise GraphPriorError(
            f"{path}: columns are {columns}: an edge table has exactly {', '.join(EDGE_TABLE)}"
        )
    matrix = table.set_index(table.columns[0])
    matrix.index = pd.Index([str(c).strip() for c in matrix.index])
    matrix.columns = pd.Index(columns[1:])
    empty = {"": "nan", "NA": "nan", "NaN": "nan", "?": "nan"}
    return align_known(matrix.map(lambda entry: empty.get(entry.strip(), entry)), names)


def file_hash(path: str | Path) -> str:
    """SHA-256 of a file, to tell later what a result was made from."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def input_hashes(data: Path, known: Path | None) -> dict[str, dict[str, str]]:
    """Hashes of a table and its known part; names of files, not folders, for a result travels."""
    files = {"data": data} if known is None else {"data": data, "known": known}
    return {what: {path.name: file_hash(path)} for what, path in files.items()}


def estimate_facts(
    prior: str | None, arguments: dict[str, Any], data: Path, known: Path | None
) -> dict[str, Any]:
    """What run.json tells of an estimate."""
    return {
        "command": "estimate",
        "prior": None if prior is None else Path(prior).name,
        "arguments": arguments,
        "inputs": input_hashes(data, known),
        "versions": versions(),
        "machine": machine(),
    }
