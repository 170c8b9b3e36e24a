"""The folder of an experiment: what it is of, what it was made by, and files that are whole."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from gzip import compress
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from PIL import Image  # comes with matplotlib

from graphprior.batch.work import Journal, read_results, result_line
from graphprior.errors import GraphPriorError
from graphprior.io.atomic import unfinished, write_whole
from graphprior.io.inputs import file_hash
from graphprior.io.provenance import commit, machine, versions
from graphprior.paper.baselines.protocol import Penalty
from graphprior.paper.experiments.methods import described, mark
from graphprior.paper.experiments.spec import Spec
from graphprior.paper.experiments.units import method_of
from graphprior.priors.store import prior_path

JOURNAL = "units.jsonl"
# Units of slow methods, those that have a budget: hours of work and small, so they stay with the
# results, and more graphs can be added to them. Those of other methods are made anew in minutes.
SLOW = "slow.jsonl.gz"
ROWS = "rows.csv.gz"
COLOURS = 128  # of a picture; shades at the edges of letters and lines take most of them
# What a run leaves.
LEFT = (
    "run.json", ROWS, "summary.csv", "reliability.csv", "penalties.json", "table.md",
    "figure.png", "rows.csv", "slow.jsonl",  # the last two by older releases
)  # fmt: skip


def save_json(path: Path, content: Any) -> None:
    """A JSON file, whole or not at all."""
    write_whole(path, (json.dumps(content, indent=1) + "\n").encode())


def save_figure(path: Path, figure: Figure) -> None:
    """A picture, whole or not at all, in few colours: a third of the bytes and the same to see."""
    drawn, content = BytesIO(), BytesIO()
    figure.savefig(drawn, dpi=110, format="png")
    picture = Image.open(drawn).convert("RGB")
    few = picture.quantize(COLOURS, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    few.save(content, "PNG", optimize=True)
    write_whole(path, content.getvalue())


def save_table(path: Path, rows: pd.DataFrame) -> None:
    """A CSV file, compressed if its name ends so, whole or not at all."""
    content = rows.to_csv(index=False, float_format="%.6g").encode()
    write_whole(path, compress(content, mtime=0) if path.suffix == ".gz" else content)


def save_provenance(out: Path, facts: dict[str, Any]) -> None:
    """Versions, commit and machine of every run that adds to the folder; told before it does."""
    path = out / "run.json"
    runs = json.loads(path.read_text())["runs"] if path.exists() else []
    parts = versions("torch-geometric")
    entry = {**facts, "commit": commit(), "versions": parts, "machine": machine()}
    save_json(path, {"runs": [*runs, entry]})


@contextmanager
def log_file(out: Path) -> Iterator[logging.Logger]:
    """A log beside the results."""
    out.mkdir(parents=True, exist_ok=True)
    logger = logging.getLogger(f"graphprior.paper.experiments.{out.name}")
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
    hashes = {}
    for name in sorted(set(spec.priors.values())):
        with suppress(GraphPriorError):
            hashes[name] = file_hash(prior_path(name))
    return hashes


def claim(
    out: Path, name: str, spec: Spec, replace: bool = False, methods: Sequence[str] | None = None
) -> None:
    """Take a folder for a figure; one that holds other problems, or another figure, is refused.

    ``methods`` are those of this run (None: it has no units by method). Of some
    the folder may hold results that cannot be added to: their units are gone (a
    fresh checkout has those of slow methods only), or of another prior or other
    parameters. These are given up if ``replace`` is told; of methods that are
    not run they stay.
    """
    if (out / JOURNAL).exists():
        Journal(out / JOURNAL).close()  # another run that is at work here refuses
    path, made = out / "spec.json", {m: described(spec, m) for m in methods or ()}
    hashes = prior_hashes(spec)
    if path.exists():
        theirs = json.loads(path.read_text())
        has_units = any((out / file).exists() for file in (JOURNAL, SLOW))
        others = theirs["figure"] != name or identity(theirs["spec"]) != spec.identity
        bare = [] if methods is None and has_units else without_units(out, spec)
        anew = bare if methods is None else [m for m in bare if m in methods]
        if others and (has_units or len(anew) < len(bare)):
            raise GraphPriorError(
                f"{out} holds results of other problems (see {path}): choose another folder"
            )
        if anew and not replace:
            raise GraphPriorError(
                f"{out} holds results of {', '.join(anew)} to which nothing can be added: their "
                "units are gone, or made with another prior or other parameters. Choose another "
                "folder, or replace=True to do them anew"
            )
        if has_units or len(anew) < len(bare):
            hashes = theirs["priors"] | hashes
            made = theirs.get("methods", {}) | made
        else:
            for left in LEFT:
                (out / left).unlink(missing_ok=True)
    elif out.exists() and (not out.is_dir() or set(out.iterdir()) - {unfinished(path)}):
        raise GraphPriorError(f"{out} is not empty and holds no experiment: choose another folder")
    save_json(path, {"figure": name, "spec": asdict(spec), "priors": hashes, "methods": made})


def identity(raw: dict[str, Any]) -> str:
    """`Spec.identity` of a spec that was written by `claim`."""
    return Spec.from_json(json.dumps(raw)).identity


def own_units(out: Path, spec: Spec) -> dict[str, Any]:
    """The folder's units by key, but for those of other problems, priors or parameters."""
    there = [path for path in (out / SLOW, out / JOURNAL) if path.exists()]
    marks: dict[str, str | None] = {}
    units: dict[str, Any] = {}
    for path in there:
        for key, result in read_results(path)[0].items():
            method = method_of(key)
            if method not in marks:
                marks[method] = _mark_here(spec, method)
            if marks[method] in (None, result.get("mark")):
                units[key] = result
    return units


def _mark_here(spec: Spec, method: str) -> str | None:
    """A method's mark; None where it cannot be made, so that its units cannot be judged."""
    try:
        return mark(spec, method)
    except GraphPriorError:
        return None


def points(out: Path) -> dict[str, set[tuple[str, float, int]]]:
    """Method, x and graph of the folder's rows, by method."""
    path = out / ROWS
    if not path.exists():
        return {}
    found: dict[str, set[tuple[str, float, int]]] = {}
    rows = pd.read_csv(path)
    for method, x, g in zip(rows["method"], rows["x"], rows["graph"], strict=True):
        found.setdefault(method, set()).add((method, x, g))
    return found


def without_units(out: Path, spec: Spec) -> list[str]:
    """Methods of which a folder has results but no units to add to."""
    if not (out / ROWS).exists():
        return []
    have = {method_of(key) for key in own_units(out, spec)}
    return [m for m in pd.read_csv(out / ROWS)["method"].unique() if m not in have]


def save_slow_units(
    out: Path, spec: Spec, results: Mapping[str, Any], methods: Collection[str]
) -> None:
    """Units of slow methods beside the results, in an order that no run decides.

    Of ``methods`` those in ``results``, of all others what the file has.
    """
    old = read_results(out / SLOW)[0] if (out / SLOW).exists() else {}
    slow = {key: result for key, result in old.items() if method_of(key) not in methods}
    for key, result in results.items():
        if method_of(key) in methods and (key in old or method_of(key) in spec.budgets):
            slow[key] = _terse(result)
    if slow:
        lines = [result_line(key, slow[key]) for key in sorted(slow, key=_in_numbers)]
        write_whole(out / SLOW, compress(b"".join(lines), mtime=0))


def _terse(result: Mapping[str, Any]) -> dict[str, Any]:
    """Shares of ten graphs are mostly none or all of them: 0 and 1 say that in one letter."""
    scores = [int(s) if s in (0, 1) else s for s in result.get("scores", [])]
    return {**result, "scores": scores} if scores else dict(result)


def _in_numbers(key: str) -> tuple[str, float, int]:
    method, x, g = key.split(" | ")
    return method, 0.0 if x == "*" else float(x), int(g)


def save_joined(
    path: Path, rows: pd.DataFrame, methods: Sequence[str], others: bool = True
) -> pd.DataFrame:
    """Save a table, and in it what it held of methods that have no new rows, in their order.

    Rows of ``others``, which are not among ``methods``, come last or are left out.
    """
    if path.exists():
        old = pd.read_csv(path)
        rows = pd.concat([rows, old[~old["method"].isin(rows["method"])]])
    order = {method: place for place, method in enumerate(methods)}
    rows = rows if others else rows[rows["method"].isin(order)]
    rows = rows.sort_values("method", key=lambda m: m.map(order), kind="stable")
    save_table(path, rows)
    return pd.read_csv(path)  # what follows is made of what is kept


def save_penalties(out: Path, penalties: dict[str, Penalty]) -> None:
    """The fitted lambda(k) beside the results, with those of earlier runs."""
    if penalties:
        path = out / "penalties.json"
        old = json.loads(path.read_text()) if path.exists() else {}
        save_json(path, old | {name: asdict(p) for name, p in penalties.items()})
