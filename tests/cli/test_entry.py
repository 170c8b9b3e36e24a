"""The package and the command line are entered without loading what they do not need."""

import subprocess
import sys
from importlib import import_module

import pytest

import graphprior
from graphprior.cli.main import COMMANDS

HEAVY = {"torch", "matplotlib", "bokeh", "arviz_stats", "pandas", "sklearn", "numba"}


@pytest.mark.parametrize(
    "code",
    [
        "import graphprior; graphprior.__version__; dir(graphprior)",
        "from graphprior.cli.main import app; app(['--help'], standalone_mode=False)",
        "from graphprior.cli.main import app; app(['--version'], standalone_mode=False)",
    ],
    ids=["import", "help", "version"],
)
def test_entering_loads_nothing_heavy(code):
    end = "import sys; print('\\nloaded', *sys.modules)"
    command = [sys.executable, "-c", f"{code}\n{end}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    loaded = {name.split(".")[0] for name in done.stdout.split("\nloaded ")[1].split()}
    assert not HEAVY & loaded


@pytest.mark.parametrize("name", graphprior.__all__)
def test_every_public_name_is_there(name):
    assert getattr(graphprior, name).__name__ == name


def test_the_list_of_commands_says_what_each_says_of_itself():
    for name, words in COMMANDS.items():
        command = getattr(import_module(f"graphprior.cli.{name}"), f"{name}_command")
        assert command.__doc__.splitlines()[0] == words
