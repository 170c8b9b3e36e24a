"""What an estimate found, apart from how: the same in memory, on disk and in a report."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from graphprior.diagnosis.self_check import SelfCheck
from graphprior.engines.posterior import Reasons, Trace, no_trace
from graphprior.gaussian.linalg import partial_correlations
from graphprior.graphs.convert import as_arviz, as_igraph, as_networkx
from graphprior.graphs.layout import places
from graphprior.graphs.matrices import observed_mask, pairs, unknown_mask
from graphprior.results.diagnostics import Diagnostics
from graphprior.types import Mask, Matrix


@dataclass(frozen=True, eq=False)
class Result:
    """A fitted model's answer, and what is needed to judge it.

    Fields bear the names of `PartialGGM`'s attributes. ``notes`` are its
    warnings in words, ``card`` that of its prior, ``run`` tells how it was made,
    ``self_check`` what simulated data say of the probabilities, if they were asked.
    """

    names: tuple[str, ...]
    known: Matrix
    edge_probabilities: Matrix
    edge_intervals: Matrix
    adjacency: Matrix
    precision: Matrix
    samples: npt.NDArray[np.uint8]
    reasons: Reasons | None
    diagnostics: Diagnostics
    notes: tuple[str, ...] = ()
    card: dict[str, Any] | None = None
    run: dict[str, Any] = field(default_factory=dict)
    trace: Trace = field(default_factory=no_trace)
    self_check: SelfCheck | None = None

    @classmethod
    def of(cls, model: Any, run: dict[str, Any] | None = None) -> Result:
        """The result of a fitted model; a result is its own."""
        if isinstance(model, cls):
            return model
        check_is_fitted(model)
        return cls(
            model.problem_.names,
            model.problem_.known,
            model.edge_probabilities_,
            model.edge_intervals_,
            model.adjacency_,
            model.precision_,
            model.samples_,
            model.reasons_,
            model.diagnostics_,
            tuple(model.notes_),
            model.prior_card_,
            run or {},
            model.trace_,
            getattr(model, "check_", None),
        )

    @property
    def U(self) -> Mask:
        """The unknown pairs."""
        return unknown_mask(self.known)

    @property
    def O(self) -> Mask:  # noqa: E743 (the paper's letter)
        """The observed pairs."""
        return observed_mask(self.known)

    @property
    def threshold(self) -> float:
        """The probability at which a pair is reported as an edge."""
        return float(self.diagnostics.threshold)

    @property
    def partial_correlations(self) -> Matrix:
        """Of the Gaussian fitted to the estimated graph."""
        return partial_correlations(self.precision)

    @property
    def meaning(self) -> str:
        """What the numbers are: with the plug-in likelihood a share of draws, no probability."""
        if self.diagnostics.is_plugged_in:
            return "share of the drawn graphs that have the edge"
        return "probability of an edge"

    def to_networkx(self) -> nx.Graph:
        """The estimated graph; edges carry probability and partial correlation."""
        return as_networkx(
            self.adjacency,
            self.names,
            probability=self.edge_probabilities,
            partial_correlation=self.partial_correlations,
            known=self.O,
        )

    def to_pandas(self) -> pd.DataFrame:
        """Every pair, likeliest first."""
        return self.edge_table()

    def to_igraph(self) -> Any:
        """The estimated graph as igraph has it."""
        return as_igraph(self.to_networkx())

    def to_arviz(self) -> Any:
        """The graphs drawn, for ArviZ: ``edge`` by chain, draw and pair."""
        return as_arviz(self.samples, self.names)

    @cached_property
    def places(self) -> Matrix:
        """(n, 2): where the nodes stand in every picture."""
        return places(self.adjacency)

    def edge_table(self) -> pd.DataFrame:
        """Every pair, likeliest first."""
        return self._table.copy()

    @cached_property
    def _table(self) -> pd.DataFrame:
        rows, cols = pairs(len(self.names))
        names = np.array(self.names, dtype=object)
        low, high = self.edge_intervals[:, rows, cols]
        # Without draws there are no bounds from drawing, which is not a width of zero.
        bounds = {"low": low, "high": high} if len(self.samples) else {}
        columns = {
            "source": names[rows],
            "target": names[cols],
            "probability": self.edge_probabilities[rows, cols],
            **bounds,
            "edge": self.adjacency[rows, cols].astype(int),
            "known": self.O[rows, cols].astype(int),
            "partial_correlation": self.partial_correlations[rows, cols],
        }
        if self.reasons is not None:
            for name, log_odds in self.reasons._asdict().items():
                told = np.where(self.U, log_odds, np.nan)
                columns[f"{name}_log_odds"] = told[rows, cols]
        table: pd.DataFrame = pd.DataFrame(columns).sort_values(
            "probability", ascending=False, kind="stable", ignore_index=True
        )
        return table
