"""The command line: parse, call, print. Errors are one line and exit code 2."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from importlib.metadata import version as installed_version
from typing import Annotated, Any

import typer

from graphprior.cli.check import check_command
from graphprior.cli.demo import demo_command
from graphprior.cli.estimate import estimate_command
from graphprior.cli.experiment import experiment_command
from graphprior.cli.export import export_command
from graphprior.cli.priors import priors_command
from graphprior.cli.report import report_command
from graphprior.cli.sample import sample_command
from graphprior.cli.summary import summary_command
from graphprior.cli.train import train_command
from graphprior.errors import GraphPriorError

app = typer.Typer(
    name="graphprior",
    help="Find the graph behind Gaussian data when part of it is known and examples exist.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
COMMANDS: dict[str, Callable[..., None]] = {
    "demo": demo_command,
    "estimate": estimate_command,
    "export": export_command,
    "summary": summary_command,
    "train": train_command,
    "sample": sample_command,
    "report": report_command,
    "check": check_command,
    "priors": priors_command,
    "experiment": experiment_command,
}


class CtrlCError(Exception):
    """Ctrl-C, kept from the option parser, which would end without a word."""


def interruptible(command: Callable[..., None]) -> Callable[..., None]:
    """The command, with Ctrl-C as an error of ours."""

    @wraps(command)
    def run(**options: Any) -> None:
        try:
            command(**options)
        except KeyboardInterrupt:
            raise CtrlCError from None

    return run


for name, command in COMMANDS.items():
    app.command(name)(interruptible(command))


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"graphprior {installed_version('graphprior')}")
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show it.")
    ] = False,
) -> None:
    """Options of every command."""


def main() -> None:
    """Entry point. ``--debug`` may stand anywhere."""
    debug = "--debug" in sys.argv[1:]
    arguments = [word for word in sys.argv[1:] if word != "--debug"]
    try:
        code = app(arguments, prog_name="graphprior", standalone_mode=False)
    except BaseException as error:
        if debug:
            raise
        sys.exit(explain(error))
    sys.exit(code if isinstance(code, int) else 0)


def explain(error: BaseException) -> int:
    """Say in one line what went wrong, and give the exit code."""
    if isinstance(error, CtrlCError):
        typer.echo("graphprior: interrupted", err=True)
        return 130
    usage = getattr(error, "format_message", None)  # an error of the option parser
    if usage is None and not isinstance(error, GraphPriorError | OSError):
        return _internal(error)
    if usage is not None and not usage():  # no command was given, and the help was shown
        return 2
    words = str(error) if usage is None else f"{usage()} (see graphprior --help)"
    typer.echo(f"graphprior: {' '.join(words.split())}", err=True)
    return 2


def _internal(error: BaseException) -> int:
    """A bug of ours: one line all the same, and how to see more."""
    words = f"{type(error).__name__}: {' '.join(str(error).split())}"
    typer.echo(
        f"graphprior: internal error, {words} (--debug shows where)",
        err=True,
    )
    return 1
