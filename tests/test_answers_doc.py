"""What docs/answers.md says to type works, one block after the other."""

import re
import subprocess
import sys
from pathlib import Path

DOC = Path(__file__).parent.parent / "docs" / "answers.md"
START = "from graphprior.cli.main import main; main()"


def run(folder, code, *words):
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


def test_the_examples_work(tmp_path):
    text = DOC.read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)
    assert len(blocks) == text.count("\n```python") == 5
    run(tmp_path, START, "demo", "--samples", "3")
    done = run(tmp_path, "\n".join(blocks))
    assert "degree" in done.stdout
    assert "Warning" not in done.stderr
    for name in re.findall(r'savefig\("(.*?)"\)', text):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    (command,) = re.findall(r"`graphprior (summary [^`]*)`", text)
    run(tmp_path, START, *command.split())
