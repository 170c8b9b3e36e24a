"""Answers: quantities of the graph with their intervals, and degrees of sets of graphs."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from graphprior.errors import GraphPriorError
from graphprior.plots.canvas import FOUND, GREY, KNOWN, SETS, canvas, list_down
from graphprior.results.result import Result
from graphprior.results.summaries import posterior_summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_summary(
    model: Any, what: Any = "degree", level: float = 0.95, most: int = 40, ax: Axes | None = None
) -> Axes:
    """Intervals of one quantity, a row for each node, largest mean first, ``most`` of them."""
    table = posterior_summary(Result.of(model), what, level)
    name, *others = table["quantity"].unique()
    if others:
        raise GraphPriorError(f"{name!r} and {others[0]!r} have no common scale: plot one of them")
    n = len(table)
    table = table.sort_values("mean", ascending=False, kind="stable").head(most)
    ax = canvas(ax, 5.5, 1.2 + 0.18 * len(table))
    y = list_down(ax, [str(node) for node in table["node"].fillna("whole graph")])
    ax.hlines(y, table["low"], table["high"], color=GREY, lw=1.5)
    ax.plot(table["median"], y, ls="", marker="|", ms=8, color=KNOWN, label="median")
    ax.plot(table["mean"], y, ls="", marker="o", ms=4, color=FOUND, label="mean")
    held, draws = table["level"].min(), table["draws"].max()
    ax.set_xlabel(name)
    ax.legend(fontsize=7, loc="lower right")
    shown = f"; the largest {len(table)} of {n}" if len(table) < n else ""
    ax.set_title(f"bars hold {held:.0%}, by {draws} graphs drawn{shown}", fontsize=9)
    return ax


def plot_degree_histograms(sets: dict[str, dict[str, Any]], ax: Axes | None = None) -> Axes:
    """Degree histograms of sets of graphs next to each other."""
    ax = canvas(ax, 7, 3.5)
    width = 0.8 / len(sets)
    for s, ((name, facts), colour) in enumerate(zip(sets.items(), cycle(SETS), strict=False)):
        histogram = np.asarray(facts["degree_histogram"])
        label = f"{name}: density {facts['density']:.3f}, clustering {facts['clustering']:.3f}"
        ax.bar(np.arange(len(histogram)) + s * width, histogram, width, color=colour, label=label)
    ax.set_xlabel("degree")
    ax.set_ylabel("share of nodes")
    ax.legend(fontsize=8)
    return ax
