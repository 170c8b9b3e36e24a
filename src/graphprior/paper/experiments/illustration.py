"""Figure 1: observations, what is known, Theta_hat, graphs drawn, their mean, the estimate."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from graphprior.engines.langevin import Langevin
from graphprior.estimator import PartialGGM
from graphprior.gaussian.linalg import partial_correlations
from graphprior.graphs.matrices import pairs
from graphprior.io.atomic import write_whole
from graphprior.paper.baselines.langevin import prior_once
from graphprior.paper.experiments.folder import (
    ROWS,
    claim,
    save_figure,
    save_provenance,
    save_table,
)
from graphprior.paper.experiments.run import Options, Report
from graphprior.paper.experiments.spec import Spec
from graphprior.priors.noise import Schedule
from graphprior.problem.problem import Problem
from graphprior.results.metrics import auc, f1, on_unknown
from graphprior.types import Matrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN = 2  # graphs drawn that are shown


def _panel(ax: Axes, M: Any, title: str, cmap: str, low: float, high: float) -> None:
    ax.imshow(M, cmap=cmap, vmin=low, vmax=high, interpolation="nearest", aspect="auto")
    ax.set_title(title, fontsize=8)
    ax.set_xticks([])
    ax.set_yticks([])


def draw_steps(problem: Problem, A: Matrix, models: dict[str, PartialGGM]) -> Figure:
    """One row of panels for each model, from the observations to the estimate."""
    columns = 6 + SHOWN
    figure = Figure(figsize=(1.55 * columns, 1.75 * len(models)), layout="constrained")
    axes = figure.subplots(len(models), columns, squeeze=False)
    for row, (name, model) in zip(axes, models.items(), strict=True):
        known = np.where(problem.U, 0.5, problem.known)
        scale = float(np.abs(problem.X).max())
        _panel(row[0], problem.X, f"{name}\nX, k = {problem.k}", "PuOr", -scale, scale)
        _panel(row[1], known, "known part\n(grey: unknown)", "gray_r", 0, 1)
        assert model.Theta_hat_ is not None  # both models look at the data
        Theta = partial_correlations(model.Theta_hat_)
        _panel(row[2], Theta, "Theta_hat\n(partial corr.)", "PuOr", -1, 1)
        for s in range(SHOWN):
            _panel(row[3 + s], model.samples_[s], f"graph drawn {s + 1}", "gray_r", 0, 1)
        _panel(row[3 + SHOWN], model.edge_probabilities_, "mean", "cividis", 0, 1)
        tau = f"estimate\n(tau = {model.threshold_:.2f})"
        _panel(row[4 + SHOWN], model.adjacency_, tau, "gray_r", 0, 1)
        _panel(row[5 + SHOWN], A, "truth", "gray_r", 0, 1)
    return figure


@dataclass(frozen=True)
class Illustration:
    """One problem, step by step: the paper's method, and ours."""

    name: str
    title: str
    spec: Spec
    graph: int
    x: float

    def run(self, out: Path, options: Options, report: Report) -> str:
        """Solve the problem both ways and draw the steps."""
        options.refuse_choice(self.name)
        A = self.spec.graph("test", self.graph)
        spec = options.of(self.spec)
        claim(out, self.name, spec, options.replace)
        save_provenance(out, {"graph": self.graph, "x": self.x, "T": spec.T})
        problem = spec.problem(self.x, A, "test", self.graph)
        models = self.models(problem, spec.T, report)
        save_figure(out / "figure.png", draw_steps(problem, A, models))
        save_table(out / ROWS, self.rows(problem, A, models))
        words = self.table(problem, A, models)
        write_whole(out / "table.md", words.encode())
        return words

    def models(self, problem: Problem, T: int, report: Report) -> dict[str, PartialGGM]:
        """The fitted estimators by name."""
        made = {
            "LPost": PartialGGM(
                prior_once(self.spec.priors["edp-gnn"]),
                engine=Langevin(schedule=Schedule.linear(T=T), bootstrap=None),
            ),
            "gibbs": PartialGGM(
                prior_once(self.spec.priors["evidence"]), engine="gibbs", prior_weight="full"
            ),
        }  # fmt: skip
        for name, model in made.items():
            model.set_params(
                random_state=self.spec.seeds(name), verbose=lambda a, b, w=name: report(a, b, w)
            )
            model.fit(problem.X, known=problem.known)
        return made

    def rows(self, problem: Problem, A: Matrix, models: dict[str, PartialGGM]) -> pd.DataFrame:
        """Every unknown pair: truth and probability."""
        i, j = pairs(problem.n)
        unknown = problem.U[i, j]
        found = [
            pd.DataFrame({
                "figure": self.name, "method": name, "source": i[unknown], "target": j[unknown],
                "truth": A[i, j][unknown].astype(int),
                "probability": model.edge_probabilities_[i, j][unknown],
            })
            for name, model in models.items()
        ]  # fmt: skip
        return pd.concat(found)

    def table(self, problem: Problem, A: Matrix, models: dict[str, PartialGGM]) -> str:
        """F1 and AUC of this one problem."""
        truth = on_unknown(A, problem.U)
        lines = [
            f"# {self.title}", "",
            f"Test graph {self.graph}: n = {problem.n}, k = {problem.k}, {len(truth)} unknown "
            f"pairs of which {int(truth.sum())} are edges. One problem proves nothing.", "",
            "| method | F1 | AUC |", "|---|---|---|",
        ]  # fmt: skip
        for name, model in models.items():
            scores = on_unknown(model.edge_probabilities_, problem.U)
            found = on_unknown(model.adjacency_, problem.U) == 1
            lines.append(f"| {name} | {f1(truth, found):.3f} | {auc(truth, scores):.3f} |")
        return "\n".join(lines) + "\n"
