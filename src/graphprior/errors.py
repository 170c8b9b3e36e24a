"""The error and the warning that the package raises, and checks of single numbers.

Every message says what was given, what was expected and what to do. In Python
the error is a ValueError. The command line prints it as one line and exits
with code 2.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any


class GraphPriorError(ValueError):
    """Raised when an input cannot be used as it is."""


class GraphPriorWarning(UserWarning):
    """Issued when the answer can be used, but the user should know something about it."""


@contextmanager
def notes() -> Iterator[list[str]]:
    """Collect the messages of `GraphPriorWarning` in a list, which is filled when the block ends.

    Warnings of other categories are issued again as usual.
    """
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
    """Raise an error unless ``value`` is a number from ``low`` to ``high``."""
    if not isinstance(value, Real) or isinstance(value, bool) or not low <= float(value) <= high:
        raise GraphPriorError(f"{name} = {value!r}: expected a number from {low:g} to {high:g}")


def check_count(name: str, value: Any) -> None:
    """Raise an error unless ``value`` is an integer of at least 1."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise GraphPriorError(f"{name} = {value!r}: expected an integer of at least 1")
