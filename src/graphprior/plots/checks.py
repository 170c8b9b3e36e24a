"""Checks: do probabilities mean what they say, and did the chains settle."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import MaxNLocator

from graphprior.engines.facts import GibbsFacts
from graphprior.engines.posterior import share_interval
from graphprior.errors import GraphPriorError
from graphprior.graphs.matrices import check_adjacency
from graphprior.observations.checks import match_names
from graphprior.plots.canvas import FOUND, GREY, KNOWN, SETS, canvas
from graphprior.results.metrics import on_unknown, reliability
from graphprior.results.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Bins = Iterable[tuple[float, float, int]]  # mean probability, share of edges, pairs


def plot_reliability(model: Any, truth: Any, bins: int = 10, ax: Axes | None = None) -> Axes:
    """Probability of the unknown pairs against the share that are edges of the ``truth``."""
    result = Result.of(model)
    if hasattr(truth, "columns"):
        truth = match_names(truth, result.names, "truth")
    A = check_adjacency(truth, "truth")
    if A.shape != result.known.shape:
        raise GraphPriorError(f"truth has shape {A.shape}: expected {result.known.shape}")
    found = reliability(
        on_unknown(A, result.U), on_unknown(result.edge_probabilities, result.U), bins
    )
    return plot_bins({f"{result.U.sum() // 2} pairs": found}, ax)


def plot_bins(bins: Mapping[str, Bins], ax: Axes | None = None) -> Axes:
    """The diagram of the bins of `results.metrics.reliability`, with 95% bounds of each share."""
    ax = canvas(ax, 4.5, 4.2)
    ax.plot([0, 1], [0, 1], color=GREY, lw=0.8)
    for (name, rows), colour in zip(bins.items(), cycle(SETS), strict=False):
        p, share, pairs = np.array(list(rows), dtype=float).reshape(-1, 3).T
        low, high = share_interval(share, pairs)
        bars = [share - low, high - share]
        ax.errorbar(p, share, yerr=bars, color=colour, marker="o", ms=4, label=name)
    ax.set_ylim(-0.03, 1.03)
    ax.set_xlabel("probability given")
    ax.set_ylabel("share of such pairs that are edges")
    ax.legend(fontsize=8)
    return ax


def plot_traces(model: Any, most: int = 50, ax: Axes | None = None) -> Axes:
    """Edges among the pairs drawn in each chain as it ran, ``most`` chains, and their mean.

    Chains that are done have a mean that no longer drifts, and mix.
    """
    result, ax = Result.of(model), canvas(ax, 6, 3.5)
    M, times = result.trace.shape
    if not M:
        raise GraphPriorError("no chain ran, so there is no trace: engines 'gibbs' and 'langevin'")
    t = np.arange(times)
    ax.plot(t, result.trace[:most].T, color=FOUND, lw=0.8, alpha=max(0.15, 1 / np.sqrt(M)))
    ax.plot(t, result.trace.mean(0), color=KNOWN, lw=2, label=f"mean of {M} chains")
    found = result.diagnostics.posterior
    kept = found.kept_sweeps if isinstance(found, GibbsFacts) else None
    if kept is not None:
        ax.axvspan(times - kept - 0.5, times - 0.5, color=GREY, alpha=0.15, lw=0, label="kept")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("noise level, from the loudest" if kept is None else "sweep (0: the start)")
    ax.set_ylabel("edges among unknown pairs")
    ax.legend(fontsize=8)
    ax.set_title("chains as they ran", fontsize=9)
    return ax
