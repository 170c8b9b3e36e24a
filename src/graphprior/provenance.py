"""Which software and machine a result came from."""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import torch

PARTS = ("graphprior", "torch", "numpy", "scipy", "scikit-learn", "networkx", "pandas")


def versions() -> dict[str, str]:
    """Versions of Python and of the parts that decide a result."""
    return {"python": platform.python_version(), **{part: _version(part) for part in PARTS}}


@cache  # a process has one; looking it up parses a file, and many results tell it
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
        "threads": torch.get_num_threads(),
    }
