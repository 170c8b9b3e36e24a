"""What an estimate is made from: files read one way, and what is later told of them."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from graphprior.choices import Others, TransformKind
from graphprior.errors import GraphPriorError
from graphprior.io.known import read_known_and_beliefs
from graphprior.io.observations import read_observations
from graphprior.io.provenance import machine, versions
from graphprior.io.safe import existing_file
from graphprior.observations.transforms import transform_table
from graphprior.types import Matrix


class Given(NamedTuple):
    """Observations, what is known of their graph, and what is believed."""

    X: pd.DataFrame
    known: Matrix | None
    beliefs: Matrix | None
    inputs: dict[str, dict[str, str]] = {}  # noqa: RUF012 (hashes of the files; never changed)

    def fit(self, model: Any) -> Any:
        """The model, fitted."""
        return model.fit(self.X, known=self.known, beliefs=self.beliefs)


@dataclass(frozen=True)
class Reading:
    """How files are read: ``transform`` of the columns, what pairs that are not mentioned are.

    ``sheet`` is that of Excel files with measurements, ``index`` a column of row labels.
    """

    transform: str = TransformKind.NONE
    others: str = Others.UNKNOWN
    sheet: str | None = None
    index: str | None = None

    def __post_init__(self) -> None:
        TransformKind.of("transform", self.transform)
        Others.of("others", self.others)

    def read(self, data: Path, known: Path | None) -> Given:
        """A table, and the known part and beliefs of one file."""
        if known is None and self.others != Others.UNKNOWN:
            raise GraphPriorError("others='absent' speaks of pairs that known= leaves out")
        inputs = input_hashes(existing_file(data), known if known is None else existing_file(known))
        X = transform_table(read_observations(data, self.sheet, self.index), self.transform)
        given = Given(X, None, None, inputs)
        if known is not None:
            names = [str(c) for c in X.columns]
            given = Given(X, *read_known_and_beliefs(known, names, self.others), inputs)
        if input_hashes(data, known) != inputs:
            raise GraphPriorError(
                f"{data} or the file of what is known changed while they were read: start again"
            )
        return given

    def facts(self) -> dict[str, Any]:
        """The same as JSON has it."""
        return asdict(self)


def file_names(prior: Any) -> Any:
    """Priors as a result tells of them: names of files, not folders."""
    if isinstance(prior, list | tuple):
        return [file_names(one) for one in prior]
    return None if prior is None else Path(prior).name


def file_hash(path: str | Path) -> str:
    """SHA-256 of a file, to tell later what a result was made from."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def input_hashes(data: Path, known: Path | None) -> dict[str, dict[str, str]]:
    """Hashes of a table and its known part; names of files, not folders, for a result travels."""
    files = {"data": data} if known is None else {"data": data, "known": known}
    return {what: {path.name: file_hash(path)} for what, path in files.items()}


def estimate_facts(
    prior: Any,
    arguments: dict[str, Any],
    inputs: dict[str, dict[str, str]],
    reading: Reading | None = None,
) -> dict[str, Any]:
    """What run.json tells of an estimate."""
    return {
        "command": "estimate",
        "prior": file_names(prior),
        "arguments": arguments,
        "reading": (reading or Reading()).facts(),
        "inputs": inputs,
        "versions": versions(),
        "machine": machine(),
    }
