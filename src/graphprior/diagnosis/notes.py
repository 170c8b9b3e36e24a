"""What a user should know before trusting a result, in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphprior.choices import Missing
from graphprior.diagnosis.rows import dependent_rows, far_from_gaussian
from graphprior.evidence.evidence import Evidence
from graphprior.evidence.precision import (
    PrecisionEstimate,
    dependent_columns,
)
from graphprior.evidence.slab import rate_prior
from graphprior.evidence.slack import Doubt, Slack
from graphprior.gaussian.glasso import TOLERANCE
from graphprior.gaussian.linalg import LEAST_EIGENVALUE, to_unit_diagonal
from graphprior.graphs.matrices import pairs, vech
from graphprior.observations.observations import Observations
from graphprior.observations.series import Order
from graphprior.priors.card import card_sizes
from graphprior.priors.fit_check import PriorGain
from graphprior.priors.load import GENERAL, INDEPENDENT
from graphprior.problem.problem import Problem
from graphprior.types import Mask

FITS = 0.5  # weight of a prior that fits, whatever it gains on known pairs alone
UNSEEN = 2.0  # times as many or few nodes as in the examples: a size worth a word
ASSUMED: dict[str, str] = {
    Missing.EM: "at random: whether a value is missing may depend on what was seen in its row, "
    "not on the value itself",
    Missing.PAIRWISE: "completely at random: whether a value is missing depends on nothing that "
    "matters",
}


def weak_ground(
    problem: Problem,
    data: Evidence | PrecisionEstimate | None,
    gains: tuple[PriorGain, ...],
    priors: tuple[str, ...] = (),
    card: Any = None,
    order: Order | None = None,
) -> list[str]:
    """A line for each reason to doubt; none where there is none.

    ``priors`` are the names of those used, ``gains`` what they are worth, ``card`` that of the one
    that weighs most, ``order`` what `row_facts` tells.
    """
    lines = observation_notes(problem.observations, problem.U)
    independent = priors == (INDEPENDENT,)
    if not problem.U.any():
        lines.append(
            "nothing is unknown: every pair of `known` is 0 or 1, so it is returned as it is"
        )
    elif _unchecked(gains) and set(priors) != {GENERAL, INDEPENDENT}:
        lines.append(
            f"there is too little to check the priors on, so {', '.join(priors)} have the same "
            "weight: more known pairs would tell which fits"
        )
    # An exact prior has been told how common edges are.
    if independent or card is not None:
        lines += _listed_edges(problem, independent)
    if card is not None and problem.U.any():
        lines += _unlike_examples(problem, card)
    words: list[str | None] = []
    if isinstance(data, Evidence):
        words = [_copies(problem), *evidence_notes(data, problem.names)]
        words.append(too_many_edges(data) if independent else None)
    if isinstance(data, PrecisionEstimate):
        words = [weakness(problem, data)]
    words += misfits(gains)
    if data is not None:
        words += dependent_rows(problem.X, problem.names, order, problem.observations.time_series)
        words.append(far_from_gaussian(problem.X, problem.names))
    return lines + [line for line in words if line]


def observation_notes(observations: Observations, U: Mask) -> list[str]:
    """In words, what was assumed of missing entries and of a series; nothing where neither is."""
    found, lines = observations.moments, []
    counted = f"the {observations.k} rows count as {found.k:.0f}"
    if observations.has_gaps:
        lines = _missing_notes(observations, U, found.settled, counted)
    if observations.time_series:
        assert found.worth is not None
        worth = vech(found.worth)
        least, most = worth.min(), worth.max()
        each = f", {least:.0f} to {most:.0f} by pair" if most > 2 * least else ""
        lines.append(
            f"rows were taken as a series in the order of the table: {counted} independent ones"
            + each
        )
    return lines


def _missing_notes(observations: Observations, U: Mask, settled: bool, counted: str) -> list[str]:
    count = int(np.isnan(observations.X).sum())
    lines = [
        f"{count} entries of X ({count / observations.X.size:.0%}) are missing and were taken as "
        f"missing {ASSUMED[observations.missing]}; {counted}"
    ]
    seen, n = (~np.isnan(observations.X)).sum(axis=0), observations.n
    rare = np.flatnonzero(seen < min(n + 2, observations.k / 2))
    if len(rare):
        names = ", ".join(f"{observations.names[i]} ({seen[i]})" for i in rare[:5])
        lines.append(
            f"{names}{', ...' if len(rare) > 5 else ''}: seen in fewer rows than there are "
            "variables, so that the others can seem to predict them; do not trust their pairs"
        )
    lines += _strangers(observations, U)
    if not settled:
        lines.append(
            "the covariance did not settle, for too little was seen of some pairs: "
            "drop the columns that miss most"
        )
    return lines


def _strangers(observations: Observations, U: Mask) -> list[str]:
    """A line that names pairs of variables hardly ever seen together; none where there are none."""
    seen = (~np.isnan(observations.X)).astype(float)
    rows, cols = pairs(observations.n)
    together = (seen.T @ seen)[rows, cols]
    few = np.flatnonzero((together < min(observations.n + 2, observations.k / 4)) & U[rows, cols])
    if not len(few):
        return []
    named = [f"{observations.names[rows[p]]} - {observations.names[cols[p]]}" for p in few[:5]]
    least, most = int(together[few].min()), int(together[few].max())
    rows_seen = f"{least}" if least == most else f"{least} to {most}"
    return [
        f"{', '.join(named)}{', ...' if len(few) > 5 else ''}: seen together in {rows_seen} rows; "
        "do not trust what is said of them"
    ]


def _unlike_examples(problem: Problem, card: Any) -> list[str]:
    """A line where a learned prior is asked about graphs of a size that it has not seen."""
    sizes, n = card_sizes(card), problem.n
    if not sizes or min(sizes) / UNSEEN <= n <= UNSEEN * max(sizes):
        return []
    return [
        f"the prior learned from graphs of {min(sizes)} to {max(sizes)} nodes and this one has "
        f"{n}: what holds at one size may not at another; see what it gains (prior_gain_)"
    ]


def _listed_edges(problem: Problem, guessed: bool) -> list[str]:
    """A line where what is known looks like a list of edges."""
    edges, gaps = ((problem.known[problem.O] == a).sum() // 2 for a in (1, 0))
    if edges <= gaps or not problem.U.any():
        return []
    what = f"{edges} of the known pairs are edges and {gaps} are not" if gaps else (
        "all known pairs are edges"
    )  # fmt: skip
    then = (
        f"independent edges begin at {rate_prior(problem.known).mean:.2f}" if guessed else
        "a learned prior, which takes known pairs for a random part of the graph, may expect too "
        "many"
    )  # fmt: skip
    return [
        f"{what}: a list of edges does not tell how common they are, and {then}; name absent "
        "pairs as well if you can"
    ]


def _copies(problem: Problem) -> str | None:
    columns = dependent_names(problem)
    if columns is None:
        return None
    return (
        f"columns {columns} are (nearly) dependent: one is a copy or a sum of others, and which "
        "of them an edge goes to cannot be told; leave one out"
    )


def dependent_names(problem: Problem) -> str | None:
    """Names of (nearly) dependent columns.

    With k up to n all are; with hardly more, or with an S that was made definite
    after some entries were missing, any may be by chance. Then only copies are named.
    """
    told = problem.moments
    if problem.k > problem.n + 2 and not problem.observations.has_gaps:
        columns = dependent_columns(told.S)
    elif problem.k == 2:  # any two columns are copies of each other then
        return None
    else:
        R, _ = to_unit_diagonal(told.S)
        columns = sorted(
            {int(i) for i in np.argwhere(np.triu(np.abs(R) > 1 - LEAST_EIGENVALUE, 1)).flat}
        )
    more = " and others" if len(columns) > 5 else ""
    return ", ".join(problem.names[i] for i in columns[:5]) + more if columns else None


def weakness(problem: Problem, estimate: PrecisionEstimate) -> str | None:
    """In words, why the data are a weak ground for the estimate; None where they are not."""
    if not estimate.exists:
        columns = dependent_names(problem)
        reason = (
            f"columns {columns} are (nearly) dependent"
            if columns
            else f"k = {problem.k} observations are too few for the unknown pairs"
        )
        return (
            f"{reason}: the maximum likelihood estimate does not exist; the covariance was "
            f"shrunk to its diagonal by {estimate.shrinkage:.2f} (Ledoit-Wolf), and the data "
            "say less than the probabilities may suggest"
        )
    if not estimate.kkt_residual <= 100 * TOLERANCE:
        return (
            f"the constrained estimate stopped at optimality residual {estimate.kkt_residual:.1e}: "
            "the variables may be nearly dependent"
        )
    return None


def doubts_in_words(doubts: tuple[Doubt, ...], names: tuple[str, ...]) -> list[str]:
    """A line that names them, if there are any."""
    if not doubts:
        return []
    pairs = ", ".join(
        f"{names[d.i]} and {names[d.j]} (partial correlation about {d.partial_correlation:.2g}, "
        f"{abs(d.z):.1f} standard errors)"
        for d in doubts
    )
    return [
        f"known to be absent, but in the data most like an edge: {pairs}. If you are not certain, "
        "leave it unknown: a wrong entry misleads the pairs around it"
    ]


def evidence_notes(evidence: Evidence, names: tuple[str, ...]) -> list[str]:
    """Why the data are a weak ground; none where they are not."""
    lines = doubts_in_words(evidence.doubts, names) + slack_in_words(evidence.slack)
    if not evidence.beliefs.converged:
        lines.append(
            "the evidence of the data did not settle: runs from different starts end at different "
            "graphs, so probabilities are rough; more rows or more known pairs would help"
        )
    elif len(evidence.rows) > 1 and evidence.is_silent:
        lines.append(
            "the data hardly tell pairs apart (their log-odds differ by "
            f"{evidence.beliefs.log_bf.std():.2f}): the probabilities are the prior's; more "
            "observations would help"
        )
    return lines


def too_many_edges(evidence: Evidence) -> str | None:
    """That edges may be fewer and stronger than the answer says; None where nothing says so."""
    found = evidence.by_pair
    if found is None or not evidence.weak_instead_of_few:
        return None
    return (
        f"{evidence.beliefs.p.sum():.0f} edges are expected, most of them weak, but the pairs' own "
        f"partial correlations look like about {found.edges:.0f} stronger ones: a few causes that "
        "many variables share can make edges seem more common than they are, and probabilities "
        "too high; give density= or known pairs if you can"
    )


def slack_in_words(slack: Slack) -> list[str]:
    """What a user should know of a slack that was estimated."""
    if slack.gain == 0:
        return []
    return [
        "pairs known to be absent look dependent given the rest: their partial correlations are "
        f"about {slack.size:.2g} where the model says 0. Weak dependence everywhere, heavy tails, "
        "or edges wrongly taken as absent can be why; an edge must stand out from that "
        "(null_scale=0 would take them as exactly 0)"
    ]


def _unchecked(gains: tuple[PriorGain, ...]) -> bool:
    """Whether several priors are averaged that could not be checked."""
    return len(gains) > 1 and not any(gain.pairs for gain in gains)


def misfits(gains: tuple[PriorGain, ...]) -> list[str | None]:
    """That priors do not fit; `general`, which nobody chose, only where nothing guards it."""
    guarded = any(gain.name == INDEPENDENT for gain in gains)
    return [
        misfit(gain, guarded)
        for gain in gains
        if gain.name != INDEPENDENT
        and gain.pairs
        and not (guarded and (gain.name == GENERAL or gain.weight > FITS))
    ]


def misfit(gain: PriorGain, guarded: bool = False) -> str | None:
    """That a prior does not fit; None where it gains.

    ``guarded``: it is averaged with independent edges, so that it costs little.
    """
    if gain.bits > 0:
        return None
    what = "known pairs that were hidden from it" if gain.known else "the data's evidence"
    size = f"(gain {gain.bits:.3f} +- {gain.standard_error:.3f} bits per pair)"
    if gain.bits > -gain.standard_error:
        which = f"the prior {gain.name}".strip()
        return f"{which} predicts {what} no better than the edge rate alone {size}"
    then = (
        f"it has weight {gain.weight:.2f} in the answer"
        if guarded
        else "use another prior, none, or prior_weight='auto'"
    )
    return (
        f"the prior does not fit: {gain.name or 'it'} predicts {what} worse than the edge rate "
        f"alone {size}; {then}"
    )
