"""The command line: parse, call, print. Errors are one line and exit code 2."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from importlib.metadata import version as installed_version
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from graphprior.cli.words import in_options
from graphprior.errors import GraphPriorError

# Each is `NAME_command` of the module NAME, which is imported when it is asked for.
COMMANDS = {
    "demo": "Estimate who knows whom around one person, half of it known; under a minute.",
    "estimate": "Estimate the graph behind a table of measurements, or behind each of many.",
    "export": "Write a result as a file of another program.",
    "summary": "Degrees, clustering, communities and more of the graph, each with its interval.",
    "train": "Learn a prior from example graphs; run again after a kill to go on.",
    "sample": "Draw graphs from a prior: graphs.npz, one GraphML file each, statistics.",
    "report": "Make the interactive page of a result: one file that needs no network.",
    "check": "Simulate data from a result, fit them again, and see if probabilities are right.",
    "priors": "List the shipped priors, or show a prior's card.",
    "experiment": "Redo a figure of the paper; run again after a kill to go on.",
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


class Commands(TyperGroup):
    """The commands, of which only the one that is run is imported."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """What the list of commands shows of one."""
        self.commands = {name: TyperCommand(name, help=words) for name, words in COMMANDS.items()}
        return self.commands.get(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[Any, Any, list[str]]:
        """The command that is run."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, load(name) if name in COMMANDS else command, rest


def load(name: str) -> Any:
    """A command with its options."""
    module = import_module(f"graphprior.cli.{name}")
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    alone.command(name)(interruptible(getattr(module, f"{name}_command")))
    return typer.main.get_command(alone)


app = typer.Typer(
    name="graphprior",
    cls=Commands,
    help="Find the graph behind Gaussian data when part of it is known and examples exist.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


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
    words = in_options(str(error)) if usage is None else f"{usage()} (see graphprior --help)"
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
