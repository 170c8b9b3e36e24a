"""Pairs: how likely each is an edge, why, and how sure that is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from graphprior.engines.posterior import Reasons
from graphprior.errors import GraphPriorError
from graphprior.plots.canvas import (
    CELLS,
    FOUND,
    GREY,
    KNOWN,
    MARK,
    SETS,
    UNKNOWN,
    canvas,
    list_down,
    shortened,
)
from graphprior.results.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TICKS = 36  # names at the sides of a matrix that can be read
CUT = 8.0  # log-odds beyond are as good as certain
WORDS = {"prior": "known part and other pairs", "data": "data", "hidden": "being hidden"}
BARS = {"prior": FOUND, "data": UNKNOWN, "hidden": GREY}


def plot_probabilities(model: Any, ax: Axes | None = None) -> Axes:
    """The matrix of edge probabilities; dots mark what was known."""
    result, ax = Result.of(model), canvas(ax)
    names, n = result.names, len(result.names)
    image = ax.imshow(result.edge_probabilities, vmin=0, vmax=1, cmap=CELLS)
    rows, cols = np.nonzero(result.O)
    ax.scatter(cols, rows, s=min(16.0, (90 / n) ** 2), color=MARK, marker="s", linewidths=0)
    if n <= TICKS:
        size = 7 if n <= 25 else 5
        ax.set_xticks(range(n), [shortened(name) for name in names], rotation=90, fontsize=size)
        ax.set_yticks(range(n), [shortened(name) for name in names], fontsize=size)
    ax.figure.colorbar(image, ax=ax, shrink=0.7, label=result.meaning)
    ax.set_title(f"how sure: {result.meaning} (dot: known)", fontsize=9)
    return ax


def _likeliest(result: Result, most: int) -> tuple[Any, Any, list[str]]:
    """The unknown pairs that are likeliest to be edges, and their labels."""
    rows, cols = np.nonzero(np.triu(result.U))
    order = np.argsort(-result.edge_probabilities[rows, cols], kind="stable")[:most]
    rows, cols = rows[order], cols[order]
    names = [shortened(name) for name in result.names]
    return rows, cols, [f"{names[i]} – {names[j]}" for i, j in zip(rows, cols, strict=True)]


def _reasons(result: Result) -> Reasons:
    if result.reasons is None:
        raise GraphPriorError("this result has no reasons: engines 'direct' and 'gibbs' give them")
    return result.reasons


def plot_reasons(model: Any, most: int = 25, ax: Axes | None = None) -> Axes:
    """Why: log-odds of the likeliest unknown pairs, from each source of evidence."""
    result, ax = Result.of(model), canvas(ax)
    parts = {n: part for n, part in _reasons(result)._asdict().items() if n in WORDS or part.any()}
    rows, cols, labels = _likeliest(result, most)
    y = np.array(list_down(ax, labels), dtype=float)
    height = 0.8 / len(parts)
    for b, (name, log_odds) in enumerate(parts.items()):
        value = np.clip(log_odds[rows, cols], -CUT, CUT)
        shift = 0.4 - (b + 0.5) * height
        colour, words = BARS.get(name, SETS[2]), WORDS.get(name, name)
        ax.barh(y + shift, value, height=height, color=colour, label=words)
    ax.axvline(0, color=KNOWN, lw=0.8)
    ax.set_xlabel("log-odds of an edge (cut at 8); the bars of a pair add up", fontsize=8)
    ax.legend(fontsize=7)
    ax.set_title("why: unknown pairs, likeliest first", fontsize=9)
    return ax


def plot_certainty(model: Any, most: int = 25, ax: Axes | None = None) -> Axes:
    """The unknown pairs that are likeliest to be edges, with the range that so many draws allow."""
    result, ax = Result.of(model), canvas(ax)
    rows, cols, labels = _likeliest(result, most)
    p = result.edge_probabilities[rows, cols]
    low, high = result.edge_intervals[:, rows, cols]
    ax.errorbar(
        p, list_down(ax, labels), xerr=[p - low, high - p],
        fmt="o", ms=4, color=FOUND, ecolor=GREY, lw=1,
    )  # fmt: skip
    ax.axvline(result.threshold, color=UNKNOWN, lw=1, ls="--")
    ax.set_xlim(-0.02, 1.02)
    bar = "bar: 95% range that so many draws allow; " if len(result.samples) else ""
    ax.set_xlabel(f"{result.meaning}\n({bar}dashed: threshold)", fontsize=8)
    ax.set_title("unknown pairs, likeliest first", fontsize=9)
    return ax


def plot_prior_and_data(model: Any, most: int = 8, ax: Axes | None = None) -> Axes:
    """Every unknown pair by what the prior and what the data say; found edges are named.

    Beyond the line the evidence together favours an edge. Pairs far from both
    axes in the other two corners are those on which prior and data disagree.
    """
    result, ax = Result.of(model), canvas(ax)
    reasons = _reasons(result)
    U = np.triu(result.U)
    other = sum(part for name, part in reasons._asdict().items() if name != "data")
    x, y = (np.clip(np.asarray(part)[U], -CUT, CUT) for part in (other, reasons.data))
    ax.axline((0, 0), slope=-1, color=GREY, lw=0.8, ls="--")
    ax.axhline(0, color=GREY, lw=0.5)
    ax.axvline(0, color=GREY, lw=0.5)
    size, p = np.clip(4000 / max(len(x), 1), 8, 30), result.edge_probabilities[U]
    dots = ax.scatter(x, y, s=size, c=p, vmin=0, vmax=1, cmap=CELLS, lw=0.3, edgecolor=KNOWN)
    ax.figure.colorbar(dots, ax=ax, shrink=0.7, label=result.meaning)
    rows, cols, labels = _likeliest(result, most)
    found = result.adjacency[rows, cols] == 1
    at = np.stack([np.asarray(other)[rows, cols], reasons.data[rows, cols]], axis=1)
    _name_points(ax, np.clip(at[found], -CUT, CUT), np.array(labels, dtype=object)[found])
    ax.set_xlabel("log-odds from known part and other pairs (cut at 8)", fontsize=8)
    ax.set_ylabel("log Bayes factor of the data (cut at 8)", fontsize=8)
    ax.set_title("prior and data (dashed: even odds)", fontsize=9)
    return ax


def _name_points(ax: Axes, points: Any, labels: Any) -> None:
    """Labels beside points, inside the axes; one that would lie on an earlier is left out."""
    named: list[Any] = []
    for point, label in zip(points, labels, strict=True):
        place = ax.transAxes.inverted().transform(ax.transData.transform(point))
        if any((abs(place - other) < (0.35, 0.03)).all() for other in named):
            continue
        named.append(place)
        shift, side = (-5, "right") if place[0] > 0.6 else (5, "left")
        ax.annotate(
            label, point, xytext=(shift, 3), textcoords="offset points", ha=side, fontsize=7
        )
