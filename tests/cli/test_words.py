"""What the library says of its parameters, the command line says of its options."""

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

from graphprior.cli.main import load
from graphprior.cli.words import PARAMETERS, in_options


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("pass missing='em' or", "pass --missing em or"),
        ("of time, time_series=True counts", "of time, --time-series counts"),
        ("give index='row names'; or", "give --index 'row names'; or"),
        ("give index=''.", "give --index ''."),
        ("set null_scale=0.05.", "set --null-scale 0.05."),
        ("sheet= is for .xlsx", "--sheet is for .xlsx"),
        ("engine=Gibbs(draws=100); other", "--engine gibbs --draws 100; other"),
        ("scheduler='tcp://h:1' has", "--scheduler tcp://h:1 has"),
        ("a column named misuse=3 stays", "a column named misuse=3 stays"),
        ("draws = 0: expected", "draws = 0: expected"),
        ("use Langevin(bootstrap=None) to go on", "use --bootstrap-margin -1 to go on"),
        ("or Langevin(likelihood='marginal')", "or --engine langevin --likelihood marginal"),
        ("device=a/none.csv: no such file", "device=a/none.csv: no such file"),
        ("column 'use=5' is constant", "column 'use=5' is constant"),
        ('give index="it\'s"', """give --index 'it'"'"'s'"""),
    ],
)
def test_parameters_become_options(words, expected):
    assert in_options(words) == expected


def test_every_parameter_is_an_option_of_a_command():
    commands = [load(name) for name in ("estimate", "train", "experiment", "check")]
    options = {option for command in commands for part in command.params for option in part.opts}
    missing = {name for name in PARAMETERS if f"--{name.replace('_', '-')}" not in options}
    assert missing <= {"assume_centered"}  # the command line has none


# Named in words that say they are Python, or in a plot.
IN_PYTHON = {"sweeps", "burn_in", "keep", "bootstrap", "unknown", "share", "count"}


def test_every_parameter_that_a_message_names_becomes_an_option():
    """Every `name=` in the words of errors and notes."""
    source = Path(import_module("graphprior").__file__).parent
    named = set()
    for path in source.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            texts = [node] if isinstance(node, ast.Constant) else []
            is_message = any(
                isinstance(text.value, str) and " " in text.value and "\n" not in text.value
                for text in texts
            )
            if is_message:
                named |= set(re.findall(r"(?<![\w.])([a-z_]+)=(?=$|[\w'\" ])", node.value))
    assert named <= {*PARAMETERS, *IN_PYTHON}


def test_a_mistyped_command_is_answered_by_the_one_that_was_meant(here):
    assert "'estimate'" in here("estimat").err
