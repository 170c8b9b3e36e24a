"""What docs/files.md says to type works, in order, in an empty folder."""

import re
import shlex
from pathlib import Path

from typer.testing import CliRunner

from graphprior.cli.main import app
from graphprior.errors import notes

PAGE = Path(__file__).parent.parent / "docs" / "files.md"


def test_every_example_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for language, code in re.findall(r"^```(\w*)\n(.*?)^```$", PAGE.read_text(), re.M | re.S):
        if language == "python":
            with notes():
                exec(code, names)
            continue
        for line in code.splitlines():
            done = CliRunner().invoke(app, shlex.split(line)[1:])
            assert done.exit_code == 0, (line, done.exception)
    assert (tmp_path / "graph.gexf").is_file()
