"""One graph for each of many tables, with one prior; a run that is killed goes on.

The folder of results holds a folder for each table, `summary.csv` with a row
for each, `run.json`, `log.txt`, and the journal from which a run goes on.
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import IO, Any

import pandas as pd

from graphprior._parameters import check_parameters
from graphprior.batch.work import Journal, Place, do, journal
from graphprior.cohort.worker import Row, answer_table
from graphprior.errors import GraphPriorError
from graphprior.estimator import from_arguments
from graphprior.io.atomic import write_whole
from graphprior.io.inputs import Reading, file_hash, file_names, input_hashes
from graphprior.io.known import SUFFIXES as KNOWN_SUFFIXES
from graphprior.io.provenance import machine, versions
from graphprior.io.tables import SUFFIXES, stem_of, suffix_of
from graphprior.priors.load import names_of
from graphprior.priors.store import load_prior, prior_path

JOURNAL, SUMMARY, RUN, LOG = "journal.jsonl", "summary.csv", "run.json", "log.txt"
UNFINISHED = ".unfinished"  # folder of results that are being written
CLAIM = ""  # key under which the journal tells whose it is; no table has an empty name
COLUMNS = (
    "name", "n", "k", "unknown_pairs", "edges_found", "mean_probability", "prior_gain_bits",
    "prior_gain_standard_error", "warnings", "seconds", "error",
)  # fmt: skip


@dataclass(frozen=True)
class Table:
    """Measurements to find a graph behind, what is known of it, and a name for both."""

    name: str
    data: Path
    known: Path | None


@dataclass(frozen=True)
class Cohort:
    """Tables, and the one way in which each is answered: arguments of `PartialGGM`."""

    tables: tuple[Table, ...]
    prior: Any  # "auto", None, a name, a file, or a list of these
    arguments: dict[str, Any]
    pictures: bool = False
    reading: Reading = field(default_factory=Reading)

    def __post_init__(self) -> None:
        # What would fail for every table fails here, before any of them.
        check_parameters(from_arguments(self.prior, self.arguments))
        names = names_of(self.prior)
        if len({Path(name).name for name in names}) < len(names):
            raise GraphPriorError(
                f"prior = {list(names)}: two have the same file name; name each prior once"
            )
        for name in names:
            load_prior(name)

    def settings(self) -> dict[str, Any]:
        """All that decides the results, apart from the tables; no folders, for those may move."""
        return {
            "prior": file_names(self.prior),
            "prior_sha256": {
                Path(name).name: file_hash(prior_path(name)) for name in names_of(self.prior)
            },
            "arguments": self.arguments,
            "pictures": self.pictures,
            "reading": self.reading.facts(),
        }


def find_tables(folder: Path, known: Path | None) -> tuple[Table, ...]:
    """The tables of a folder by name; ``known`` is a file for all or a folder with one for each."""
    if not folder.is_dir():
        raise GraphPriorError(f"{folder} is no folder: expected a folder of tables")
    if known is not None and not known.exists():
        raise GraphPriorError(f"known={str(known)!r}: no such file or folder")
    found: dict[str, Path] = {}
    for path in sorted(_absolute(folder).iterdir()):
        # Excel keeps a file ~$name beside one that is open.
        if suffix_of(path) not in SUFFIXES or path.name[0] in ".~" or not path.is_file():
            continue
        name = stem_of(path)
        if name in found:
            raise GraphPriorError(
                f"{folder}: {found[name].name} and {path.name} would share the result "
                f"folder {name}: rename one"
            )
        _refuse_name(path)
        found[name] = path
    if not found:
        raise GraphPriorError(f"{folder} holds no table: expected files *{', *'.join(SUFFIXES)}")
    by_name = _known_by_name(known)
    return tuple(Table(name, path, _known_of(path, known, by_name)) for name, path in found.items())


def _absolute(path: Path | str) -> Path:
    """The same for every process; a link keeps its name, which a result tells."""
    return Path(os.path.abspath(path))


def _absolute_priors(prior: Any) -> Any:
    """Own files by a path that holds for every process."""
    if isinstance(prior, list | tuple):
        return [_absolute_priors(one) for one in prior]
    own = prior is not None and str(prior).endswith(".safetensors")
    return str(_absolute(prior)) if own else prior


def _refuse_name(path: Path) -> None:
    """A name that the results cannot have."""
    if stem_of(path) in (SUMMARY, RUN, LOG, JOURNAL):
        raise GraphPriorError(
            f"{path.name}: {stem_of(path)} is a file of the result; rename the table"
        )
    try:
        path.name.encode()
    except UnicodeEncodeError:
        raise GraphPriorError(f"{path.name!r}: its name is not UTF-8; rename the table") from None


def _known_by_name(known: Path | None) -> dict[str, list[Path]]:
    """Files of a folder of known parts by their tables' names; none where it is one file."""
    found: dict[str, list[Path]] = {}
    for path in sorted(_absolute(known).iterdir()) if known is not None and known.is_dir() else ():
        if suffix_of(path) in KNOWN_SUFFIXES and path.is_file():
            found.setdefault(stem_of(path), []).append(path)
    return found


def _known_of(path: Path, known: Path | None, by_name: dict[str, list[Path]]) -> Path | None:
    if known is None or not known.is_dir():
        return None if known is None else _absolute(known)
    own = by_name.get(stem_of(path), [])
    if not own:
        raise GraphPriorError(
            f"known={str(known)!r} has no {path.name}: a folder holds a file of the same name for "
            "each table, in any format (with only the header source,target,present where nothing "
            "is known)"
        )
    if len(own) > 1:
        raise GraphPriorError(
            f"known={str(known)!r} has {own[0].name} and {own[1].name} for {path.name}: keep one"
        )
    return own[0]


def run_cohort(
    cohort: Cohort, out: Path, place: Place, report: Callable[[int, int, int], None]
) -> list[Row]:
    """Answer the tables that ``out`` lacks; the rows of all.

    ``report`` is called with tables done, tables in all, and how many of the done failed.
    """
    out = _absolute(out)
    inputs = {table.name: input_hashes(table.data, table.known) for table in cohort.tables}
    claim = {**cohort.settings(), "tables": inputs, "versions": versions()}
    with journal(out / JOURNAL) as kept, (out / LOG).open("a", encoding="utf-8") as log:
        _claim(kept, claim, out)
        rows, failed = _done_before(kept, out), 0
        _say(log, f"{len(inputs)} tables, {len(rows)} of them done before")
        report(len(rows), len(inputs), failed)
        try:
            with _workshop(out) as unfinished:
                units = _units(cohort, inputs, out, unfinished)
                for name, row in do(units, answer_table, kept, place):
                    rows[name], failed = row, failed + ("error" in row)
                    _say(log, _line(row))
                    report(len(rows), len(inputs), failed)
        except BaseException as error:
            _say(log, f"stopped after {len(rows)} tables: {type(error).__name__} {error}")
            raise
        ordered = [rows[name] for name in inputs]
        _finish(out, {**claim, "machine": machine(), "failed": failed}, ordered)
        _say(log, f"done, {failed} failed")
    return ordered


def _claim(kept: Journal, claim: dict[str, Any], out: Path) -> None:
    """Make the folder this run's, or refuse one that holds results of another."""
    before = kept.results.get(CLAIM)
    if before == claim:
        return
    begun = {path.name for path in out.iterdir() if not path.name.startswith(UNFINISHED)}
    if begun - {JOURNAL, LOG} or (kept.results and before is None):
        raise GraphPriorError(
            f"{out} belongs to another run ({_difference(before or {}, claim)}): "
            "choose another folder, or give what was given then"
        )
    kept.add(CLAIM, claim)


def _difference(before: dict[str, Any], now: dict[str, Any]) -> str:
    """Where two runs differ, in words."""
    for part in ("arguments", "versions", "tables"):
        old, new = before.get(part, {}), now[part]
        names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
        if names and part == "tables":
            return f"tables that came, went or changed: {', '.join(sorted(names)[:3])}"
        if names:
            return f"{names[0]} {old.get(names[0])} there, {new.get(names[0])} here"
    (part, *_) = (key for key in now if before.get(key) != now[key])
    return f"{part} {before.get(part)} there, {now[part]} here"


def _done_before(kept: Journal, out: Path) -> dict[str, Row]:
    """Rows of earlier runs. What failed is tried again, and what was removed: a cause may be gone.

    The journal forgets those in memory; the new line counts when it is read again.
    """
    rows = {name: row for name, row in kept.results.items() if name != CLAIM}
    for name, row in list(rows.items()):
        if "error" in row or not (out / name).is_dir():
            del rows[name], kept.results[name]
    return rows


@contextmanager
def _workshop(out: Path) -> Iterator[Path]:
    """A folder for results that are being written, of this run alone.

    Workers of a run that was killed may still write to theirs, so it is moved away before it is
    emptied: from then on none of them can finish a result.
    """
    place = out / UNFINISHED
    if place.exists():
        os.rename(place, out / f"{UNFINISHED}-{uuid.uuid4().hex}")
    for old in out.glob(f"{UNFINISHED}-*"):
        shutil.rmtree(old, ignore_errors=True)
    mine = place / uuid.uuid4().hex
    mine.mkdir(parents=True)
    try:
        yield mine
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _units(
    cohort: Cohort, inputs: dict[str, Any], out: Path, unfinished: Path
) -> list[tuple[str, str]]:
    """A text for each table that says all a worker needs; workers see the same files."""
    shared = {
        **cohort.settings(),
        "prior": _absolute_priors(cohort.prior),
        "unfinished": str(unfinished),
    }
    return [
        (
            table.name,
            json.dumps(
                {
                    **shared,
                    "name": table.name,
                    "data": str(table.data),
                    "known": None if table.known is None else str(table.known),
                    "inputs": inputs[table.name],
                    "out": str(out / table.name),
                }
            ),
        )
        for table in cohort.tables
    ]


def _finish(out: Path, facts: dict[str, Any], rows: list[Row]) -> None:
    """summary.csv and run.json."""
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    write_whole(out / SUMMARY, table.to_csv(index=False, float_format="%.6g").encode())
    words = json.dumps({"command": "estimate --each", **facts}, indent=1) + "\n"
    write_whole(out / RUN, words.encode())


def _say(log: IO[str], words: str) -> None:
    log.write(f"{datetime.now().isoformat(timespec='seconds')} {words}\n")
    log.flush()


def _line(row: Row) -> str:
    """A table in the log."""
    if "error" in row:
        return f"{row['name']}: failed: {row['error']}"
    return (
        f"{row['name']}: {row['edges_found']} edges among {row['unknown_pairs']} unknown pairs, "
        f"{row['seconds']} s"
    )
