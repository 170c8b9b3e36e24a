"""What the package says when it cannot, or should not, go on.

Every message tells what came, what was expected and what to do. The command
line prints it as one line and exits with 2; a library user gets a ValueError.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


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
