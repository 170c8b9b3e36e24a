"""Every code block of the documentation runs, page by page, in a folder where the demo has run."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from documents import ROOT, blocks, graphprior, python
from graphprior import __all__ as graphprior_names

PAGES = sorted((ROOT / "docs").rglob("*.md"))
# Blocks that show what a program printed, or a file's content.
SHOWN = {"text", "csv", "json"}
RUN = {"python", "sh"}


def name(path):
    return str(path.relative_to(ROOT / "docs"))


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    here = tmp_path_factory.mktemp("docs")
    graphprior(["demo", "--draws", "3"], here)
    return here / "demo-result"


def steps(path):
    """Neighbouring python blocks are one program with one memory; shell runs where it stands."""
    return [(language, text) for language, text in blocks(path) if language in RUN]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_block_has_a_language_that_is_run_or_shown(page):
    assert {language for language, _ in blocks(page)} <= RUN | SHOWN


# The worked examples need data: tests/test_example_pages.py makes some and runs them.
RUN_HERE = [p for p in PAGES if steps(p) and p.parent.name != "examples"]


@pytest.mark.slow
@pytest.mark.parametrize("page", RUN_HERE, ids=name)
def test_the_code_of_a_page_runs(page, demo, tmp_path):
    shutil.copytree(demo, tmp_path / "demo-result")
    program = []
    for language, text in steps(page):
        if language == "sh":
            text = f"_shell({text!r})\n"
        program.append(text)
    start = (
        "import sys\n"
        f"sys.path.insert(0, {str(ROOT / 'tests')!r})\n"
        "from documents import shell\n"
        "def _shell(code):\n    print(shell(code, '.').stdout)\n"
    )
    (tmp_path / "page.py").write_text(start + "".join(program), "utf-8")
    python(["page.py"], tmp_path)


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path):
    mkdocs = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(
        mkdocs, cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "index.html").is_file()
    assert (tmp_path / "results" / "overview" / "curves.png").is_file()


def test_the_reference_has_every_public_name():
    words = (ROOT / "docs" / "reference.md").read_text("utf-8")
    listed = set(re.findall(r"::: graphprior\.(\w+)$", words, re.MULTILINE))
    # Errors have a module of their own there.
    assert set(graphprior_names) - {"GraphPriorError", "GraphPriorWarning"} <= listed
