"""What every command shares: where words go, progress, and output that is safe to write."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from graphprior.errors import GraphPriorError


def print_json(value: Any) -> None:
    """A result for scripts, on standard output."""
    print(json.dumps(value, indent=1))


def new_folder(path: Path) -> Path:
    """An output folder that holds nothing yet; one with files in it is refused."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise GraphPriorError(
            f"output folder {path} exists and is not empty: choose another or empty it"
        )
    for parent in path.parents:
        if parent.exists():
            if not parent.is_dir():
                raise GraphPriorError(f"output folder {path} cannot be made: {parent} is a file")
            break
    return path


def check_seed(seed: int) -> int:
    """A seed that every generator takes."""
    if not 0 <= seed < 2**63:
        raise GraphPriorError(f"--seed {seed}: expected a number from 0 to 2**63 - 1")
    return seed


@contextmanager
def interrupt_flag() -> Iterator[list[bool]]:
    """A list that becomes non-empty on the first Ctrl-C, so that a step can end in peace.

    The second Ctrl-C interrupts as usual.
    """
    pressed: list[bool] = []
    previous = signal.getsignal(signal.SIGINT)

    def remember(_: int, __: FrameType | None) -> None:
        pressed.append(True)
        signal.signal(signal.SIGINT, previous)

    signal.signal(signal.SIGINT, remember)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, previous)
