"""`graphprior estimate --each`: a folder of tables in, a folder of answers for each out."""

from __future__ import annotations

from pathlib import Path

import typer

from graphprior.batch.work import Place
from graphprior.cli.common import new_folder, print_json
from graphprior.cli.words import in_options
from graphprior.cohort.cohort import JOURNAL, SUMMARY, Cohort, run_cohort
from graphprior.io.progress import console, progress

SHOWN = 5  # failures told at the end; all are in the summary


def estimate_each(cohort: Cohort, out: Path, place: Place, as_json: bool) -> None:
    """Answer every table and tell how many could not be; the exit code is then 1."""
    if not (out / JOURNAL).is_file():
        new_folder(out)
    total, reached = len(cohort.tables), 0

    def report(done: int, total: int, failed: int) -> None:
        nonlocal reached
        reached = done
        bar(done, total, f"tables, {failed} failed" if failed else "tables")

    try:
        with progress("tables") as bar:
            rows = run_cohort(cohort, out, place, report)
    except KeyboardInterrupt:
        console().print(
            f"stopped after {reached} of {total} tables; the same command goes on from there"
        )
        raise typer.Exit(130) from None
    failures = [row for row in rows if "error" in row]
    for row in failures[:SHOWN]:
        console().print(f"{row['name']}: {in_options(row['error'])}", style="red")
    if as_json:
        print_json({"out": str(out), "tables": total, "failed": len(failures)})
    else:
        console().print(
            f"{total - len(failures)} of {total} tables answered, {len(failures)} failed; "
            f"wrote {out}/ ({SUMMARY} has a row for each)"
        )
    if failures:
        raise typer.Exit(1)
