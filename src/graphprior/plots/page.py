"""One page that tells a result."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from graphprior.diagnosis.priors import weights_in_words
from graphprior.evidence.precision import PrecisionFacts
from graphprior.plots.graphs import layout, plot_graph, plot_known
from graphprior.plots.pairs import plot_certainty, plot_probabilities, plot_reasons
from graphprior.results.result import Result


def picture(model: Any) -> Figure:
    """What was known, what was found, and how sure it is, on one page."""
    result = Result.of(model)
    places = layout(result)
    figure = Figure(figsize=(13, 11), layout="constrained")
    axes = figure.subplots(2, 2)
    plot_known(result, places, ax=axes[0, 0])
    plot_graph(result, places, ax=axes[0, 1])
    plot_probabilities(result, ax=axes[1, 0])
    if result.reasons is None:
        plot_certainty(result, ax=axes[1, 1])
    else:
        plot_reasons(result, ax=axes[1, 1])
    figure.suptitle(_headline(result), fontsize=10)
    return figure


def _headline(result: Result) -> str:
    facts = result.diagnostics
    words = [
        f"{facts.observations.n} variables, {facts.observations.k} observations, "
        f"{facts.unknown_pairs} unknown pairs"
    ]
    if len(result.samples):
        words.append(f"{len(result.samples)} graphs drawn")
    if isinstance(facts.data, PrecisionFacts) and not facts.data.mle_exists:
        words.append("too few observations, covariance shrunk")
    priors = weights_in_words(facts.prior_gains)
    if priors is not None:
        words.append(priors)
    return "; ".join(words)
