"""`graphprior export`: a result folder in, a file of another program out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphprior.io.progress import console
from graphprior.results.exports import FORMATS, export
from graphprior.results.folder import read_result


def export_command(
    result: Annotated[Path, typer.Argument(help="Folder that `graphprior estimate` wrote.")],
    out: Annotated[Path, typer.Option(help="File to write; must be new.")],
    kind: Annotated[
        str | None,
        typer.Option("--format", help=f"{', '.join(FORMATS)}; none: by the ending of --out."),
    ] = None,
) -> None:
    """Write a result as a file of another program."""
    console().print(f"wrote {export(read_result(result), out, kind)}")
