"""The cells of the calibration benchmark.

A cell is a kind of graph, a number of variables, a kind of strengths, a number of observations,
what is known, which prior is used, and what the columns look like. The list covers every value of
each and the pairs of them that matter; all their combinations would be thousands.

Cells that differ only in the prior, or only in the columns, have the same problems: same graphs,
same strengths, same draws.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from zlib import crc32

import numpy as np

SEED = 23
STRENGTHS = ("wishart", "uniform", "gwishart", "positive", "factor")
KNOWN = ("nothing", "half", "edges")
COLUMNS = ("gaussian", "t4", "skewed", "ordinal", "outliers")


@dataclass(frozen=True)
class Cell:
    """A kind of problem.

    ``n`` is about the number of variables where the family of graphs has several sizes. There are
    ``ratio`` times as many observations as variables. ``told`` uses the right prior; else none is
    given.
    """

    graph: str
    n: int
    strength: str
    ratio: float
    known: str
    told: bool = False
    columns: str = "gaussian"

    @property
    def problem(self) -> str:
        """What decides graph, strengths, Gaussian draws and what is known."""
        return f"{self.graph} n{self.n} {self.strength} k{self.ratio:g}n {self.known}"

    @property
    def name(self) -> str:
        """The cell in a few words."""
        columns = "" if self.columns == "gaussian" else f" {self.columns}"
        return self.problem + (" told" if self.told else "") + columns

    @property
    def is_gaussian(self) -> bool:
        """Whether the model holds."""
        return self.columns == "gaussian"

    def generator(self, repeat: int) -> np.random.Generator:
        """Draws a problem of the cell, whatever other cells there are."""
        return np.random.default_rng([SEED, crc32(self.problem.encode()), repeat])


def _told(cell: Cell) -> list[Cell]:
    """The cell without and with the right prior."""
    return [cell, replace(cell, told=True)]


def _independent() -> list[Cell]:
    four = STRENGTHS[:4]
    cells = [
        Cell("independent", 15, strength, ratio, known)
        for strength in four
        for ratio in (2, 10)
        for known in ("nothing", "half")
    ]
    # From too few observations to plenty, and lists of edges.
    for strength, ratio, known in [
        ("wishart", 0.5, "nothing"), ("wishart", 1, "nothing"), ("wishart", 50, "nothing"),
        ("uniform", 0.5, "half"), ("uniform", 1, "edges"), ("uniform", 50, "half"),
        ("gwishart", 1, "half"), ("gwishart", 50, "nothing"), ("gwishart", 0.5, "edges"),
        ("positive", 0.5, "nothing"), ("positive", 50, "half"), ("positive", 10, "edges"),
        ("wishart", 2, "edges"),
    ]:  # fmt: skip
        cells.append(Cell("independent", 15, strength, ratio, known))
    for strength, ratio, known in [
        ("wishart", 10, "nothing"), ("wishart", 2, "half"), ("uniform", 10, "nothing"),
        ("uniform", 2, "half"), ("gwishart", 2, "nothing"), ("gwishart", 10, "edges"),
        ("positive", 10, "half"),
    ]:  # fmt: skip
        cells.append(Cell("independent", 50, strength, ratio, known))
    # Told how common edges are.
    cells.append(Cell("independent", 15, "gwishart", 2, "nothing", told=True))
    cells.append(Cell("independent", 15, "wishart", 10, "nothing", told=True))
    return cells


def _others() -> list[Cell]:
    plain = [
        Cell("factor", 15, "factor", 2, "nothing"),
        Cell("factor", 15, "factor", 10, "half"),
        Cell("factor", 15, "factor", 50, "edges"),
        Cell("factor", 50, "factor", 10, "nothing"),
        Cell("factor", 50, "factor", 2, "half"),
    ]
    structured = [
        Cell("blocks", 15, "gwishart", 2, "half"),
        Cell("blocks", 15, "uniform", 10, "nothing"),
        Cell("blocks", 50, "wishart", 10, "half"),
        Cell("egonets", 20, "wishart", 2, "half"),
        Cell("egonets", 20, "gwishart", 1, "half"),
        Cell("egonets", 20, "uniform", 10, "nothing"),
        Cell("egonets", 20, "positive", 10, "edges"),
        Cell("grids", 45, "wishart", 0.5, "half"),
        Cell("grids", 45, "gwishart", 2, "nothing"),
        Cell("barabasi-albert", 49, "uniform", 2, "half"),
        Cell("barabasi-albert", 49, "wishart", 10, "nothing"),
    ]
    large = [
        Cell("independent", 100, "wishart", 2, "half"),
        Cell("independent", 100, "uniform", 10, "nothing"),
        Cell("independent", 200, "uniform", 2, "half"),
        Cell("independent", 200, "gwishart", 10, "nothing"),
    ]
    return plain + [each for cell in structured for each in _told(cell)] + large


def _far_from_gaussian() -> list[Cell]:
    """Cells of columns that are not Gaussian; each has a Gaussian twin in the list."""
    kinds = COLUMNS[1:]
    cells = [Cell("independent", 15, "wishart", 10, "nothing", columns=kind) for kind in kinds]
    cells += [Cell("independent", 50, "uniform", 2, "half", columns=kind) for kind in kinds]
    for kind in ("t4", "ordinal"):
        cells.append(Cell("independent", 15, "gwishart", 2, "half", columns=kind))
    return cells


CELLS = (*_independent(), *_others(), *_far_from_gaussian())
