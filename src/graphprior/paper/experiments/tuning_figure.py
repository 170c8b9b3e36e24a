"""The supplement's tuning figure: F1 against the penalty, and the curve lambda(k)."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from graphprior.batch.work import Journal, journal
from graphprior.io.atomic import write_whole
from graphprior.paper.experiments.folder import (
    JOURNAL,
    ROWS,
    claim,
    log_file,
    save_figure,
    save_penalties,
    save_provenance,
    save_table,
)
from graphprior.paper.experiments.run import Options, Report, tune_lasso
from graphprior.paper.experiments.spec import Spec
from graphprior.paper.experiments.tuning import Tuned, training, tuning_xs
from graphprior.paper.experiments.units import LAMBDAS, tune_unit


def draw_tuning(tuned: Tuned) -> Figure:
    """Left: F1 of each k against lambda. Right: the best lambda of each k and the curve."""
    figure = Figure(figsize=(9.5, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    shades = colormaps["cividis"](np.linspace(0.05, 0.9, len(tuned.k)))
    for k, row, shade in zip(tuned.k, tuned.values, shades, strict=True):
        left.plot(LAMBDAS, row, color=shade, lw=1.3, label=f"k = {k:.0f}")
    left.set_xscale("log")
    left.set_xlabel(r"$\lambda$")
    left.set_ylabel("F1 on training graphs")
    left.legend(fontsize=7)
    right.scatter(tuned.k, tuned.best, c=shades, zorder=2, label="best on training graphs")
    ks = np.geomspace(tuned.k.min(), tuned.k.max(), 100)
    curve = [tuned.penalty(k) for k in ks]
    right.plot(ks, curve, color="#e69f00", label=r"fitted $\lambda(k)$")
    right.set_xscale("log")
    right.set_yscale("log")
    right.set_xticks(tuned.k[::2], [f"{k:.0f}" for k in tuned.k[::2]])
    right.yaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5, 7)))
    right.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    for axis in (right.xaxis, right.yaxis):
        axis.set_minor_locator(NullLocator())
    right.set_xlabel("k")
    right.set_ylabel(r"$\lambda$")
    right.legend(fontsize=8)
    return figure


def tuning_rows(name: str, spec: Spec, lasso: str, kept: Journal) -> pd.DataFrame:
    """F1 of every training problem at every penalty."""
    rows = []
    for x in tuning_xs(spec):
        for g in training(spec):
            result = kept.results[tune_unit(spec, lasso, x, g)[0]]
            for lam, value in zip(LAMBDAS, result["values"], strict=True):
                rows.append((name, lasso, result["k"], g, spec.seed, "f1", value, lam))
    columns = ["figure", "method", "x", "graph", "seed", "metric", "value", "lambda"]
    return pd.DataFrame(rows, columns=columns)


@dataclass(frozen=True)
class TuningFigure:
    """How the penalty of a figure's lasso was chosen."""

    name: str
    title: str
    spec: Spec
    lasso: str

    def run(self, out: Path, options: Options, report: Report) -> str:
        """Tune on training graphs, then draw."""
        options.refuse_choice(self.name)
        spec = options.of(self.spec)
        spec.graph("train", 0)
        claim(out, self.name, spec, options.replace)
        with log_file(out) as log, journal(out / JOURNAL) as kept:
            save_provenance(out, {"lasso": self.lasso, "spec": spec.name})
            tuned = tune_lasso(spec, self.lasso, kept, options.place, report)
            save_table(out / ROWS, tuning_rows(self.name, spec, self.lasso, kept))
            log.info("lambda(k): %s", json.dumps(asdict(tuned.penalty)))
        save_penalties(out, {self.lasso: tuned.penalty})
        words = self.table(tuned, spec)
        write_whole(out / "table.md", words.encode())
        save_figure(out / "figure.png", draw_tuning(tuned))
        return words

    def table(self, tuned: Tuned, spec: Spec) -> str:
        """Best and fitted penalty at each k."""
        p = tuned.penalty
        lines = [
            f"# {self.title}", "",
            f"lambda(k) = 1 / ({p.a:.4g} log(k)^2 + {p.b:.4g} log(k) + {p.c:.4g}), "
            f"{spec.tuning_graphs} training graphs at each k.", "",
            "| k | best lambda | fitted | F1 at best | F1 at fitted |", "|---|---|---|---|---|",
        ]  # fmt: skip
        for k, row, best in zip(tuned.k, tuned.values, tuned.best, strict=True):
            lam = p(round(k))
            at = float(np.interp(np.log(lam), np.log(LAMBDAS), row))
            lines.append(f"| {k:.0f} | {best:.4f} | {lam:.4f} | {row.max():.3f} | {at:.3f} |")
        return "\n".join(lines) + "\n"
