"""`graphprior summary`: what the graphs that were drawn have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from rich.console import Console
from rich.table import Column, Table

from graphprior.cli.words import in_options
from graphprior.errors import GraphPriorError, notes
from graphprior.graphs.quantities import QUANTITIES
from graphprior.io.atomic import write_whole
from graphprior.io.progress import console
from graphprior.results.folder import read_result
from graphprior.results.summaries import number, posterior_summary


def as_text(summary: pd.DataFrame) -> Table:
    """The rows of a summary for people."""
    numbers = ("mean", "median", "sd", "low", "high")
    columns = [Column(name, no_wrap=True) for name in ("quantity", "variable")]
    columns += [Column(name, no_wrap=True, justify="right") for name in numbers]
    table = Table(*columns, box=None)
    for row in summary.to_dict("records"):
        node = "" if pd.isna(row["node"]) else str(row["node"])
        table.add_row(row["quantity"], node, *(number(row[name]) for name in numbers))
    return table


def summary_command(
    result: Annotated[Path, typer.Argument(help="Folder that `estimate` wrote, with samples.")],
    what: Annotated[
        str, typer.Option(help=f"What to ask, separated by commas: {', '.join(QUANTITIES)}.")
    ] = "edges,components,communities,degree",
    level: Annotated[float, typer.Option(help="How often an interval should hold.")] = 0.95,
    csv: Annotated[Path | None, typer.Option(help="Write the table to this new file too.")] = None,
) -> None:
    """Degrees, clustering, communities and more of the graph, each with its interval."""
    if csv is not None and csv.exists():
        raise GraphPriorError(f"{csv} exists: choose another name or remove it")
    with notes() as words:
        asked = [name.strip() for name in what.split(",")]
        summary = posterior_summary(read_result(result), asked, level)
    for line in words:
        console().print(f"note: {in_options(line)}", style="yellow")
    if csv is not None:
        write_whole(csv, summary.to_csv(index=False, float_format="%.6g").encode())
    Console(soft_wrap=True, highlight=False, markup=False).print(as_text(summary))
    held = summary["level"].min()
    console().print(f"low to high holds {held:.0%}; {summary['draws'].max()} graphs drawn")
