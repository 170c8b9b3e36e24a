"""The notebooks of the docs: what they show is what their sources give."""

import json
import sys

import nbformat
import pytest

from documents import ROOT

SOURCES = sorted((ROOT / "docs" / "notebooks").glob("*.py"))
sys.path.append(str(ROOT / "scripts"))

from notebooks import cells, executed  # noqa: E402
from site_hooks import page_of  # noqa: E402

each = pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)


def committed(path):
    return nbformat.read(path.with_suffix(".ipynb"), as_version=4)


def kinds(notebook):
    """Which kinds of output each cell has."""
    return [
        [sorted(output.get("data", {output["output_type"]: ""})) for output in cell["outputs"]]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def test_there_are_notebooks():
    assert len(SOURCES) == 2


@each
def test_a_notebook_is_valid_and_of_its_source(path):
    notebook = committed(path)
    nbformat.validate(notebook)
    expected = [(c.cell_type, c.source) for c in cells(path.read_text("utf-8"))]
    assert [(c.cell_type, c.source) for c in notebook.cells] == expected
    assert path.with_suffix(".ipynb").stat().st_size < 300_000


@each
def test_a_page_has_every_cell_and_picture_of_its_notebook(path):
    notebook = json.loads(path.with_suffix(".ipynb").read_text("utf-8"))
    page = page_of(notebook, "x.ipynb")
    for cell in notebook["cells"]:
        assert "".join(cell["source"]).split("\n")[-1].replace(".ipynb)", ".md)") in page
        for output in cell.get("outputs", []):
            assert "".join(output.get("data", {}).get("image/png", "")).strip() in page
            assert "".join(output.get("text", "")).strip() in page
    assert page.count("<img") >= 2


@pytest.mark.slow
@each
def test_a_notebook_runs_and_shows_as_much_as_the_committed_one(path):
    """Numbers may change with the versions of what computes them, but not what is shown."""
    assert kinds(executed(path.read_text("utf-8"))) == kinds(committed(path))
