"""What an estimate is made from: files read one way, and what is later told of them."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from graphprior.errors import GraphPriorError
from graphprior.io.known import check_others, read_beliefs, read_known
from graphprior.io.observations import read_observations
from graphprior.io.provenance import machine, versions
from graphprior.observations.transforms import check_transform, transform_table
from graphprior.types import Matrix


class Given(NamedTuple):
    """Observations, what is known of their graph, and what is believed."""

    X: pd.DataFrame
    known: Matrix | None
    beliefs: Matrix | None

    def fit(self, model: Any) -> Any:
        """The model, fitted."""
        return model.fit(self.X, known=self.known, beliefs=self.beliefs)


@dataclass(frozen=True)
class Reading:
    """How files are read: ``transform`` of the columns, what pairs that are not mentioned are.

    ``sheet`` is that of Excel files with measurements, ``index`` a column of row labels.
    """

    transform: str = "none"
    others: Any = "unknown"
    sheet: str | None = None
    index: str | None = None

    def __post_init__(self) -> None:
        check_transform(self.transform)
        check_others(self.others)

    def read(self, data: Path, known: Path | None) -> Given:
        """A table, and the known part and beliefs of one file."""
        X = transform_table(read_observations(data, self.sheet, self.index), self.transform)
        if known is None:
            if self.others != "unknown":
                raise GraphPriorError("others='absent' speaks of pairs that known= leaves out")
            return Given(X, None, None)
        names = [str(c) for c in X.columns]
        return Given(X, read_known(known, names, self.others), read_beliefs(known, names))

    def facts(self) -> dict[str, Any]:
        """The same as JSON has it."""
        return asdict(self)


def file_hash(path: str | Path) -> str:
    """SHA-256 of a file, to tell later what a result was made from."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def input_hashes(data: Path, known: Path | None) -> dict[str, dict[str, str]]:
    """Hashes of a table and its known part; names of files, not folders, for a result travels."""
    files = {"data": data} if known is None else {"data": data, "known": known}
    return {what: {path.name: file_hash(path)} for what, path in files.items()}


def estimate_facts(
    prior: str | None,
    arguments: dict[str, Any],
    data: Path,
    known: Path | None,
    reading: Reading | None = None,
) -> dict[str, Any]:
    """What run.json tells of an estimate."""
    return {
        "command": "estimate",
        "prior": None if prior is None else Path(prior).name,
        "arguments": arguments,
        "reading": (reading or Reading()).facts(),
        "inputs": input_hashes(data, known),
        "versions": versions(),
        "machine": machine(),
    }
