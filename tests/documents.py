"""Code blocks of the documentation, and how to run them."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def blocks(path):
    """(language, code) of a page, in order; all are read, so that no end is taken for a start."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", Path(path).read_text("utf-8"), re.M | re.S)


def graphprior(words, cwd):
    """The command line in a process of its own."""
    start = "from graphprior.cli.main import main; main()"
    return finished([sys.executable, "-c", start, *words], cwd)


def finished(command, cwd, **options):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done


def shell(code, cwd):
    """Lines for a shell, with this environment's programs first."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return finished(["sh", "-eu", "-c", code], cwd, env={**os.environ, "PATH": path})
