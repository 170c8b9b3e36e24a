"""How strong edges are and how common: two humps, mirror images of each other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graphprior.graphs.matrices import vech
from graphprior.types import Matrix, Vector

LARGEST_SLAB = 0.25
# Known pairs say how common edges are among the others, but no more than as many pairs as this:
# people leave out what they doubt.
MOST_TELLING = 40.0


class Slab(NamedTuple):
    """An edge's strength has mean square ``variance``; a share ``rate`` of unknown pairs are edges.

    Strengths are N(m, v) with probability ``positive`` and N(-m, v) otherwise, where m**2 is a
    share ``hump`` of the mean square and v the rest. With ``hump`` 0 that is N(0, variance); with
    ``hump`` near 1 edges are never weak.
    """

    variance: float
    rate: float
    hump: float = 0.0
    positive: float = 0.5

    @property
    def centre(self) -> float:
        """m: how far the humps are from 0."""
        return float(np.sqrt(self.hump * self.variance))

    @property
    def width(self) -> float:
        """v: the variance of a hump."""
        return (1 - self.hump) * self.variance

    def log_bf(
        self, precision: Vector | float, shift: Vector | float, slack: float = 0.0
    ) -> Vector:
        """log BF of an edge against none under the likelihood exp(shift t - precision t**2 / 2).

        With ``slack`` pairs without an edge are N(0, slack), and edges have that beside their own.
        """
        width = self.width + slack
        full = precision + 1 / width
        sides = [
            np.log(share) + (shift + side * self.centre / width) ** 2 / (2 * full)
            for side, share in ((1, self.positive), (-1, 1 - self.positive))
        ]
        own = 0.5 * np.log(width * full) + self.centre**2 / (2 * width)
        bf: Vector = np.logaddexp(*sides) - own
        if slack > 0:
            less = precision + 1 / slack
            bf = bf + 0.5 * np.log(slack * less) - 0.5 * shift**2 / less
        return bf


class Rate(NamedTuple):
    """Beta prior of the share of unknown pairs that are edges, as so many of either kind seen."""

    edges: float = 2.0
    gaps: float = 8.0

    @property
    def mean(self) -> float:
        """What is expected before the data."""
        return self.edges / (self.edges + self.gaps)


def rate_prior(known: Matrix, at_random: bool = False) -> Rate:
    """What known pairs tell of the rate of edges among the unknown ones.

    A list of edges does not tell how many there are: they are known because they are edges. So
    the more edges there are for each absent pair, from as many on, the less they count, down to
    the usual one in five. Unless pairs are unknown ``at random`` all of them count as
    `MOST_TELLING` pairs at most.
    """
    a = vech(known)
    edges, gaps = float((a == 1).sum()), float((a == 0).sum())
    if edges > gaps and not at_random:
        usual = Rate().edges / Rate().gaps
        listed = edges / gaps - 1 if gaps else 1.0
        edges = gaps * (1 - (1 - usual) * min(listed, 1.0))
    weight = 1.0 if at_random else min(1.0, MOST_TELLING / max(edges + gaps, 1.0))
    return Rate(Rate().edges + weight * edges, Rate().gaps + weight * gaps)
