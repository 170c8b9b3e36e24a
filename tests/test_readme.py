"""What README says to type works, line by line, in a fresh folder."""

import re
import shlex
import shutil

import pytest

from documents import ROOT, blocks, graphprior, python

README = ROOT / "README.md"


def code(language):
    return [text for name, text in blocks(README) if name == language]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where `make demo` has run: README's commands start from its result."""
    here = tmp_path_factory.mktemp("readme")
    graphprior(["demo", "--draws", "3"], here)
    return here


@pytest.mark.slow
def test_the_demo_ends_with_a_picture(folder):
    written = {path.name for path in (folder / "demo-result").iterdir()}
    assert {
        "report.html",
        "picture.png",
        "edges.csv",
        "graph.graphml",
        "result.npz",
        "run.json",
    } <= written
    assert (folder / "demo-result" / "picture.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_the_estimate_commands_of_the_readme_work(folder):
    lines = [line for block in code("") for line in block.splitlines()]
    command, many = (line for line in lines if " estimate " in line)
    graphprior(shlex.split(command)[1:], folder)
    assert (folder / "result" / "edges.csv").is_file()
    for part, file in (("tables", "observations.csv"), ("known", "known.csv")):
        (folder / part).mkdir()
        for name in ("first.csv", "second.csv"):
            shutil.copy(folder / "demo-result" / "input" / file, folder / part / name)
    graphprior(shlex.split(many)[1:], folder)
    assert (folder / "results" / "summary.csv").read_text().count("\n") == 3
    for name in ("edges.csv", "result.npz", "graph.graphml"):
        expected = (folder / "result" / name).read_bytes()
        assert (folder / "results" / "second" / name).read_bytes() == expected


@pytest.mark.slow
def test_the_python_of_the_readme_works(folder):
    (program,) = code("python")
    assert "edges" in python(["-c", program], folder).stdout


def test_every_command_of_the_readme_exists():
    from graphprior.cli.main import COMMANDS

    lines = [line for block in code("") for line in block.splitlines()]
    named = {m[1] for line in lines if (m := re.search(r"\bgraphprior (\w+)", line))}
    assert named
    assert named <= set(COMMANDS)


@pytest.mark.slow
def test_the_experiment_of_the_readme_works(folder):
    lines = [line for block in code("") for line in block.splitlines()]
    (command,) = [line for line in lines if " experiment grids" in line]
    graphprior(shlex.split(command, comments=True)[1:], folder)
    written = {path.name for path in (folder / "build" / "grids-10").iterdir()}
    assert {"rows.csv.gz", "table.md", "figure.png", "run.json", "spec.json"} <= written
