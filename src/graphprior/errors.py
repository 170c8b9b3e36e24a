"""What the package says when it cannot, or should not, go on.

Every message tells what came, what was expected and what to do. The command
line prints it as one line and exits with 2; a library user gets a ValueError.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any


class GraphPriorError(ValueError):
    """Input that cannot be used as it is."""


class GraphPriorWarning(UserWarning):
    """The answer stands, but the user should know something about it."""


@contextmanager
def notes() -> Iterator[list[str]]:
    """The package's own warnings as words, in a list once the block ends; others go their way."""
    words: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", GraphPriorWarning)
        yield words
    for warning in caught:
        if issubclass(warning.category, GraphPriorWarning):
            words.append(str(warning.message))
        else:
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )


def check_number(name: str, value: Any, low: float, high: float) -> None:
    """Refuse what is no number, or lies outside ``low`` to ``high``."""
    if not isinstance(value, Real) or isinstance(value, bool) or not low <= float(value) <= high:
        raise GraphPriorError(f"{name} = {value!r}: expected a number from {low:g} to {high:g}")


def check_count(name: str, value: Any) -> None:
    """Refuse what is no whole number from 1 on."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise GraphPriorError(f"{name} = {value!r}: expected a whole number from 1 on")
