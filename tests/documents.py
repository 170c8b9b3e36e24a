"""Code blocks of the documentation, and how to run them."""

import os
import re
import subprocess
import sys
from pathlib import Path

from warm import program, programs

ROOT = Path(__file__).parent.parent


def blocks(path):
    """(language, code) of a page, in order; all are read, so that no end is taken for a start."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", Path(path).read_text("utf-8"), re.M | re.S)


def graphprior(words, cwd):
    """The command line as a process."""
    return finished([*program("graphprior"), *words], cwd)


def python(words, cwd):
    """A program in Python as a process."""
    return finished([*program("python"), *words], cwd)


def finished(command, cwd, **options):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done


def shell(code, cwd):
    """Lines for a shell, with this environment's programs first."""
    folders = [*([str(programs())] if programs() else []), str(Path(sys.executable).parent)]
    path = os.pathsep.join([*folders, os.environ["PATH"]])
    return finished(["sh", "-eu", "-c", code], cwd, env={**os.environ, "PATH": path})
