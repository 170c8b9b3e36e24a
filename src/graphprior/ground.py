"""What a user should know before trusting a result, in words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from graphprior.covariance import PrecisionEstimate, dependent_names, weakness
from graphprior.evidence import Evidence
from graphprior.fit_check import FEWEST, PriorGain
from graphprior.graphs import Problem, guessed_rate
from graphprior.independence import Order, dependent_rows
from graphprior.moments import observation_notes
from graphprior.prior.card import card_sizes
from graphprior.transforms import far_from_gaussian

UNSEEN = 2.0  # times as many or few nodes as in the examples: a size worth a word


def weak_ground(
    problem: Problem,
    data: Evidence | PrecisionEstimate | None,
    gain: PriorGain | None,
    assume_centered: bool = False,
    temper: bool = False,
    prior: Any = None,
    card: Any = None,
    order: dict[str, Any] | None = None,
) -> list[str]:
    """A line for each reason to doubt; none where there is none.

    ``prior`` is what the user gave, ``card`` that of the one used, ``order`` what `row_facts`
    tells.
    """
    lines = observation_notes(problem, assume_centered)
    if not problem.U.any():
        lines.append(
            "nothing is unknown: every pair of `known` is 0 or 1, so it is returned as it is"
        )
    elif temper and gain is None:
        lines.append(
            "temper=True did nothing: the prior could not be checked, which takes one that answers "
            "evidence and more known pairs or data"
        )
    # An exact prior has been told how common edges are.
    if prior is None or isinstance(prior, str | Path) or getattr(prior, "card", None):
        lines += _listed_edges(problem, prior is None)
    if card is not None and problem.U.any():
        lines += _unlike_examples(problem, card, gain is None and isinstance(data, Evidence))
    words: list[str | None] = []
    if isinstance(data, Evidence):
        words = [_copies(problem, assume_centered), *data.weaknesses(problem.names)]
    if isinstance(data, PrecisionEstimate):
        words = [weakness(problem, data, assume_centered)]
    misfit = None if gain is None else gain.misfit()
    words.append(misfit)
    if data is not None:
        rows = None if order is None or problem.rows == "series" else Order(**order)
        words += dependent_rows(problem.X, problem.names, rows)
        words.append(far_from_gaussian(problem.X, problem.names))
    return lines + [line for line in words if line]


def _unlike_examples(problem: Problem, card: Any, unchecked: bool) -> list[str]:
    """A line where a learned prior is asked for what it may not know, and nothing checks it."""
    sizes, n, lines = card_sizes(card), problem.n, []
    if sizes and not min(sizes) / UNSEEN <= n <= UNSEEN * max(sizes):
        lines.append(
            f"the prior learned from graphs of {min(sizes)} to {max(sizes)} nodes and this one has "
            f"{n}: what holds at one size may not at another; see what it gains (prior_gain_)"
        )
    few = max(problem.O.sum(), problem.U.sum()) // 2 < FEWEST
    if few and unchecked:
        lines.append(
            f"{n} variables have too few pairs to check whether the prior fits: what it adds to "
            "the data cannot be judged here; compare with no prior"
        )
    return lines


def _listed_edges(problem: Problem, guessed: bool) -> list[str]:
    """A line where what is known looks like a list of edges."""
    edges, gaps = ((problem.known[problem.O] == a).sum() // 2 for a in (1, 0))
    if edges <= gaps or not problem.U.any():
        return []
    what = f"{edges} of the known pairs are edges and {gaps} are not" if gaps else (
        "all known pairs are edges"
    )  # fmt: skip
    then = (
        f"independent edges begin at {guessed_rate(problem.known):.2f}" if guessed else
        "a learned prior, which takes known pairs for a random part of the graph, may expect too "
        "many"
    )  # fmt: skip
    return [
        f"{what}: a list of edges does not tell how common they are, and {then}; name absent "
        "pairs as well if you can"
    ]


def _copies(problem: Problem, assume_centered: bool) -> str | None:
    columns = dependent_names(problem, assume_centered)
    if columns is None:
        return None
    return (
        f"columns {columns} are (nearly) dependent: one is a copy or a sum of others, and which "
        "of them an edge goes to cannot be told; leave one out"
    )
