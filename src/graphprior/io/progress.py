"""Progress on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)


def console() -> Console:
    """Words for people go to standard error; standard output is for results."""
    return Console(stderr=True, highlight=False, soft_wrap=True, markup=False)


@contextmanager
def progress(what: str) -> Iterator[Callable[..., None]]:
    """A bar with the time left, shown only on a terminal; report (done, total, words) to it."""
    out = console()
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=out,
        disable=not out.is_terminal,
        transient=True,
    )

    def report(done: int, total: int, words: str = what) -> None:
        bar.update(task, completed=done, total=total, description=words)

    with bar:
        task = bar.add_task(what, total=None)
        yield report


@contextmanager
def reporting(verbose: Any) -> Iterator[Any]:
    """What a long run reports its progress to: a bar, a user's own function, or nothing."""
    if callable(verbose):
        yield verbose
    elif verbose:
        with progress("estimating") as report:
            yield report
    else:
        yield None
