"""`graphprior experiment`: a figure of the paper, redone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphprior.batch.work import Place
from graphprior.io.progress import console, progress
from graphprior.paper.experiments.registry import experiment, experiments
from graphprior.paper.experiments.run import Options


def experiment_command(
    name: Annotated[
        str | None, typer.Argument(help="Figure to redo; without it, a list of all.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder; what it has of this figure is kept and added to.")
    ] = None,
    methods: Annotated[
        str | None, typer.Option(help="Methods, separated by commas; none: the figure's own.")
    ] = None,
    graphs: Annotated[int | None, typer.Option(help="Test graphs; none: the figure's own.")] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Slow methods too on all graphs, at every x.")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Two graphs, two steps: only to see that it runs.")
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Do anew results whose units are gone.")
    ] = False,
    jobs: Annotated[int, typer.Option(help="Processes on this machine.")] = 1,
    scheduler: Annotated[
        str | None, typer.Option(help="Dask scheduler to send the work to, tcp://host:port.")
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(help="'local' starts a Dask cluster of --jobs workers here.")
    ] = None,
) -> None:
    """Redo a figure of the paper; run again after a kill to go on."""
    if name is None:
        for known in experiments().values():
            print(f"{known.name:15} {known.title}")
        return
    chosen = experiment(name)
    wanted = None if methods is None else tuple(m.strip() for m in methods.split(",") if m.strip())
    options = Options(wanted, graphs, full, quick, replace, Place(jobs, scheduler, cluster))
    folder = out or Path(f"experiment-{name}")
    try:
        with progress(name) as report:
            words = chosen.run(folder, options, report)
    except KeyboardInterrupt:
        console().print(f"what is done is kept in {folder}/; the same command goes on from there")
        raise
    print(words)
    console().print(f"wrote {folder}/ (figure.png, table.md, rows.csv.gz, run.json)")
