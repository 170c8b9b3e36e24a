"""The table of measurements, and what is computed of it once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from graphprior.choices import Missing
from graphprior.errors import GraphPriorError
from graphprior.graphs.matrices import vech
from graphprior.observations.checks import check_observations, node_names, refuse_constant_columns
from graphprior.observations.moments import (
    FEWEST,
    Moments,
    as_series,
    em_moments,
    pairwise_moments,
    sample_covariance,
)
from graphprior.types import Matrix


@dataclass(frozen=True)
class ObservationFacts:
    """How many observations there are, what they miss, and what they are worth.

    ``effective_k`` is the number of complete, independent ones that they are worth, ``least_k``
    that of the pair that was seen least. ``moments_settled`` tells whether
    expectation-maximisation converged.
    """

    n: int
    k: int
    time_series: bool = False
    missing: str = Missing.REFUSE
    missing_entries: int = 0
    effective_k: float = 0.0
    least_k: float = 0.0
    moments_settled: bool = True


@dataclass(frozen=True, eq=False)
class Observations:
    """k observations ``X`` (k, n) of the variables ``names``.

    ``X`` may have nan where ``missing`` says how to go about it. In a ``time_series`` rows depend
    on those before. With ``assume_centered`` all means are 0.
    """

    X: Matrix
    names: tuple[str, ...]
    missing: str = Missing.REFUSE
    time_series: bool = False
    assume_centered: bool = False

    @classmethod
    def create(
        cls, X: Any, missing: str = Missing.REFUSE, time_series: bool = False,
        assume_centered: bool = False,
    ) -> Observations:  # fmt: skip
        """Check what a user has: an array or a DataFrame."""
        names = node_names(X, np.shape(X)[-1] if np.ndim(X) == 2 else 0)
        X = check_observations(X, names, missing, time_series)
        refuse_constant_columns(X, names)
        X.setflags(write=False)
        return cls(X, names, missing, bool(time_series), bool(assume_centered))

    @property
    def k(self) -> int:
        """Number of observations."""
        return int(self.X.shape[0])

    @property
    def n(self) -> int:
        """Number of variables."""
        return int(self.X.shape[1])

    @cached_property
    def has_gaps(self) -> bool:
        """Whether entries are missing."""
        return bool(np.isnan(self.X).any())

    @cached_property
    def moments(self) -> Moments:
        """Mean and covariance, by the method that was chosen for missing entries."""
        found = self._of_rows()
        if self.time_series:
            found = as_series(found, self.X, self.assume_centered)
        if not found.k >= FEWEST:
            alike = ", and rows of the series so alike," if self.time_series else ""
            raise GraphPriorError(
                f"so many entries of X are missing{alike} that its {self.k} rows are worth "
                f"{found.k:.1f} complete ones: at least {FEWEST} are needed; drop the columns that "
                "miss most"
            )
        return found

    def _of_rows(self) -> Moments:
        if not self.has_gaps:
            mean = np.zeros(self.n) if self.assume_centered else self.X.mean(axis=0)
            return Moments(mean, sample_covariance(self.X, self.assume_centered), self.k)
        if self.missing == Missing.REFUSE:
            raise GraphPriorError("X has missing entries: create the problem with missing='em'")
        by = em_moments if self.missing == Missing.EM else pairwise_moments
        return by(self.X, self.assume_centered, self.names)

    def facts(self) -> ObservationFacts:
        """How many observations there are, what they miss, what they are worth; for diagnostics."""
        found = self.moments
        return ObservationFacts(
            n=self.n,
            k=self.k,
            time_series=self.time_series,
            missing=self.missing,
            missing_entries=int(np.isnan(self.X).sum()),
            effective_k=found.k,
            least_k=found.k if found.worth is None else float(vech(found.worth).min()),
            moments_settled=found.settled,
        )
