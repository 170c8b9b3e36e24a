"""A family of graphs: examples to learn from, and others to be judged on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from graphprior.types import Matrix

Draw = Callable[[int, np.random.Generator], list[Matrix]]


@dataclass(frozen=True)
class Family:
    """``train`` and ``test`` give a number of graphs, drawn apart.

    ``generated`` tells whether a seed makes them; others are read from files.
    """

    name: str
    train: Draw
    test: Draw
    generated: bool = True
