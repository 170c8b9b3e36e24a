"""`graphprior report`: a result folder in, one page to look at and to send out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphprior.errors import GraphPriorError
from graphprior.io.progress import console
from graphprior.results.folder import read_result


def report_command(
    folder: Annotated[Path, typer.Argument(help="Folder that `estimate` or `demo` wrote.")],
    out: Annotated[
        Path | None, typer.Option(help="File to write; none: report.html in that folder.")
    ] = None,
) -> None:
    """Make the interactive page of a result: one file that needs no network."""
    result = read_result(folder)
    path = folder / "report.html" if out is None else out
    if path.suffix.lower() not in (".html", ".htm"):
        raise GraphPriorError(f"--out {path}: the report is a page, give a name that ends in .html")
    from graphprior.report.page import write_report  # slow to import

    write_report(result, path)
    console().print(f"wrote {path}; open it in a browser")
