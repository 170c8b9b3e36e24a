"""The command line for tests: as a process, the files it reads, how it refuses."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest

from warm import program

COLD = [sys.executable, "-c", "from graphprior.cli.main import main; main()"]
NAMES = list("abcde")
PATIENCE = 60.0


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


def listing(folder):
    """Every file below a folder with its content."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None
        for path in Path(folder).rglob("*")
    }


def strict_json(text):
    """Parsed; NaN and Infinity, which are not JSON, are errors."""
    return json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))


def environment():
    terminal = ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
    kept = {key: value for key, value in os.environ.items() if key not in terminal}
    return {**kept, "OMP_NUM_THREADS": "1"}


def start(folder, *words, command=None):
    """The command as a process of its own that goes on; `COLD` imports everything first."""
    return subprocess.Popen(
        [*(command or program("graphprior")), *map(str, words)],
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


def run(folder, *words, command=None):
    """The command as a process of its own, when it has ended."""
    process = start(folder, *words, command=command)
    out, err = process.communicate(timeout=PATIENCE)
    return Outcome(process.returncode, out, err)


def write_observations(path, rng, k=30):
    pd.DataFrame(rng.standard_normal((k, 5)), columns=NAMES).to_csv(path, index=False)


def write_known(path, A):
    pd.DataFrame(A, index=NAMES, columns=NAMES).to_csv(path)


def assert_refused(outcome, *words):
    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.err.startswith("graphprior: ")
    assert outcome.err.count("\n") == 1
    assert "Traceback" not in outcome.err
    for word in words:
        assert word in outcome.err
