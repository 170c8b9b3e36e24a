"""Pictures of a fitted model or a result: axes in, axes out, no state beside them.

Every ``plot_...(model, ..., ax=None)`` draws on ``ax`` and returns it; without
one it makes a figure of its own (``.figure.savefig(...)``), apart from pyplot.
"""

from graphprior.plots.answers import plot_degree_histograms, plot_summary
from graphprior.plots.canvas import CELLS, FOUND, KNOWN, SETS, UNKNOWN
from graphprior.plots.checks import plot_bins, plot_reliability, plot_traces
from graphprior.plots.graphs import layout, plot_graph, plot_known
from graphprior.plots.page import picture
from graphprior.plots.pairs import (
    plot_certainty,
    plot_prior_and_data,
    plot_probabilities,
    plot_reasons,
)

__all__ = [
    "CELLS",
    "FOUND",
    "KNOWN",
    "SETS",
    "UNKNOWN",
    "layout",
    "picture",
    "plot_bins",
    "plot_certainty",
    "plot_degree_histograms",
    "plot_graph",
    "plot_known",
    "plot_prior_and_data",
    "plot_probabilities",
    "plot_reasons",
    "plot_reliability",
    "plot_summary",
    "plot_traces",
]
