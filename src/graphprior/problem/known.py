"""What an expert believes of pairs that are not known: probabilities, nan where there is none.

A belief p enters as the log-odds logit(p) of its pair alone, added to what the
data and the other pairs say. So it must be what the expert knows beside them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from graphprior.errors import GraphPriorError
from graphprior.graphs.matrices import (
    as_square,
    check_known,
    nothing_known,
    refuse_first,
    refuse_one_sided,
)
from graphprior.observations.checks import match_names
from graphprior.types import Matrix

EDGE_TABLE = ["source", "target", "present"]
BELIEF_TABLE = [*EDGE_TABLE, "probability"]
PRESENT = {"1": 1.0, "1.0": 1.0, "True": 1.0, "0": 0.0, "0.0": 0.0, "False": 0.0}
EMPTY = ("", "nan", "NaN", "NA", "<NA>", "None", "?")


def no_beliefs(n: int) -> Matrix:
    """Beliefs of n nodes when there are none."""
    return np.full((n, n), np.nan)


def check_beliefs(beliefs: Any, n: int | None = None) -> Matrix:
    """``beliefs`` as a symmetric float matrix with a nan diagonal, or an error naming the entry."""
    P = as_square(beliefs, n, "beliefs", "probabilities, and nan where there is no belief")
    off_diagonal = ~np.eye(len(P), dtype=bool)
    # Zeros there are how matrices of pairs often come, and say nothing.
    refuse_first(
        ~off_diagonal & ~(np.isnan(P) | (P == 0)), P, "beliefs",
        "the diagonal must be nan, a variable has no edge to itself",
    )  # fmt: skip
    refuse_first(
        off_diagonal & ~(np.isnan(P) | ((P > 0) & (P < 1))), P, "beliefs",
        "a belief is a probability between 0 and 1, both excluded; what is certain is `known`",
    )  # fmt: skip
    refuse_one_sided(P, "beliefs")
    np.fill_diagonal(P, np.nan)
    return P


def align_beliefs(beliefs: Any, names: Sequence[str]) -> Matrix:
    """``beliefs`` in the order of ``names``: an array as it is, a DataFrame matched by name."""
    if hasattr(beliefs, "columns"):
        beliefs = match_names(beliefs, names, "beliefs")
    return check_beliefs(beliefs, n=len(names))


def join_beliefs(first: Matrix, second: Matrix, names: Sequence[str]) -> Matrix:
    """Beliefs from two places; a pair that both speak of is refused."""
    both = np.argwhere(~np.isnan(first) & ~np.isnan(second))
    if len(both):
        i, j = both[0]
        raise GraphPriorError(
            f"`known` and `beliefs` both have a probability of {names[i]} - {names[j]}: "
            "give it once"
        )
    return np.where(np.isnan(first), second, first)


def refuse_known_beliefs(beliefs: Matrix, known: Matrix, names: Sequence[str]) -> None:
    """A pair is known or believed, not both."""
    both = np.argwhere(~np.isnan(beliefs) & ~np.isnan(known))
    if len(both):
        i, j = both[0]
        raise GraphPriorError(
            f"the belief {beliefs[i, j]:g} about {names[i]} - {names[j]}, which is known "
            f"({known[i, j]:g}): a pair is known or believed; make one of them nan "
            f"({len(both) // 2} such pairs)"
        )


def read_edge_table(
    rows: Any, names: Sequence[str], source: str, columns: Sequence[str] = BELIEF_TABLE
) -> tuple[Matrix, Matrix]:
    """What is known and what is believed, by rows (source, target, present[, probability]).

    A row has exactly one of present and probability. Both matrices are nan on
    the diagonal and on pairs that no row speaks of.
    """
    known, beliefs = no_beliefs(len(names)), no_beliefs(len(names))
    for where, i, j, (present, *rest) in listed_pairs(rows, columns, names, source):
        probability = rest[0] if rest else ""
        if rest and (present in EMPTY) == (probability in EMPTY):
            raise GraphPriorError(
                f"{where} has present = {present!r} and probability = {probability!r}: "
                "expected exactly one of them, the other empty"
            )
        certain = probability in EMPTY
        told = known if certain else beliefs
        value = _present(present, where) if certain else _probability(probability, where)
        other = beliefs if certain else known
        if not np.isnan(other[i, j]) or (not np.isnan(told[i, j]) and told[i, j] != value):
            raise GraphPriorError(
                f"{where} contradicts an earlier row about {names[i]!r} and {names[j]!r}"
            )
        told[i, j] = told[j, i] = value
    return known, beliefs


def _present(word: str, where: str) -> float:
    value = PRESENT.get(word.capitalize())  # R writes TRUE
    if value is None:
        raise GraphPriorError(f"{where}: present = {word!r}: expected 1 (edge) or 0 (no edge)")
    return value


def _probability(word: str, where: str) -> float:
    try:
        p = float(word.replace(",", "."))  # after semicolons a comma is the decimal sign
    except ValueError:
        p = np.nan
    if not 0 < p < 1:
        raise GraphPriorError(
            f"{where}: probability = {word!r}: expected a number between 0 and 1, both excluded; "
            "what is certain goes to present"
        )
    return p


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


def align_known(known: Any, names: Sequence[str]) -> Matrix:
    """``known`` in the order of ``names``: an array as it is, a DataFrame matched by name.

    A DataFrame is a named matrix, or an edge table with columns source, target, present.
    """
    if hasattr(known, "nodes") and hasattr(known, "edges"):
        raise GraphPriorError(
            "known is a graph object, which does not tell absent pairs from unknown ones: "
            "pass a matrix of 0, 1 and nan, or an edge table with columns source, target, present"
        )
    if not hasattr(known, "columns"):
        return check_known(known, n=len(names))
    if sorted(map(str, known.columns)) == sorted(EDGE_TABLE):
        # Column by column: one array of all would turn whole numbers into others.
        return known_from_edge_table(zip(*(known[c] for c in EDGE_TABLE), strict=True), names)
    return check_known(match_names(known, names, "known"), n=len(names))


def known_from_edge_table(rows: Any, names: Sequence[str], source: str = "known") -> Matrix:
    """The matrix that an edge table (source, target, present) describes."""
    known, _ = read_edge_table(rows, names, source, EDGE_TABLE)
    np.fill_diagonal(known, 0.0)
    return known


def align_beliefs_too(known: Any, beliefs: Any, names: Sequence[str]) -> tuple[Matrix, Matrix]:
    """What is known and what is believed; an edge table with probabilities tells of both."""
    n = len(names)
    P = no_beliefs(n) if beliefs is None else align_beliefs(beliefs, names)
    columns = {str(c) for c in getattr(known, "columns", ())}
    if {*BELIEF_TABLE} - {"present"} <= columns <= {*BELIEF_TABLE}:
        known = known if "present" in columns else known.assign(present="")
        rows = zip(*(known[c] for c in BELIEF_TABLE), strict=True)
        A, listed = read_edge_table(rows, names, "known")
        np.fill_diagonal(A, 0.0)
        P = join_beliefs(listed, P, names)
    else:
        A = nothing_known(n) if known is None else align_known(known, names)
    refuse_known_beliefs(P, A, names)
    return A, P
