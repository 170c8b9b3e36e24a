"""What an expert believes of pairs that are not known: probabilities, nan where there is none.

A belief p enters as the log-odds logit(p) of its pair alone, added to what the
data and the other pairs say. So it must be what the expert knows beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphprior.checks import (
    Matrix,
    as_square,
    match_names,
    refuse_first,
    refuse_one_sided,
)
from graphprior.errors import GraphPriorError


def no_beliefs(n: int) -> Matrix:
    """Beliefs of n nodes when there are none."""
    return np.full((n, n), np.nan)


def check_beliefs(beliefs: Any, n: int | None = None) -> Matrix:
    """``beliefs`` as a symmetric float matrix with a nan diagonal, or an error naming the entry."""
    P = as_square(beliefs, n, "beliefs", "probabilities, and nan where there is no belief")
    off_diagonal = ~np.eye(len(P), dtype=bool)
    # Zeros there are how matrices of pairs often come, and say nothing.
    refuse_first(
        ~off_diagonal & ~(np.isnan(P) | (P == 0)), P, "beliefs",
        "the diagonal must be nan, a variable has no edge to itself",
    )  # fmt: skip
    refuse_first(
        off_diagonal & ~(np.isnan(P) | ((P > 0) & (P < 1))), P, "beliefs",
        "a belief is a probability between 0 and 1, both excluded; what is certain is `known`",
    )  # fmt: skip
    refuse_one_sided(P, "beliefs")
    np.fill_diagonal(P, np.nan)
    return P


def align_beliefs(beliefs: Any, names: Sequence[str]) -> Matrix:
    """``beliefs`` in the order of ``names``: an array as it is, a DataFrame matched by name."""
    if hasattr(beliefs, "columns"):
        beliefs = match_names(beliefs, names, "beliefs")
    return check_beliefs(beliefs, n=len(names))


def join_beliefs(first: Matrix, second: Matrix, names: Sequence[str]) -> Matrix:
    """Beliefs from two places; a pair that both speak of is refused."""
    both = np.argwhere(~np.isnan(first) & ~np.isnan(second))
    if len(both):
        i, j = both[0]
        raise GraphPriorError(
            f"`known` and `beliefs` both have a probability of {names[i]} - {names[j]}: "
            "give it once"
        )
    return np.where(np.isnan(first), second, first)


def refuse_known_beliefs(beliefs: Matrix, known: Matrix, names: Sequence[str]) -> None:
    """A pair is known or believed, not both."""
    both = np.argwhere(~np.isnan(beliefs) & ~np.isnan(known))
    if len(both):
        i, j = both[0]
        raise GraphPriorError(
            f"the belief {beliefs[i, j]:g} about {names[i]} - {names[j]}, which is known "
            f"({known[i, j]:g}): a pair is known or believed; make one of them nan "
            f"({len(both) // 2} such pairs)"
        )
