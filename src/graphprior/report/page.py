"""The page itself: one file, whole or not at all."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from bokeh.resources import Resources
from markupsafe import Markup

from graphprior.errors import GraphPriorError
from graphprior.io.atomic import write_whole
from graphprior.report.assets import asset, template
from graphprior.report.colours import STATES
from graphprior.report.headline import headline, tiles
from graphprior.report.making import citations, groups
from graphprior.report.payload import embedded, payload
from graphprior.report.reliability import reliability_picture
from graphprior.report.trust import checks
from graphprior.results.result import Result
from graphprior.results.summaries import default_answers, number

Answer = tuple[str, pd.DataFrame]
SCRIPTS = ("pairs.js", "details.js", "graph.js", "matrix.js", "table.js", "page.js")
TITLE = "<title>graphprior report</title>"  # as in page.html
LOWEST = 0.01  # end of the threshold's slider; at 0 every pair would be an edge


def write_report(model: Any, path: str | Path, answers: Sequence[Answer] | None = None) -> Path:
    """The report of a fitted model or of a `Result`.

    ``answers`` are tables with their titles; None takes what the graphs drawn say of the usual
    quantities.
    """
    path = Path(path)
    if path.is_dir():
        raise GraphPriorError(f"{path} is a folder: give a file to write, such as report.html")
    _refuse_to_replace(path)
    result = Result.of(model)
    answers = usual_answers(result) if answers is None else answers
    write_whole(path, report_page(result, answers).encode())
    return path


def _refuse_to_replace(path: Path) -> None:
    """A report may be made again; any other file is not ours to overwrite."""
    if path.exists() and TITLE.encode() not in path.read_bytes():
        raise GraphPriorError(f"{path} exists and is no report: choose another name or remove it")


def usual_answers(result: Result) -> list[Answer]:
    """What the graphs drawn say of the usual quantities, with how sure that is in the title."""
    titled = []
    for title, table in default_answers(result):
        level, draws = table["level"].iloc[0], table["draws"].iloc[0]
        words = f"{title[0].upper()}{title[1:]} ({draws} graphs drawn; low to high: {level:.0%})"
        told = ["level", "draws"] + (["quantity"] if table["quantity"].nunique() == 1 else [])
        titled.append((words, table.drop(columns=told)))
    return titled


def report_page(result: Result, answers: Sequence[Answer] = ()) -> str:
    """The page as text: data, style, scripts, and the rule that no others run."""
    scripts = [_bokeh(), own_script()]
    return template("page.html").render(
        policy=policy(scripts),
        style=Markup(asset("page.css")),
        scripts=[Markup(script) for script in scripts],
        data=Markup(embedded(payload(result))),
        headline=headline(result),
        tiles=tiles(result),
        checks=checks(result),
        self_check=None if result.self_check is None else reliability_picture(result.self_check),
        groups=groups(result),
        citations=citations(result),
        answers=[_answer(title, table) for title, table in answers],
        states=STATES,
        meaning=result.meaning,
        names=result.names,
        threshold=min(max(round(result.threshold, 2), LOWEST), 1.0),
    )


def policy(scripts: Sequence[str]) -> str:
    """Content-Security-Policy: these scripts by their hash, and nothing from anywhere."""
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
        for script in scripts
    )
    # Bokeh sets its styles from its script.
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def own_script() -> str:
    """Our scripts as one; their names stay inside."""
    body = "\n".join(asset(name) for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{body}\n}})();\n'


@cache
def _bokeh() -> str:
    """BokehJS from the installed package; its newlines are made those that a hash is taken of."""
    resources = Resources(mode="inline", components=["bokeh"], log_level="error")
    text = "\n".join(resources.js_raw).replace("\r\n", "\n")
    if "</script" in text.lower():
        raise GraphPriorError("this release of Bokeh cannot stand in a page: install another")
    return text


def _answer(title: str, table: pd.DataFrame) -> dict[str, Any]:
    """A table as words, without columns that are empty."""
    table = table.dropna(axis="columns", how="all")
    rows = [[_cell(value) for value in row] for row in table.itertuples(index=False)]
    return {"title": title, "columns": [str(name) for name in table.columns], "rows": rows}


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return number(value) if np.isfinite(value) else "–"
    return "–" if value is None else str(value)
