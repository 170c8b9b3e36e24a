"""What a fitted estimator can be asked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
import pandas as pd
from sklearn import get_config
from sklearn.utils.validation import check_is_fitted, validate_data

from graphprior._parameters import generator, position
from graphprior.choices import Missing
from graphprior.diagnosis.explain import Explanation, explain_pair
from graphprior.diagnosis.self_check import SelfCheck, check_model
from graphprior.engines.draws import draw_together
from graphprior.errors import GraphPriorError
from graphprior.gaussian.simulate import row_log_densities
from graphprior.results.result import Result
from graphprior.results.summaries import posterior_summary
from graphprior.types import Graphs, Matrix, Progress, Vector

if TYPE_CHECKING:
    from graphprior.report.page import Answer


class Answers:
    """Methods of `PartialGGM` that read what `fit` left, and change nothing of it."""

    def explain(self, source: Any, target: Any, changes: int = 5) -> Explanation:
        """Why the pair of two variables, by name or position, has its probability."""
        model = self._fitted()
        i, j = (position(node, model.problem_.names) for node in (source, target))
        return explain_pair(
            model.problem_, model.prior_used_, model.evidence_, model.reasons_,
            model.edge_probabilities_, (i, j), changes, model.prior_gains_,
        )  # fmt: skip

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-likelihood of the rows of ``X`` under the Gaussian fitted to the graph found.

        It judges ``precision_`` and ``location_``; ``y`` is ignored. A row with
        missing entries counts by those that are there.
        """
        model = self._fitted()
        finite = "allow-nan" if model.missing != Missing.REFUSE else True
        Z = validate_data(model, X, dtype=np.float64, reset=False, ensure_all_finite=finite)
        return float(row_log_densities(Z - model.location_, model.precision_).mean())

    def get_precision(self) -> Matrix:
        """The precision matrix of the graph found, as scikit-learn's covariance estimators do."""
        precision: Matrix = self._fitted().precision_
        return precision

    def mahalanobis(self, X: Any) -> Vector:
        """Squared Mahalanobis distances of the rows of ``X`` from ``location_``."""
        model = self._fitted()
        Z = validate_data(model, X, dtype=np.float64, reset=False) - model.location_
        distances: Vector = ((Z @ model.precision_) * Z).sum(axis=1)
        return distances

    def draw(self, count: int, random_state: Any = None) -> tuple[Graphs, Matrix]:
        """Graphs and precision matrices (count, n, n) drawn from the posterior together.

        Graphs agree with what is known; precision matrices have the units of the columns of X.
        Draws of `direct` with a learned prior take pairs as independent given what the prior says
        of each; those of `gibbs` are among its graphs.
        """
        model = self._fitted()
        if count < 1:
            raise GraphPriorError(f"count = {count}: expected an integer of at least 1")
        prior, evidence, reasons = model.prior_used_, model.evidence_, model.reasons_
        if evidence is None or reasons is None:
            raise GraphPriorError(
                "precision matrices are drawn from what was fitted with engine 'direct' or 'gibbs' "
                "to data with unknown pairs"
            )
        rng = generator(random_state)
        return draw_together(evidence, prior, reasons, model.samples_, count, rng)

    def to_networkx(self) -> nx.Graph:
        """The estimated graph; edges carry probability and partial correlation."""
        return Result.of(self._fitted()).to_networkx()

    def to_pandas(self) -> pd.DataFrame:
        """Every pair, likeliest first: probability, interval, reasons."""
        return Result.of(self._fitted()).to_pandas()

    def to_igraph(self) -> Any:
        """The estimated graph as igraph has it."""
        return Result.of(self._fitted()).to_igraph()

    def to_arviz(self) -> Any:
        """The graphs drawn, for ArviZ: ``edge`` by chain, draw and pair."""
        return Result.of(self._fitted()).to_arviz()

    def summary(self, what: Any = "degree", level: float = 0.95) -> pd.DataFrame:
        """Posterior mean, spread and interval of quantities of the graph: `posterior_summary`."""
        return posterior_summary(self._fitted(), what, level)

    def check(
        self,
        simulations: int = 20,
        random_state: Any = None,
        jobs: int = 1,
        progress: Progress | None = None,
    ) -> SelfCheck:
        """Whether probabilities mean what they say on this problem: `check_model`.

        Data sets are simulated from the posterior and fitted again, each at the cost of `fit`.
        ``check_`` keeps the answer until the next `fit`, and the report shows it.
        """
        model = self._fitted()
        found = check_model(model, simulations, random_state, jobs, progress)
        self._self_check = (model.problem_, found)
        return found

    @property
    def check_(self) -> SelfCheck:
        """The answer of `check`; there is none before it, nor after another `fit`."""
        problem, found = vars(self).get("_self_check", (None, None))
        if problem is None or problem is not vars(self).get("problem_"):
            raise AttributeError("check_: this fit was not checked; call check() first")
        checked: SelfCheck = found
        return checked

    def report(self, path: str | Path, answers: Sequence[Answer] | None = None) -> Path:
        """Write the interactive report, one HTML file; ``answers`` replace the usual tables."""
        from graphprior.report.page import write_report  # slow to import

        return write_report(self._fitted(), path, answers)

    def _repr_html_inner(self) -> str:
        """What a notebook shows: the result once fitted, until then scikit-learn's diagram."""
        if not hasattr(self, "edge_probabilities_"):
            diagram: str = super()._repr_html_inner()  # type: ignore[misc]
            return diagram
        from graphprior.report.card import result_card

        return result_card(Result.of(self))

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        """As scikit-learn's, which does not ask `_repr_html_`."""
        shown = {"text/plain": repr(self)}
        if get_config()["display"] == "diagram":
            shown["text/html"] = self._repr_html_inner()
        return shown

    def _fitted(self) -> Any:
        check_is_fitted(self)
        return self
