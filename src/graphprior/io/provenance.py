"""What a result was made by: versions, machine, and the commit where there is one."""

from __future__ import annotations

import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

PARTS = ("graphprior", "torch", "numpy", "numba", "scipy", "scikit-learn", "networkx", "pandas")


def versions(*more: str) -> dict[str, str]:
    """Versions of Python, of the parts that decide a result, and of ``more`` of them."""
    found = {part: _version(part) for part in (*PARTS, *more)}
    return {"python": platform.python_version(), **found}


@cache  # looking one up parses a file, and a run of many results tells it in each
def _version(part: str) -> str:
    try:
        return version(part)
    except PackageNotFoundError:
        return "not installed"


def machine() -> dict[str, Any]:
    """What a timing or a last digit may depend on."""
    return {
        "system": platform.system(),
        "processor": platform.machine(),
        "model": processor(),
        "threads": torch.get_num_threads(),
    }


@cache
def processor() -> str:
    """The model of the processor, where the system tells it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text("utf-8").splitlines() if info.exists() else []
    names = [line.split(":")[1].strip() for line in lines if "model name" in line]
    return names[0] if names else platform.processor()


@cache
def commit() -> str | None:
    """The commit of the code that is loaded, marked when files differ from it; None outside git.

    Asked once: the checkout may move on while a long run lasts.
    """
    here = Path(__file__).parent.parent  # the package

    def git(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["git", *words], cwd=here, capture_output=True, text=True, check=False
        )

    try:
        head = git("rev-parse", "HEAD")
        ours = git("ls-files", "--error-unmatch", "io/provenance.py")
    except OSError:
        return None
    if head.returncode or ours.returncode:  # a checkout of something else may hold the package
        return None
    changed = git("diff", "--quiet", "HEAD", "--", ".").returncode
    return head.stdout.strip() + (" with changes" if changed else "")
