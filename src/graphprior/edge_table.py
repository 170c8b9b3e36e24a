"""What an edge table says: pairs that are edges, pairs that are not, and beliefs about others.

A row names two variables and says ``present`` (1, 0, or ? for unknown) or
``probability``, the belief that there is an edge. Known and believed are two
matrices in the order of the variables, nan where the table says nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from graphprior.checks import Matrix
from graphprior.errors import GraphPriorError

Others = Literal["unknown", "absent"]
OTHERS = ("unknown", "absent")
EDGE_TABLE = ["source", "target", "present"]
BELIEF = "probability"
PRESENT = {"1": 1.0, "1.0": 1.0, "True": 1.0, "0": 0.0, "0.0": 0.0, "False": 0.0, "?": np.nan}
EMPTY = ("", "NA", "nan", "NaN", "None", "<NA>")


class Row(NamedTuple):
    """One row of an edge table, in words; what it leaves empty is ''."""

    source: str
    target: str
    present: str = ""
    probability: str = ""


@dataclass(frozen=True)
class Told:
    """What a table says of each pair: known (0, 1, nan), believed, and which it mentions."""

    known: Matrix
    beliefs: Matrix
    mentioned: npt.NDArray[np.bool_]

    def with_others(self, others: str) -> Matrix:
        """Known, where pairs that are not mentioned are ``others``: unknown or absent."""
        if others not in OTHERS:
            raise GraphPriorError(f"others is {others!r}: expected one of {', '.join(OTHERS)}")
        if others == "unknown":
            return self.known
        return np.where(self.mentioned, self.known, 0.0)


def read_rows(rows: Iterable[Row], names: Sequence[str], source: str = "known") -> Told:
    """What the rows say; the first that cannot be is refused by its number."""
    index = {name: i for i, name in enumerate(names)}
    n = len(names)
    values = np.full((2, n, n), np.nan)
    mentioned = np.zeros((n, n), dtype=bool)
    for number, row in enumerate(rows, start=2):
        where = f"{source} row {number}"
        i, j = _pair(row, index, where)
        said = _said(row, where)
        before = values[:, i, j]
        if mentioned[i, j] and not np.array_equal(before, said, equal_nan=True):
            raise GraphPriorError(
                f"{where} contradicts an earlier row about {row.source!r} and {row.target!r}"
            )
        values[:, i, j] = values[:, j, i] = said
        mentioned[i, j] = mentioned[j, i] = True
    known, beliefs = values
    np.fill_diagonal(known, 0.0)
    return Told(known, beliefs, mentioned)


def _pair(row: Row, index: dict[str, int], where: str) -> tuple[int, int]:
    for name in (row.source, row.target):
        if name not in index:
            listed = ", ".join(list(index)[:5]) + (", ..." if len(index) > 5 else "")
            raise GraphPriorError(f"{where}: {name!r} is no column of X (X has {listed})")
    if row.source == row.target:
        raise GraphPriorError(f"{where}: {row.source!r} is paired with itself")
    return index[row.source], index[row.target]


def _said(row: Row, where: str) -> tuple[float, float]:
    """Whether the pair is known to be an edge, and the belief that it is one."""
    present, belief = row.present, row.probability
    if belief in EMPTY:
        word = present.capitalize() if present.isalpha() else present
        if word not in PRESENT:
            raise GraphPriorError(
                f"{where}: present = {present!r}: expected 1 (edge), 0 (no edge) or ? (unknown)"
            )
        return PRESENT[word], np.nan
    if present not in (*EMPTY, "?"):
        raise GraphPriorError(
            f"{where} says present = {present!r} and probability = {belief!r}: "
            "a pair is known or believed, so leave one empty"
        )
    return np.nan, _probability(belief, where)


def _probability(word: str, where: str) -> float:
    try:
        p = float(word)
    except ValueError:
        p = np.nan
    if not 0 < p < 1:
        raise GraphPriorError(
            f"{where}: probability = {word!r}: expected a number between 0 and 1; "
            "what is certain goes to present, as 1 or 0"
        )
    return p


def rows_of(table: Any) -> Iterable[Row]:
    """Rows of a DataFrame with columns source, target, and present or probability or both."""
    # Column by column: one array of all would turn whole numbers into others.
    columns = {str(name).strip(): table[name] for name in table.columns}
    given = [name for name in Row._fields if name in columns]
    for cells in zip(*(columns[name] for name in given), strict=True):
        yield Row(**{name: str(cell).strip() for name, cell in zip(given, cells, strict=True)})


def is_edge_table(columns: Iterable[Any]) -> bool:
    """Whether columns are those of an edge table, in any order."""
    names = [str(name).strip() for name in columns]
    needed, optional = {"source", "target"}, {EDGE_TABLE[2], BELIEF}
    return len(names) == len(set(names)) and needed < set(names) <= needed | optional


def known_from_edge_table(rows: Any, names: Sequence[str], source: str = "known") -> Matrix:
    """The matrix that rows (source, target, present) describe."""
    return read_rows(_triples(rows, source), names, source).known


def _triples(rows: Any, source: str) -> Iterable[Row]:
    for number, row in enumerate(rows, start=2):
        if len(row) != len(EDGE_TABLE):
            raise GraphPriorError(
                f"{source} row {number} has {len(row)} entries: expected {', '.join(EDGE_TABLE)}"
            )
        yield Row(*(str(entry).strip() for entry in row))
