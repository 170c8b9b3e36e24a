"""Options of `graphprior estimate`, with their words for `--help`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import graphprior.choices as choices

MANY = "Many tables"  # panel of the help

Data = Annotated[
    Path,
    typer.Argument(
        help="Table (.csv, .tsv, .csv.gz, .parquet, .xlsx, .npz): a header of names, one row each; "
        "--each: a folder of them."
    ),
]
Out = Annotated[
    Path,
    typer.Option(help="Folder to write; must be new or empty, or with --each the same run's."),
]
Known = Annotated[
    Path | None,
    typer.Option(
        help="Table: named matrix of 0, 1, empty; or source,target,present and/or probability; "
        "or .graphml. "
        "--each: one for all, or a folder with a file of the same name for each table."
    ),
]
Prior = Annotated[
    list[str] | None,
    typer.Option(
        help="auto (general, averaged with independent edges), none (independent edges), a shipped "
        "prior, or a .safetensors file. Given more than once: the priors are averaged."
    ),
]
Engine = Annotated[
    choices.EngineName, typer.Option(help="direct: no sampling; langevin: Algorithm 1.")
]
Likelihood = Annotated[
    choices.LikelihoodName | None, typer.Option(help="Of engine langevin; plug-in is the paper's.")
]
Use = Annotated[choices.Use, typer.Option(help="What to follow; prior: no data, data: no prior.")]
AtRandom = Annotated[
    bool,
    typer.Option(
        "--unknown-at-random",
        help="Edges are unknown no more often than other pairs; else that is estimated.",
    ),
]
Transform = Annotated[choices.TransformKind, typer.Option(help="Transform of every column.")]
Missing = Annotated[
    choices.Missing, typer.Option(help="Empty cells: refused, or estimated along (em).")
]
TimeSeries = Annotated[
    bool,
    typer.Option(
        "--time-series", help="Rows are in the order of time, and count as fewer than they are."
    ),
]
Others = Annotated[
    choices.Others, typer.Option(help="Pairs that an edge table of --known leaves out.")
]
Sheet = Annotated[str | None, typer.Option(help="Sheet of an Excel table; none: the first.")]
Index = Annotated[
    str | None, typer.Option(help="Column of row labels to leave out; '' if it has no name.")
]
PriorWeight = Annotated[
    choices.PriorWeight,
    typer.Option(
        help="auto: average a learned prior with independent edges; full: leave those out."
    ),
]
Density = Annotated[
    float | None,
    typer.Option(
        help="Share of the unknown pairs that are edges, where you know it and give no prior; by "
        "default it is estimated."
    ),
]
NullScale = Annotated[
    float | None,
    typer.Option(
        help="Size of partial correlations that are no edges; by default estimated from pairs "
        "known to be absent, 0 takes those as exactly zero."
    ),
]
Draws = Annotated[
    int | None, typer.Option(help="Graphs to draw, by engine gibbs or langevin; usually 10.")
]
Threshold = Annotated[float | None, typer.Option(help="Probability at which a pair is an edge.")]
Margin = Annotated[
    float | None,
    typer.Option(
        help="Engine langevin, nothing known: margin p_m of the bootstrap; negative: no bootstrap."
    ),
]
Seed = Annotated[int, typer.Option(help="Same seed, same answer.")]
Device = Annotated[str, typer.Option(help="cpu, cuda, ...")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")]

Each = Annotated[
    bool,
    typer.Option(
        "--each",
        rich_help_panel=MANY,
        help="One graph for each table of a folder; run again after a kill to go on. "
        "Exit code 1 if any table failed.",
    ),
]
Jobs = Annotated[int, typer.Option(rich_help_panel=MANY, help="Processes, or local workers.")]
Scheduler = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=MANY,
        help="Dask scheduler, tcp://host:port; its workers must see the same files by the "
        "same paths.",
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option(rich_help_panel=MANY, help="local: start a Dask cluster here, of --jobs workers."),
]
Pictures = Annotated[
    bool,
    typer.Option(
        "--pictures",
        rich_help_panel=MANY,
        help="A picture and a report of each table too; takes the most time.",
    ),
]
