"""The published points, read off the paper's figures."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

# What the paper shows as LPr is one graph drawn (docs/paper.md): both are next to it.
SHOWN_AS = {"LPr(one sample)": "LPr"}


@cache
def published() -> dict[tuple[str, str, float], float]:
    """Value by figure, method and x."""
    with (Path(__file__).parent / "published.csv").open(newline="", encoding="utf-8") as file:
        return {
            (row["figure"], row["method"], float(row["x"])): float(row["value"])
            for row in csv.DictReader(file)
        }


def curve(figure: str, method: str) -> dict[float, float]:
    """A method's published values by x."""
    method = SHOWN_AS.get(method, method)
    return {x: v for (name, m, x), v in published().items() if (name, m) == (figure, method)}


def best(figure: str) -> dict[float, float]:
    """The highest published value at each x."""
    found: dict[float, float] = {}
    for (name, _, x), value in published().items():
        if name == figure:
            found[x] = max(found.get(x, value), value)
    return found


def published_methods(figure: str) -> list[str]:
    """Methods that the paper shows in a figure."""
    return sorted({method for name, method, _ in published() if name == figure})
