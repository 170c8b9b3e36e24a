"""Parameters that are one of a few words.

Each is an enum whose members are strings: where a function takes one, the plain word does as well.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Self

from graphprior.errors import GraphPriorError


class Choice(StrEnum):
    """One of a few words; equal to the plain string, and shown like it."""

    def __repr__(self) -> str:
        return repr(self.value)

    @classmethod
    def of(cls, name: str, value: Any) -> Self:
        """The member for ``value``; raise an error that names the parameter if there is none."""
        try:
            return cls(value)
        except ValueError:
            raise GraphPriorError(f"{name} = {value!r}: expected one of {list(cls)}") from None


class EngineName(Choice):
    """An engine with its usual settings."""

    DIRECT = "direct"
    GIBBS = "gibbs"
    LANGEVIN = "langevin"


class LikelihoodName(Choice):
    """Likelihood of engine `langevin`: precision matrix plugged in, or strengths integrated out."""

    PLUG_IN = "plug-in"
    MARGINAL = "marginal"


class Use(Choice):
    """What the estimate follows. The paper calls them LPost, LPr and LL."""

    BOTH = "both"
    PRIOR = "prior"
    DATA = "data"


class PriorWeight(Choice):
    """How far a prior is believed: fully, or as far as it predicts pairs that it is not shown."""

    FULL = "full"
    AUTO = "auto"


class Missing(Choice):
    """What to do about missing values."""

    REFUSE = "refuse"
    EM = "em"
    PAIRWISE = "pairwise"


class Others(Choice):
    """What pairs are that an edge table leaves out."""

    UNKNOWN = "unknown"
    ABSENT = "absent"


class TransformKind(Choice):
    """A transform of every column."""

    NONE = "none"
    STANDARDISE = "standardise"
    LOG = "log"
    NORMAL_SCORES = "normal-scores"
