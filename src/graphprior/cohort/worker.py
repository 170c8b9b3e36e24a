"""One table of many, answered in whatever process: read, fitted, its folder written."""

from __future__ import annotations

import json
import os
import shutil
import time
import uuid
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from graphprior.errors import GraphPriorError, notes
from graphprior.estimator import PartialGGM, from_arguments
from graphprior.io.inputs import Reading, estimate_facts, file_hash
from graphprior.priors.load import names_of
from graphprior.priors.store import NetworkPrior, load_prior, prior_path
from graphprior.results.folder import write_result
from graphprior.results.result import Result

Row = dict[str, Any]


def answer_table(text: str) -> Row:
    """Answer the table that ``text`` (JSON) tells of and write its folder; its row.

    Whatever goes wrong is this table's and stands in its row; the others go on.
    """
    told, start = json.loads(text), time.perf_counter()
    try:
        row = _answer(told)
    except Exception as error:
        row = {"error": _words(error, Path(told["data"]).parent)}
    return {"name": told["name"], **row, "seconds": round(time.perf_counter() - start, 3)}


def _words(error: Exception, folder: Path) -> str:
    """An error in one line, without the folder of this machine."""
    kind = "" if isinstance(error, GraphPriorError) else f"{type(error).__name__}: "
    return kind + " ".join(str(error).replace(f"{folder}{os.sep}", "").split())


def _answer(told: dict[str, Any]) -> Row:
    data, known = Path(told["data"]), None if told["known"] is None else Path(told["known"])
    reading = Reading(**told["reading"])
    given = reading.read(data, known)
    if given.inputs != told["inputs"]:
        raise GraphPriorError(f"{data.name} or what is known of it changed since the run began")
    run = estimate_facts(told["prior"], told["arguments"], given.inputs, reading)
    _refuse_other_priors(told["prior"], told["prior_sha256"])
    with notes() as words:
        model = given.fit(from_arguments(_read_once(told["prior"]), told["arguments"]))
    _write(Path(told["unfinished"]), Path(told["out"]), model, run, told["pictures"])
    return _row(model, words)


def _refuse_other_priors(prior: Any, sha256: dict[str, str]) -> None:
    """Priors must be here what they were where the run began."""
    for name in names_of(prior):
        if _hash(name) != sha256[Path(name).name]:
            raise GraphPriorError(f"the prior {name} is another here than where the run began")


def _read_once(prior: Any) -> Any:
    """Own files as priors that were read; names as they are, for shipped priors are kept."""
    if isinstance(prior, list | tuple):
        return [_read_once(one) for one in prior]
    return _own(prior) if prior is not None and prior.endswith(".safetensors") else prior


@lru_cache(maxsize=8)
def _hash(name: str) -> str:
    return file_hash(prior_path(name))


@lru_cache(maxsize=8)
def _own(name: str) -> NetworkPrior:
    return load_prior(name)


def _write(
    unfinished: Path, out: Path, model: PartialGGM, run: dict[str, Any], pictures: bool
) -> None:
    """The table's folder, whole or not at all.

    A worker that was taken for dead may be at the same table: each writes to a folder of its own
    and the first to end has the place, with the same content. The worker of a run that was killed
    finds its ``unfinished`` gone.
    """
    folder = unfinished / uuid.uuid4().hex
    folder.mkdir()
    try:
        result = Result.of(model, run)
        write_result(folder, result)
        if pictures:
            from graphprior.plots.page import picture  # slow to import, and few want them
            from graphprior.report.page import write_report

            picture(result).savefig(folder / "picture.png", dpi=130)
            write_report(result, folder / "report.html")
        if not out.exists():
            os.rename(folder, out)
    except OSError:
        if not out.exists():
            raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _row(model: PartialGGM, words: list[str]) -> Row:
    facts, U, gain = model.diagnostics_, model.problem_.U, model.prior_gain_
    return {
        "n": facts.observations.n,
        "k": facts.observations.k,
        "unknown_pairs": facts.unknown_pairs,
        "edges_found": int(((model.adjacency_ == 1) & U).sum() // 2),
        "mean_probability": float(np.mean(model.edge_probabilities_[U])) if U.any() else None,
        "prior_gain_bits": None if gain is None else gain.bits,
        "prior_gain_standard_error": None if gain is None else gain.standard_error,
        "warnings": "; ".join(words) or None,
    }
