"""Graphs: what was known, and what was found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.patheffects import withStroke

from graphprior.plots.canvas import FOUND, KNOWN, LABELS, UNKNOWN, canvas, shortened
from graphprior.results.result import Result
from graphprior.types import Mask, Matrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Places = dict[str, Any]
MOST_FAINT = 1000  # unknown pairs that are drawn as faint lines; more would be a blot


def layout(model: Any) -> Places:
    """A place for each node that depends on the graph alone, as in the report."""
    result = Result.of(model)
    return dict(zip(result.names, result.places, strict=True))


def draw_edges(
    ax: Axes, P: Matrix, mask: Mask, names: tuple[str, ...], places: Places, colour: str
) -> None:
    """Edges of ``mask`` as lines whose width and opacity are their probability ``P``."""
    xy = np.array([places[name] for name in names])
    rows, cols = np.nonzero(np.triu(mask, 1))
    if not len(rows):
        return
    p, thin = P[rows, cols], min(1.0, (40 / len(names)) ** 0.5)
    ax.add_collection(
        LineCollection(
            list(np.stack([xy[rows], xy[cols]], axis=1)),
            colors=colour,
            alpha=0.2 + 0.8 * p,
            linewidths=thin * (0.5 + 2.5 * p),
            zorder=1,
        )
    )


def draw_nodes(ax: Axes, names: tuple[str, ...], places: Places) -> None:
    """Nodes, with their names unless these are too many to be read."""
    n = len(names)
    xy = np.array([places[name] for name in names])
    ax.scatter(
        xy[:, 0], xy[:, 1], s=np.clip(1500 / n, 8, 60), color="white", edgecolor=KNOWN,
        linewidths=1 if n <= LABELS else 0.6, zorder=2,
    )  # fmt: skip
    halo = [withStroke(linewidth=2, foreground="white")]
    for name, point, (dx, dy) in zip(names, xy, _free_side(xy), strict=True) if n <= LABELS else ():
        ax.annotate(
            shortened(name), point, textcoords="offset points", xytext=(6 * dx, 6 * dy), zorder=3,
            ha="left" if dx > 0 else "right", va="bottom" if dy > 0 else "top",
            fontsize=8 if n <= 20 else 6, path_effects=halo,
        )  # fmt: skip
    ax.margins(0.08)
    ax.set_axis_off()


def _free_side(xy: Matrix) -> Matrix:
    """For each node the direction away from the others, the near ones most: room for its name."""
    apart = xy[:, None] - xy[None]
    distance = np.linalg.norm(apart, axis=-1, keepdims=True) + 1e-9
    away = (apart / distance**3).sum(1)
    free: Matrix = away / (np.linalg.norm(away, axis=-1, keepdims=True) + 1e-9)
    return free


def plot_known(model: Any, places: Places | None = None, ax: Axes | None = None) -> Axes:
    """What was known: edges, and unknown pairs as faint lines (their number when too many)."""
    result, ax = Result.of(model), canvas(ax)
    names, U = result.names, result.U
    places = layout(result) if places is None else places
    faint = U.sum() // 2 <= MOST_FAINT
    if faint:
        strength = np.full(U.shape, min(0.4, 40 / max(U.sum(), 1)))
        draw_edges(ax, strength, U, names, places, UNKNOWN)
    draw_edges(ax, np.ones(U.shape), result.known == 1, names, places, KNOWN)
    draw_nodes(ax, names, places)
    edges = int(np.nansum(result.known) // 2)
    shown = "orange" if faint else "not drawn"
    title = f"known: {edges} edges (dark); {U.sum() // 2} pairs unknown ({shown})"
    ax.set_title(title, fontsize=9)
    return ax


def plot_graph(model: Any, places: Places | None = None, ax: Axes | None = None) -> Axes:
    """The estimated graph: known edges, and found ones by probability."""
    result, ax = Result.of(model), canvas(ax)
    names = result.names
    places = layout(result) if places is None else places
    found = (result.adjacency == 1) & result.U
    draw_edges(ax, np.ones(found.shape), result.known == 1, names, places, KNOWN)
    draw_edges(ax, result.edge_probabilities, found, names, places, FOUND)
    draw_nodes(ax, names, places)
    ax.set_title(f"found: {found.sum() // 2} more edges (blue, thicker is likelier)", fontsize=9)
    return ax
