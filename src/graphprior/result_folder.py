"""Results on disk: a folder that is whole or not there, and that can be read back.

Nothing is written unless all of it is: a result is built in a hidden folder
beside its place and then moved there.
"""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd

from graphprior.engines.posterior import Reasons
from graphprior.errors import GraphPriorError
from graphprior.result import Result

ARRAYS = (
    "known", "edge_probabilities", "edge_intervals", "adjacency", "precision", "samples",
)  # fmt: skip
FACTS = ("diagnostics", "notes", "card")


@contextmanager
def whole_folder(out: Path) -> Iterator[Path]:
    """A folder to fill that appears at ``out`` only when it is complete."""
    out = Path(os.path.abspath(out))  # "." has no name of its own
    if out.is_dir() and any(out.iterdir()):
        raise FileExistsError(f"{out} is not empty")
    made = [folder for folder in out.parents if not folder.exists()]
    hidden = out.parent / f".{out.name}.tmp"
    shutil.rmtree(hidden, ignore_errors=True)  # left by a run that was killed
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
    """edges.csv, result.npz, graph.graphml and run.json."""
    text = edges_csv(result.edge_table())
    (folder / "edges.csv").write_text(text, encoding="utf-8", newline="")
    arrays: dict[str, Any] = {name: getattr(result, name) for name in ARRAYS}
    if result.reasons is not None:
        arrays |= {f"reasons_{name}": part for name, part in result.reasons._asdict().items()}
    names = np.array(result.names, dtype=np.str_)
    np.savez_compressed(folder / "result.npz", names=names, **arrays)
    nx.write_graphml(result.to_networkx(), folder / "graph.graphml")
    content = {**result.run, **{name: getattr(result, name) for name in FACTS}}
    (folder / "run.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def read_result(folder: str | Path) -> Result:
    """What `write_result` wrote."""
    folder = Path(folder)
    if not folder.is_dir():
        raise GraphPriorError(f"{folder}: no such folder; give one that `estimate` wrote")
    for name in ("result.npz", "run.json"):
        if not (folder / name).is_file():
            raise GraphPriorError(f"{folder} holds no {name}: give a folder that `estimate` wrote")
    try:
        return _read(folder)
    except (KeyError, TypeError, ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise GraphPriorError(
            f"{folder} is not a whole result of this release ({type(error).__name__}: {error}); "
            "estimate it again"
        ) from None


def _read(folder: Path) -> Result:
    run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    facts = {name: run.pop(name) for name in FACTS}
    with np.load(folder / "result.npz", allow_pickle=False) as file:
        arrays = {name: file[name] for name in ARRAYS}
        names = tuple(str(name) for name in file["names"])
        parts = {name: f"reasons_{name}" for name in Reasons._fields}
        told = parts["prior"] in file
        reasons = Reasons(**{name: file[key] for name, key in parts.items()}) if told else None
    n = len(names)
    for name, array in arrays.items():
        if array.shape[-2:] != (n, n):
            raise ValueError(f"{name} has shape {array.shape} for {n} variables")
    facts["notes"] = tuple(facts["notes"])
    return Result(names=names, reasons=reasons, run=run, **arrays, **facts)
