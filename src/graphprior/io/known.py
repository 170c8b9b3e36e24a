"""What a user knows or believes of the graph, from a file.

A named matrix of 0, 1 and empty; an edge table (source, target, present or
probability); or GraphML, whose edges are known edges unless their attribute
``present`` or ``probability`` says otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from graphprior.choices import Others
from graphprior.errors import GraphPriorError
from graphprior.io.safe import existing_file, read_graphml
from graphprior.io.tables import SUFFIXES as TABLES
from graphprior.io.tables import Header, read_table
from graphprior.problem.known import BELIEF_TABLE, EDGE_TABLE, align_known, read_edge_table
from graphprior.types import Matrix

GRAPHML = ".graphml"
SUFFIXES = (*(suffix for suffix in TABLES if suffix != ".npz"), GRAPHML)
UNKNOWN = {"": "nan", "NA": "nan", "NaN": "nan", "?": "nan"}


class Told(NamedTuple):
    """What an edge table or GraphML says; nan where it says nothing."""

    known: Matrix
    beliefs: Matrix

    def with_others(self, others: str) -> Matrix:
        """Known, where pairs that are not mentioned are ``others``: unknown or absent."""
        others = Others.of("others", others)
        silent = np.isnan(self.known) & np.isnan(self.beliefs)
        known = np.where(silent, 0.0 if others is Others.ABSENT else np.nan, self.known)
        np.fill_diagonal(known, 0.0)
        return known


def read_known(
    path: str | Path, names: Sequence[str], others: str = Others.UNKNOWN, sheet: str | None = None
) -> Matrix:
    """The known part in the order of ``names``: 0, 1, and nan for unknown.

    Pairs that an edge table or GraphML does not mention are ``others``: unknown or absent. Those
    with a probability are unknown; `read_beliefs` reads it from the same file.
    """
    return read_known_and_beliefs(path, names, others, sheet)[0]


def read_known_and_beliefs(
    path: str | Path, names: Sequence[str], others: str = Others.UNKNOWN, sheet: str | None = None
) -> tuple[Matrix, Matrix | None]:
    """Both from one reading of the file; no beliefs where it has no probability."""
    told = _read(Path(path), names, sheet)
    if isinstance(told, Told):
        beliefs = None if np.isnan(told.beliefs).all() else told.beliefs
        return told.with_others(others), beliefs
    if others != Others.UNKNOWN:
        raise GraphPriorError(
            f"{path} is a matrix, which tells every pair: others= is for an edge table or GraphML"
        )
    return told, None


def read_beliefs(path: str | Path, names: Sequence[str], sheet: str | None = None) -> Matrix | None:
    """Probabilities that the file gives for unknown pairs, nan elsewhere; None without any."""
    told = _read(Path(path), names, sheet)
    return told.beliefs if isinstance(told, Told) and not np.isnan(told.beliefs).all() else None


def _read(path: Path, names: Sequence[str], sheet: str | None) -> Told | Matrix:
    if existing_file(path).suffix.lower() == GRAPHML:
        if sheet is not None:
            raise GraphPriorError(f"{path} has no sheets: sheet= is for .xlsx")
        return Told(*read_edge_table(_graphml_rows(path, names), names, path.name))
    header, cells = read_table(path, sheet, text=True)
    if sorted(header[1:]) == sorted(names):  # a matrix, be its variables called source and target
        return _matrix(header, cells, names)
    columns = [name.lower() for name in header]
    if _is_edge_table(columns):
        cells.columns = pd.Index(columns)
        return _edge_table(cells, names, path.name)
    if "source" in columns or "target" in columns:
        raise GraphPriorError(
            f"{path}: columns are {header}: an edge table has exactly source, target, "
            "and present or probability or both"
        )
    return _matrix(header, cells, names)


def _is_edge_table(header: Header) -> bool:
    """Whether columns are source, target and present or probability or both, in any order."""
    needed = {"source", "target"}
    return len(header) == len(set(header)) and needed < set(header) <= set(BELIEF_TABLE)


def _edge_table(cells: pd.DataFrame, names: Sequence[str], source: str) -> Told:
    columns = BELIEF_TABLE if "probability" in cells else EDGE_TABLE
    if "present" not in cells:
        cells = cells.assign(present="")
    return Told(*read_edge_table(cells[columns].to_numpy(str), names, source, columns))


def _matrix(header: Header, cells: pd.DataFrame, names: Sequence[str]) -> Matrix:
    rows = [str(c).strip() for c in cells.iloc[:, 0]]
    entries = [[UNKNOWN.get(c.strip(), c) for c in row] for row in cells.iloc[:, 1:].to_numpy(str)]
    table = pd.DataFrame(entries, index=rows, columns=header[1:], dtype=object)
    return align_known(table, names)


def _graphml_rows(path: Path, names: Sequence[str]) -> list[tuple[str, str, str, str]]:
    """Edges as rows; nodes are variables by id, or by attribute ``name`` or ``label``."""
    graph = read_graphml(path)
    if graph.is_directed():
        raise GraphPriorError(f"{path} is directed: expected undirected edges")
    label = _labels(graph, names, path)
    rows = []
    for a, b, told in graph.edges(data=True):
        if "partial_correlation" in told:
            raise GraphPriorError(
                f"{path} is a result of graphprior: as known part it would count the data twice; "
                "give what was known before"
            )
        present, belief = _word(told.get("present")), _word(told.get("probability"))
        rows.append((label[a], label[b], present if present + belief else "1", belief))
    return rows


def _word(value: Any) -> str:
    return "" if value is None else str(value).strip()


def _labels(graph: Any, names: Sequence[str], path: Path) -> dict[Any, str]:
    known = set(names)
    ways = [{node: str(node).strip() for node in graph}]
    ways += [
        {node: _word(told.get(key)) for node, told in graph.nodes(data=True)}
        for key in ("name", "label")
    ]
    for label in ways:
        if known.issuperset(label.values()) and len(set(label.values())) == len(label):
            return label
    strange = sorted(set(ways[0].values()) - known)
    raise GraphPriorError(
        f"{path}: nodes {strange[:5]} are no columns of X: nodes are named by id, or by their "
        "attribute name or label"
    )
