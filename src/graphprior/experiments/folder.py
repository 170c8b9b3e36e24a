"""The folder of an experiment: what it is of, what it was made by, and files that are whole."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from graphprior.baselines.protocol import Penalty
from graphprior.errors import GraphPriorError
from graphprior.experiments.spec import Spec
from graphprior.inputs import file_hash
from graphprior.prior.store import SHIPPED, shipped_priors, write_whole
from graphprior.provenance import commit, machine, versions

JOURNAL = "units.jsonl"
# What a run leaves; a folder that lacks its journal can only be replaced.
LEFT = (
    "run.json", "rows.csv", "summary.csv", "reliability.csv", "penalties.json", "table.md",
    "figure.png",
)  # fmt: skip


def save_json(path: Path, content: Any) -> None:
    """A JSON file, whole or not at all."""
    write_whole(path, (json.dumps(content, indent=1) + "\n").encode())


def save_figure(path: Path, figure: Figure) -> None:
    """A picture, whole or not at all."""
    content = BytesIO()
    figure.savefig(content, dpi=110, format="png")
    write_whole(path, content.getvalue())


def save_table(path: Path, rows: pd.DataFrame) -> None:
    """A CSV file, whole or not at all."""
    write_whole(path, rows.to_csv(index=False, float_format="%.6g").encode())


def save_provenance(out: Path, facts: dict[str, Any]) -> None:
    """Versions, commit and machine of every run that adds to the folder; told before it does."""
    path = out / "run.json"
    runs = json.loads(path.read_text())["runs"] if path.exists() else []
    entry = {**facts, "commit": commit(), "versions": versions(), "machine": machine()}
    save_json(path, {"runs": [*runs, entry]})


@contextmanager
def log_file(out: Path) -> Iterator[logging.Logger]:
    """A log beside the results."""
    out.mkdir(parents=True, exist_ok=True)
    logger = logging.getLogger(f"graphprior.experiments.{out.name}")
    logger.setLevel(logging.INFO)
    logger.propagate = False
    handler = logging.FileHandler(out / "log.txt", encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    logger.addHandler(handler)
    try:
        yield logger
    finally:
        logger.removeHandler(handler)
        handler.close()


def prior_hashes(spec: Spec) -> dict[str, str]:
    """Hash of each prior of a figure that is there."""
    there = set(spec.priors.values()) & set(shipped_priors())
    return {name: file_hash(SHIPPED / f"{name}.safetensors") for name in sorted(there)}


def claim(
    out: Path,
    name: str,
    spec: Spec,
    replace: bool = False,
    methods: Mapping[str, str] | None = None,
) -> None:
    """Take a folder for a figure; one that holds other problems, or another figure, is refused.

    So is one whose results are of another prior or of a method that has changed
    under its name: ``methods`` says what each of this run is. A folder with
    results and no journal (a fresh checkout has none) cannot be added to: it is
    left as it is unless ``replace`` is told.
    """
    path, hashes, made = out / "spec.json", prior_hashes(spec), dict(methods or {})
    if path.exists():
        theirs = json.loads(path.read_text())
        has_journal = (out / JOURNAL).exists()
        if not has_journal and (out / "rows.csv").exists() and not replace:
            raise GraphPriorError(
                f"{out} holds results but not the units they came from, so nothing can be added: "
                "choose another --out, or --replace to do it all anew"
            )
        if has_journal:
            _refuse_other(out, theirs, name, spec, hashes, made)
            hashes = theirs["priors"] | hashes
            made = theirs.get("methods", {}) | made
        else:
            for left in LEFT:
                (out / left).unlink(missing_ok=True)
    elif out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise GraphPriorError(f"{out} is not empty and holds no experiment: choose another --out")
    save_json(path, {"figure": name, "spec": asdict(spec), "priors": hashes, "methods": made})


def _refuse_other(
    out: Path,
    theirs: dict[str, Any],
    name: str,
    spec: Spec,
    hashes: dict[str, str],
    made: dict[str, str],
) -> None:
    """An error where a folder's results and this run's do not belong together."""
    prior = _first_changed(theirs["priors"], hashes)
    method = _first_changed(theirs.get("methods", {}), made)
    if theirs["figure"] != name or identity(theirs["spec"]) != spec.identity:
        why = "of other problems"
    elif prior:
        why = f"made with another prior {prior!r}"
    elif method:
        why = f"of another method called {method!r}"
    else:
        return
    raise GraphPriorError(f"{out} holds results {why} (see {out}/spec.json): choose another --out")


def _first_changed(old: dict[str, str], new: dict[str, str]) -> str | None:
    return next((name for name in old if name in new and old[name] != new[name]), None)


def identity(raw: dict[str, Any]) -> str:
    """`Spec.identity` of a spec that was written by `claim`."""
    return Spec.from_json(json.dumps(raw)).identity


def save_penalties(out: Path, penalties: dict[str, Penalty]) -> None:
    """The fitted lambda(k) beside the results, with those of earlier runs."""
    if penalties:
        path = out / "penalties.json"
        old = json.loads(path.read_text()) if path.exists() else {}
        save_json(path, old | {name: asdict(p) for name, p in penalties.items()})
