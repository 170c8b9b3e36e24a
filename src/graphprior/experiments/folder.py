"""The folder of an experiment: what it is of, what it was made by, and files that are whole."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
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
from graphprior.work import read_results, result_line

JOURNAL = "units.jsonl"
# Units of slow methods, those that have a budget: hours of work and small, so they stay with the
# results, and more graphs can be added to them. Those of other methods are made anew in minutes.
SLOW = "slow.jsonl"
# What a run leaves.
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
    under its name: ``methods`` says what each of this run is (None: it is all
    that the folder can hold). To results whose units are gone (a fresh checkout
    has those of slow methods only) nothing can be added: they are given up if
    ``replace`` is told, and stay if they are of methods that are not run.
    """
    path, hashes, made = out / "spec.json", prior_hashes(spec), dict(methods or {})
    if path.exists():
        theirs = json.loads(path.read_text())
        has_units = any((out / name).exists() for name in (JOURNAL, SLOW))
        bare = [] if has_units and methods is None else without_units(out)
        anew = bare if methods is None else [method for method in bare if method in methods]
        if anew and not replace:
            raise GraphPriorError(
                f"{out} holds results of {', '.join(anew)} but not the units they came from, so "
                "nothing can be added to them: choose another --out, or --replace to do them anew"
            )
        if has_units or len(anew) < len(bare):
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


def read_units(out: Path) -> dict[str, Any]:
    """All units of a folder by key: of its slow methods, and of its journal."""
    there = [path for path in (out / SLOW, out / JOURNAL) if path.exists()]
    return {key: result for path in there for key, result in read_results(path)[0].items()}


def without_units(out: Path) -> list[str]:
    """Methods of which a folder has results but no units."""
    if not (out / "rows.csv").exists():
        return []
    have = {key.split(" | ")[0] for key in read_units(out)}
    return [m for m in pd.read_csv(out / "rows.csv")["method"].unique() if m not in have]


def save_slow_units(out: Path, spec: Spec, results: Mapping[str, Any]) -> None:
    """The units of slow methods beside the results, in an order that no run decides."""
    slow = {key: _terse(r) for key, r in results.items() if key.split(" | ")[0] in spec.budgets}
    if slow:
        lines = [result_line(key, slow[key]) for key in sorted(slow, key=_in_numbers)]
        write_whole(out / SLOW, b"".join(lines))


def _terse(result: Mapping[str, Any]) -> dict[str, Any]:
    """Shares of ten graphs are mostly none or all of them: 0 and 1 say that in one letter."""
    scores = [int(s) if s in (0, 1) else s for s in result.get("scores", [])]
    return {**result, "scores": scores} if scores else dict(result)


def _in_numbers(key: str) -> tuple[str, float, int]:
    method, x, g = key.split(" | ")
    return method, 0.0 if x == "*" else float(x), int(g)


def save_joined(path: Path, rows: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """Save a table, and in it what it held of methods that have no new rows, in their order."""
    if path.exists():
        old = pd.read_csv(path)
        rows = pd.concat([rows, old[~old["method"].isin(rows["method"])]])
    order = {method: place for place, method in enumerate(methods)}
    rows = rows.sort_values("method", key=lambda m: m.map(order), kind="stable")
    save_table(path, rows)
    return rows.reset_index(drop=True)


def save_penalties(out: Path, penalties: dict[str, Penalty]) -> None:
    """The fitted lambda(k) beside the results, with those of earlier runs."""
    if penalties:
        path = out / "penalties.json"
        old = json.loads(path.read_text()) if path.exists() else {}
        save_json(path, old | {name: asdict(p) for name, p in penalties.items()})
