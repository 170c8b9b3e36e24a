"""Ours next to published: the figure and the table of a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from graphprior.paper.experiments.published import SHOWN_AS, curve, published_methods
from graphprior.paper.experiments.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.axes import Axes

# Okabe and Ito's colours first (their yellow darkened), then others: as many as a figure has
# methods. Not all can be told apart without colour vision, so markers differ too.
COLOURS = (
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#b8a800", "#000000",
    "#777777", "#7b3294", "#8c510a", "#01665e", "#c51b7d", "#66a61e", "#1f3a93", "#f4a582",
)  # fmt: skip
MARKERS = "os^Dvp*XP<>hd"
VARIANTS = {"(relaxed)": ":", "relaxed; ": ":", "(one sample)": "-."}


def styles(methods: list[str]) -> dict[str, dict[str, str]]:
    """Colour, marker and line of each method; a variant keeps them but for the line."""
    own = list(dict.fromkeys(_plain(m)[0] for m in methods))
    return {
        m: {
            "color": COLOURS[own.index(plain) % len(COLOURS)],
            "marker": MARKERS[own.index(plain) % len(MARKERS)],
            "linestyle": line,
        }
        for m, (plain, line) in ((m, _plain(m)) for m in methods)
    }


def _plain(method: str) -> tuple[str, str]:
    """The method of which it is a variant, and the line that tells them apart."""
    for words, line in VARIANTS.items():
        if words in method:
            return method.replace(words, ""), line
    return method, "-"


def draw(spec: Spec, summary: pd.DataFrame) -> Figure:
    """Two panels with one scale: what was run here, and what was published."""
    methods = list(dict.fromkeys([*summary["method"], *published_methods(spec.name)]))
    style = styles(methods)
    figure = Figure(figsize=(11, 5.4), layout="constrained")
    run_here, in_paper = figure.subplots(1, 2, sharey=True)
    for method in methods:
        mine = summary[(summary["method"] == method) & summary["value"].notna()]
        theirs = {} if method in SHOWN_AS else curve(spec.name, method)
        if len(mine):
            few = int(mine["graphs"].min())
            label = method if few >= spec.graphs else f"{method} ({few} graphs)"
            run_here.errorbar(
                mine["x"], mine["value"], yerr=mine["sd"], label=label, ms=5, lw=1.5, capsize=2,
                **style[method],
            )  # fmt: skip
        if theirs:
            for ax in (run_here, in_paper) if len(mine) else (in_paper,):
                ax.plot(
                    list(theirs), list(theirs.values()), lw=1, ms=4,
                    alpha=0.35 if ax is run_here else 1.0,
                    label=method if ax is in_paper else None,
                    **style[method] | {"linestyle": "--"},
                )  # fmt: skip
    figure.suptitle(spec.title, fontsize=10)
    run_here.set_title("run here (faint: the same method as published)", fontsize=9)
    in_paper.set_title("published", fontsize=9)
    run_here.set_ylabel(spec.metric)
    for ax in (run_here, in_paper):
        _x_axis(ax, spec)
        if ax.has_data():  # below, where it covers no curve
            ax.legend(
                fontsize=7, ncols=3, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.14)
            )
    return figure


def _x_axis(ax: Axes, spec: Spec) -> None:
    if max(spec.xs) > 5 * min(spec.xs) and not spec.unknown.moves_with_x:
        in_logarithms(ax, spec.xs)
    ax.set_xlabel(spec.x_name)
    ax.grid(alpha=0.25)


def in_logarithms(ax: Axes, xs: Iterable[float]) -> None:
    """A logarithmic x axis with ticks at ``xs`` alone."""
    ticks = list(xs)
    ax.set_xscale("log")
    ax.set_xticks(ticks, [f"{x:g}" for x in ticks])
    ax.minorticks_off()


def table(spec: Spec, summary: pd.DataFrame) -> str:
    """Markdown: a row for each method, its value at each x and the published one in brackets."""
    xs = list(spec.xs)
    lines = [
        f"# {spec.title}",
        "",
        f"{spec.metric} on the unknown pairs against {spec.x_name}: mean ± spread over "
        + ("graphs (standard error)" if spec.metric == "auc" else f"{spec.splits} splits")
        + "; published in brackets.",
        "",
        f"| method | graphs | {' | '.join(f'{x:g}' for x in xs)} | CPU s |",
        "|---" * (len(xs) + 3) + "|",
    ]
    for method in dict.fromkeys([*summary["method"], *published_methods(spec.name)]):
        mine = summary[summary["method"] == method]
        cells = [_cell(mine[mine["x"] == x], curve(spec.name, method).get(x)) for x in xs]
        seconds = f"{mine['seconds'].mean():.2f}" if len(mine) else "-"
        graphs = _range(mine["graphs"]) if len(mine) else "not run"
        lines.append(f"| {_escape(method)} | {graphs} | {' | '.join(cells)} | {seconds} |")
    failed = summary[summary["failed"] > 0]
    for row in failed.itertuples():
        lines += ["", f"{_escape(str(row.method))} failed on {row.failed} problems at x = {row.x}."]
    return "\n".join(lines) + "\n"


def _escape(method: str) -> str:
    return method.replace("|", "\\|")


def _range(counts: pd.Series) -> str:
    low, high = int(counts.min()), int(counts.max())
    return str(low) if low == high else f"{low}-{high}"


def _cell(point: pd.DataFrame, theirs: float | None) -> str:
    words = "" if theirs is None else f" ({theirs:.3f})"
    value, sd = point["value"].to_numpy(), point["sd"].to_numpy()
    if not len(value) or np.isnan(value[0]):
        return f"-{words}"
    return f"{value[0]:.3f} ± {sd[0]:.3f}{words}"
