"""The command line: parse, call, print. Errors are one line and exit code 2."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from graphprior.cli.demo import demo_command
from graphprior.cli.estimate import estimate_command
from graphprior.cli.priors import priors_command
from graphprior.cli.sample import sample_command
from graphprior.cli.train import train_command
from graphprior.errors import GraphPriorError

app = typer.Typer(
    name="graphprior",
    help="Find the graph behind Gaussian data when part of it is known and examples exist.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("demo")(demo_command)
app.command("estimate")(estimate_command)
app.command("train")(train_command)
app.command("sample")(sample_command)
app.command("priors")(priors_command)


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Options of every command."""


def main() -> None:
    """Entry point. ``--debug`` may stand anywhere."""
    debug = "--debug" in sys.argv[1:]
    arguments = [word for word in sys.argv[1:] if word != "--debug"]
    try:
        app(arguments, prog_name="graphprior")
    except (GraphPriorError, OSError) as error:
        if debug:
            raise
        typer.echo(f"graphprior: {error}", err=True)
        sys.exit(2)
    except KeyboardInterrupt:
        typer.echo("graphprior: interrupted", err=True)
        sys.exit(130)
