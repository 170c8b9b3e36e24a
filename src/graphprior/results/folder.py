"""Results on disk: a folder that is whole or not there, and that can be read back.

Nothing is written unless all of it is: a result is built in a hidden folder
beside its place and then moved there.
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd

from graphprior.diagnosis.self_check import SelfCheck
from graphprior.engines.posterior import Reasons
from graphprior.errors import GraphPriorError
from graphprior.io.safe import read_arrays, read_json
from graphprior.results.diagnostics import Diagnostics
from graphprior.results.result import Result
from graphprior.results.summaries import default_answers

ARRAYS = (
    "known", "edge_probabilities", "edge_intervals", "adjacency", "precision", "samples",
)  # fmt: skip
BESIDE = ("notes", "card")  # of run.json
CHECK = "check.json"  # there after a self-check
OBJECTS = ("arguments", "inputs", "versions", "machine")  # of run.json, where they are there


@contextmanager
def whole_folder(out: Path) -> Iterator[Path]:
    """A folder to fill that appears at ``out`` only when it is complete."""
    out = Path(os.path.abspath(out))  # "." has no name of its own
    if out.is_dir() and any(out.iterdir()):
        raise FileExistsError(f"{out} is not empty")
    made = [folder for folder in out.parents if not folder.exists()]
    hidden = out.parent / f".{out.name}.{uuid.uuid4().hex}.tmp"
    hidden.mkdir(parents=True)
    try:
        yield hidden
        if out.is_dir():  # it may be where the user stands, so it stays
            for item in hidden.iterdir():
                os.replace(item, out / item.name)
            hidden.rmdir()
        else:
            os.replace(hidden, out)
    except BaseException:
        shutil.rmtree(hidden, ignore_errors=True)
        for folder in made:
            with suppress(OSError):
                folder.rmdir()
        raise


def edges_csv(table: pd.DataFrame) -> str:
    """The text of edges.csv."""
    return table.to_csv(index=False, float_format="%.6g", lineterminator="\n")


def write_result(folder: Path, result: Result) -> None:
    """edges.csv, result.npz, graph.graphml and run.json.

    Also answers.csv when graphs were drawn, and check.json after a self-check.
    """
    text = edges_csv(result.edge_table())
    (folder / "edges.csv").write_text(text, encoding="utf-8", newline="")
    (folder / "result.npz").write_bytes(npz_bytes(result))
    nx.write_graphml(result.to_networkx(), folder / "graph.graphml")
    answers = [table for _, table in default_answers(result)]
    if answers:
        table = pd.concat(answers, ignore_index=True)
        table.to_csv(folder / "answers.csv", index=False, float_format="%.6g")
    told = {name: getattr(result, name) for name in BESIDE}
    content = {**result.run, "diagnostics": result.diagnostics.to_dict(), **told}
    (folder / "run.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    if result.self_check is not None:
        (folder / CHECK).write_bytes(check_json(result.self_check))


def check_json(check: SelfCheck) -> bytes:
    """The content of check.json."""
    return (json.dumps(check.facts(), indent=1) + "\n").encode()


def npz_bytes(result: Result) -> bytes:
    """Every array of a result, as an .npz file."""
    arrays: dict[str, Any] = {name: getattr(result, name) for name in ARRAYS}
    if result.reasons is not None:
        arrays |= {f"reasons_{name}": part for name, part in result.reasons._asdict().items()}
    out = BytesIO()
    names = np.array(result.names, dtype=np.str_)
    np.savez_compressed(out, names=names, trace=result.trace, **arrays)
    return out.getvalue()


def read_result(folder: str | Path) -> Result:
    """What `write_result` wrote."""
    folder = Path(folder)
    if not folder.is_dir():
        raise GraphPriorError(f"{folder}: no such folder; give one that `estimate` wrote")
    for name in ("result.npz", "run.json"):
        if not (folder / name).is_file():
            raise GraphPriorError(f"{folder} holds no {name}: give a folder that `estimate` wrote")
    try:
        result = _read(folder)
    except Exception as error:  # a damaged file raises anything
        raise GraphPriorError(
            f"{folder} is not a whole result of this release ({type(error).__name__}: {error}); "
            "estimate it again"
        ) from None
    return replace(result, self_check=_read_check(folder / CHECK))


def _read_check(path: Path) -> SelfCheck | None:
    if not path.exists():
        return None
    try:
        return SelfCheck.from_facts(read_json(path))
    except Exception as error:
        raise GraphPriorError(
            f"{path} is no self-check of this release ({type(error).__name__}: {error}): remove "
            "it; `graphprior check` makes another"
        ) from None


def _read(folder: Path) -> Result:
    run = read_json(folder / "run.json")
    diagnostics = Diagnostics.from_dict(run.pop("diagnostics"))
    beside = {name: run.pop(name) for name in BESIDE}
    for name in OBJECTS:
        if not isinstance(run.get(name, {}), dict):
            raise ValueError(f"{name} of run.json is no object")
    file = read_arrays(folder / "result.npz", "a result")
    arrays: dict[str, Any] = {name: file[name] for name in ARRAYS}
    names = tuple(str(name) for name in file["names"])
    parts = {name: f"reasons_{name}" for name in Reasons._fields}
    told = parts["prior"] in file
    reasons = Reasons(**{name: file[key] for name, key in parts.items()}) if told else None
    _check_arrays(arrays | ({} if reasons is None else reasons._asdict()), len(names))
    if not isinstance(beside["notes"], list) or not isinstance(beside["card"], dict | None):
        raise ValueError("notes are no list, or the card is no object")
    beside["notes"] = tuple(beside["notes"])
    trace = file["trace"]
    if trace.ndim != 2 or trace.dtype.kind not in "fiub":
        raise ValueError(f"trace is {trace.dtype} {trace.shape}: expected chains by sweeps")
    return Result(
        names=names, reasons=reasons, diagnostics=diagnostics, run=run, trace=trace, **arrays,
        **beside,
    )  # fmt: skip


def _check_arrays(arrays: dict[str, Any], n: int) -> None:
    """Every array is about n variables, in numbers."""
    leading = {"edge_intervals": 1, "samples": 1}
    for name, array in arrays.items():
        axes = 2 + leading.get(name, 0)
        if array.ndim != axes or array.shape[-2:] != (n, n) or array.dtype.kind not in "fiub":
            raise ValueError(f"{name} is {array.dtype} {array.shape} for {n} variables")
    if len(arrays["edge_intervals"]) != 2:
        raise ValueError("edge_intervals are not a low and a high one")
