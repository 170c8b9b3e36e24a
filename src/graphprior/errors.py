"""What the package says when it cannot, or should not, go on.

Every message tells what came, what was expected and what to do. The command
line prints it as one line and exits with 2; a library user gets a ValueError.
"""

from __future__ import annotations


class GraphPriorError(ValueError):
    """Input that cannot be used as it is."""


class GraphPriorWarning(UserWarning):
    """The answer stands, but the user should know something about it."""
