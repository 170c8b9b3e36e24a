"""Pictures: axes in, axes out; colours that the colour-blind can tell apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
from matplotlib.figure import Figure

from graphprior.errors import GraphPriorError
from graphprior.graphs import Matrix
from graphprior.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KNOWN, FOUND, UNKNOWN = "#3b3b3b", "#0072b2", "#e69f00"
SETS = (FOUND, UNKNOWN, "#009e73", "#cc79a7")
CELLS = "cividis"


def layout(A: Matrix, names: tuple[str, ...]) -> dict[str, Any]:
    """A place for each node that depends on the graph alone."""
    graph = nx.relabel_nodes(nx.from_numpy_array(A), dict(enumerate(names)))
    places: dict[str, Any] = nx.spring_layout(graph, seed=1, iterations=200)
    return places


def plot_graph(
    ax: Axes,
    P: Matrix,
    names: tuple[str, ...],
    places: dict[str, Any],
    mask: Matrix,
    colour: str,
    labels: bool = True,
) -> Axes:
    """Edges of ``mask`` as lines whose width and opacity are their probability ``P``."""
    rows, cols = np.nonzero(np.triu(mask, 1))
    for i, j in zip(rows, cols, strict=True):
        (x0, y0), (x1, y1) = places[names[i]], places[names[j]]
        p = float(P[i, j])
        ax.plot([x0, x1], [y0, y1], color=colour, alpha=0.2 + 0.8 * p, lw=0.5 + 2.5 * p, zorder=1)
    xy = np.array([places[name] for name in names])
    ax.scatter(xy[:, 0], xy[:, 1], s=60, color="white", edgecolor=KNOWN, zorder=2)
    if labels and len(names) <= 60:
        for name, (x, y) in places.items():
            ax.annotate(
                name, (x, y), textcoords="offset points", xytext=(5, 4), fontsize=7, zorder=3
            )
    ax.set_axis_off()
    return ax


def plot_known(ax: Axes, known: Matrix, names: tuple[str, ...], places: dict[str, Any]) -> Axes:
    """What was known: edges, and unknown pairs as faint lines (their number when too many)."""
    unknown = np.isnan(known)
    np.fill_diagonal(unknown, False)
    if unknown.sum() <= 1000:
        plot_graph(ax, np.zeros(known.shape), names, places, unknown, UNKNOWN, labels=False)
    plot_graph(ax, np.ones(known.shape), names, places, known == 1, KNOWN)
    edges = int(np.nansum(known) // 2)
    ax.set_title(f"known: {edges} edges (dark); {unknown.sum() // 2} pairs unknown", fontsize=9)
    return ax


def plot_found(ax: Axes, model: Any, places: dict[str, Any]) -> Axes:
    """Known edges, and found ones by probability."""
    result = Result.of(model)
    known = result.known
    plot_graph(ax, np.ones(known.shape), result.names, places, known == 1, KNOWN, labels=False)
    found = (result.adjacency == 1) & result.U
    plot_graph(ax, result.edge_probabilities, result.names, places, found, FOUND)
    ax.set_title(f"found: {found.sum() // 2} more edges (blue, thicker is likelier)", fontsize=9)
    return ax


def plot_probabilities(ax: Axes, model: Any) -> Axes:
    """The matrix of edge probabilities; dots mark what was known."""
    result = Result.of(model)
    image = ax.imshow(result.edge_probabilities, vmin=0, vmax=1, cmap=CELLS)
    rows, cols = np.nonzero(result.O)
    ax.scatter(cols, rows, s=3, color="#d55e00", marker="s", linewidths=0)
    names = result.names
    if len(names) <= 30:
        ax.set_xticks(range(len(names)), names, rotation=90, fontsize=6)
        ax.set_yticks(range(len(names)), names, fontsize=6)
    ax.figure.colorbar(image, ax=ax, shrink=0.7, label=result.meaning)
    ax.set_title(f"how sure: {result.meaning} (dot: known)", fontsize=9)
    return ax


def _likeliest(result: Result, most: int) -> tuple[Any, Any, list[str]]:
    """The unknown pairs that are likeliest to be edges, and their labels."""
    rows, cols = np.nonzero(np.triu(result.U))
    order = np.argsort(-result.edge_probabilities[rows, cols], kind="stable")[:most]
    rows, cols = rows[order], cols[order]
    names = result.names
    return rows, cols, [f"{names[i]} – {names[j]}" for i, j in zip(rows, cols, strict=True)]


def plot_reasons(ax: Axes, model: Any, most: int = 25) -> Axes:
    """Why: log-odds of the likeliest unknown pairs, from the prior and from the data."""
    result = Result.of(model)
    if result.reasons is None:
        raise GraphPriorError("this result has no reasons: engines 'direct' and 'gibbs' give them")
    rows, cols, labels = _likeliest(result, most)
    y = np.arange(len(rows))[::-1]
    parts = {
        "known part and other pairs": (result.reasons.prior, FOUND),
        "data": (result.reasons.data, UNKNOWN),
        "being hidden": (result.reasons.hidden, "#999999"),
    }
    if result.reasons.belief.any():
        parts["belief"] = (result.reasons.belief, "#009e73")
    height = 0.75 / len(parts)
    for row, (label, (log_odds, colour)) in enumerate(parts.items()):
        value = np.clip(log_odds[rows, cols], -8, 8)
        shift = height * ((len(parts) - 1) / 2 - row)
        ax.barh(y + shift, value, height=height, color=colour, label=label)
    ax.set_yticks(y, labels, fontsize=6)
    ax.axvline(0, color=KNOWN, lw=0.8)
    ax.set_xlabel("log-odds of an edge (cut at 8); the bars of a pair add up", fontsize=8)
    ax.legend(fontsize=7)
    ax.set_title("why: unknown pairs, likeliest first", fontsize=9)
    return ax


def plot_certainty(ax: Axes, model: Any, most: int = 25) -> Axes:
    """The unknown pairs that are likeliest to be edges, with the range that so many draws allow."""
    result = Result.of(model)
    rows, cols, labels = _likeliest(result, most)
    p = result.edge_probabilities[rows, cols]
    low, high = result.edge_intervals[:, rows, cols]
    y = np.arange(len(rows))[::-1]
    ax.errorbar(
        p, y, xerr=[p - low, high - p],
        fmt="o", ms=4, color=FOUND, ecolor="#999999", lw=1,
    )  # fmt: skip
    ax.set_yticks(y, labels, fontsize=6)
    ax.axvline(result.threshold, color=UNKNOWN, lw=1, ls="--")
    ax.set_xlim(-0.02, 1.02)
    bar = "bar: 95% range that so many draws allow; " if len(result.samples) else ""
    ax.set_xlabel(f"{result.meaning} ({bar}dashed: threshold)", fontsize=8)
    ax.set_title("unknown pairs, likeliest first", fontsize=9)
    return ax


def picture(model: Any) -> Figure:
    """What was known, what was found, and how sure it is, on one page."""
    result = Result.of(model)
    places = layout(result.adjacency, result.names)
    figure = Figure(figsize=(13, 11), layout="constrained")
    axes = figure.subplots(2, 2)
    plot_known(axes[0, 0], result.known, result.names, places)
    plot_found(axes[0, 1], result, places)
    plot_probabilities(axes[1, 0], result)
    if result.reasons is None:
        plot_certainty(axes[1, 1], result)
    else:
        plot_reasons(axes[1, 1], result)
    figure.suptitle(_headline(result), fontsize=10)
    return figure


def _headline(result: Result) -> str:
    facts = result.diagnostics
    words = [
        f"{facts['n']} variables, {facts['k']} observations, {facts['unknown_pairs']} unknown pairs"
    ]
    if len(result.samples):
        words.append(f"{len(result.samples)} graphs drawn")
    if not facts.get("mle_exists", True):
        words.append("too few observations, covariance shrunk")
    gain = facts["prior_gain"]
    if gain is not None:
        words.append(
            f"the prior gains {gain['bits']:.2f} ± {gain['standard_error']:.2f} bits a pair over "
            "the edge rate"
        )
    return "; ".join(words)


def plot_degree_histograms(sets: dict[str, dict[str, Any]]) -> Figure:
    """Degree histograms of sets of graphs next to each other."""
    figure = Figure(figsize=(7, 3.5), layout="constrained")
    ax = figure.subplots()
    width = 0.8 / len(sets)
    for s, ((name, facts), colour) in enumerate(zip(sets.items(), SETS, strict=False)):
        histogram = np.asarray(facts["degree_histogram"])
        label = f"{name}: density {facts['density']:.3f}, clustering {facts['clustering']:.3f}"
        ax.bar(np.arange(len(histogram)) + s * width, histogram, width, color=colour, label=label)
    ax.set_xlabel("degree")
    ax.set_ylabel("share of nodes")
    ax.legend(fontsize=8)
    return figure
