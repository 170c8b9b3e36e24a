"""The problem to solve: observations, and what is known and believed of their graph."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from graphprior.choices import Missing
from graphprior.graphs.matrices import observed_mask, unknown_mask
from graphprior.observations.moments import Moments
from graphprior.observations.observations import Observations
from graphprior.problem.known import align_beliefs_too
from graphprior.types import Mask, Matrix


@dataclass(frozen=True, eq=False)
class Problem:
    """Observations, and what is ``known`` and believed of the graph of their variables.

    Problem 1 of the paper without the example graphs, which are the prior's.
    ``beliefs`` are probabilities of unknown pairs, nan for none. ``unknown_at_random`` says that
    edges are unknown no more often than other pairs.
    """

    observations: Observations
    known: Matrix
    beliefs: Matrix | None = None
    unknown_at_random: bool = False

    @classmethod
    def create(
        cls,
        X: Any,
        known: Any = None,
        beliefs: Any = None,
        missing: str = Missing.REFUSE,
        time_series: bool = False,
        assume_centered: bool = False,
        unknown_at_random: bool = False,
    ) -> Problem:
        """Check and align what a user has: arrays or DataFrames, ``known`` or None."""
        observations = Observations.create(X, missing, time_series, assume_centered)
        A, P = align_beliefs_too(known, beliefs, observations.names)
        for matrix in (A, P):
            matrix.setflags(write=False)
        return cls(observations, A, P, unknown_at_random)

    def with_known(self, known: Matrix) -> Problem:
        """The same observations with another known part; beliefs stay where it is nan."""
        P = None if self.beliefs is None else np.where(np.isnan(known), self.beliefs, np.nan)
        return replace(self, known=known, beliefs=P)

    @property
    def X(self) -> Matrix:
        """The observations (k, n)."""
        return self.observations.X

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables."""
        return self.observations.names

    @property
    def moments(self) -> Moments:
        """Mean and covariance of the observations."""
        return self.observations.moments

    @property
    def k(self) -> int:
        """Number of observations."""
        return self.observations.k

    @property
    def n(self) -> int:
        """Number of variables."""
        return self.observations.n

    @property
    def U(self) -> Mask:
        """The unknown pairs."""
        return unknown_mask(self.known)

    @property
    def O(self) -> Mask:  # noqa: E743 (the paper's letter)
        """The observed pairs."""
        return observed_mask(self.known)

    @property
    def believed(self) -> Mask:
        """The unknown pairs of which there is a belief."""
        if self.beliefs is None:
            return np.zeros(self.known.shape, dtype=bool)
        return ~np.isnan(self.beliefs)

    @property
    def belief(self) -> Matrix:
        """Log-odds that the beliefs give, 0 where there is none."""
        if self.beliefs is None:
            return np.zeros(self.known.shape)
        log_odds: Matrix = np.nan_to_num(np.log(self.beliefs) - np.log1p(-self.beliefs))
        return log_odds
