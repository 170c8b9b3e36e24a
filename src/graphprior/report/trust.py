"""Can this be trusted: what speaks for a result and what against it, in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from graphprior.diagnosis.priors import weights_in_words
from graphprior.diagnosis.self_check import TRUSTED, UNTOLD
from graphprior.engines.facts import GibbsFacts, LangevinFacts
from graphprior.evidence.precision import PrecisionFacts
from graphprior.priors.card import bits_without_data, card_sizes
from graphprior.priors.training.training import OBJECTIVES
from graphprior.results.result import Result

Level = Literal["good", "weak", "note"]
R_HAT = 1.05  # chains that agree less have not been run long enough
EXACT, VAGUE = 0.2, 0.5  # errors of partial correlations that leave values, or signs of some
FEW = 100  # independent draws that a share known to a few per cent needs


@dataclass(frozen=True)
class Check:
    """One thing to know before trusting: how it stands, and why."""

    level: Level
    title: str
    words: str


def checks(result: Result) -> list[Check]:
    """All that is known of a result's worth; what is weak comes first."""
    found = [
        *_notes(result), *_found_edges(result), *_observations(result), *_prior_fit(result),
        *_prior_card(result), *_draws(result), *_precision(result), *_self_check(result),
    ]  # fmt: skip
    return sorted(found, key=lambda check: ("weak", "good", "note").index(check.level))


def expected_errors(result: Result) -> tuple[int, float, float]:
    """Found edges, how many of them are expected to be false, and how many edges to be missed."""
    p = result.edge_probabilities[np.triu(result.U)]
    found = result.adjacency[np.triu(result.U)] == 1
    return int(found.sum()), float((1 - p[found]).sum()), float(p[~found].sum())


def correlation_error(result: Result) -> float:
    """Standard error of the least certain partial correlation, if the graph is right.

    That of a pair is (1 - r^2) / sqrt(k - c) in a clique of c variables, and no clique has more
    than the largest degree and one. Infinite where observations are too few to tell.
    """
    k = result.diagnostics.observations.least_k
    spare = k - result.adjacency.sum(axis=0).max() - 1
    return float(1 / np.sqrt(spare)) if spare >= 1 else np.inf


def _notes(result: Result) -> Iterator[Check]:
    for words in result.notes:
        yield Check("weak", "Warning of the estimate", words[:1].upper() + words[1:] + ".")


def _found_edges(result: Result) -> Iterator[Check]:
    found, false, missed = expected_errors(result)
    if not found or result.meaning != "probability of an edge":
        return
    share = false / found
    level: Level = "weak" if share > 0.25 else "good"
    yield Check(
        level,
        "Edges found",
        f"Of {found} edge{'s' * (found != 1)} found at threshold {result.threshold:.2f}, about "
        f"{false:.1f} ({share:.0%}) are expected to be false, and about {missed:.1f} others to be "
        "missed, if the probabilities are right. A higher threshold has fewer false edges.",
    )


def _observations(result: Result) -> Iterator[Check]:
    facts, title = result.diagnostics.observations, "Observations"
    k, n = float(facts.k), facts.n
    words = f"{facts.k} observations of {n} variables, {k / n:.1f} for each."
    is_series = facts.time_series
    if facts.missing_entries or is_series:
        k = facts.effective_k
        why = "As a series" if is_series else "With what is missing"
        words += f" {why} they are worth {k:.1f} {'independent' if is_series else 'complete'} ones."
    if result.diagnostics.likelihood is None:
        yield Check("note", title, words + " The data were not asked: the prior alone.")
        return
    order, few = _rows_depend(result), k <= n
    if order:
        words += " Each depends on those near it in the table: see the warning."
    if few and facts.k > n:
        words += " That is fewer than there are variables, so the answer leans on assumptions."
    elif few:
        words += (
            " Fewer observations than variables: without a prior no such covariance can be "
            "inverted, so the answer leans on assumptions."
        )
    level: Level = "weak" if few or order else "good" if k >= 5 * n else "note"
    yield Check(level, title, words)


def _rows_depend(result: Result) -> bool:
    """Rows depend on those near them, and each was counted all the same."""
    facts = result.diagnostics
    return facts.row_order is not None and not facts.observations.time_series


def _prior_fit(result: Result) -> Iterator[Check]:
    gain = result.diagnostics.prior_gain
    if gain is None:
        words = "There were too few pairs to check the prior on"
        if result.card is None:
            words = "No learned prior was used, or it has no card"
        elif result.card.get("kind") == "edp-gnn":
            words = "This kind of prior gives scores and cannot be asked for a prediction"
        yield Check("note", "Fit of the prior", words + "; its fit is not measured.")
        return
    gains = result.diagnostics.prior_gains or (gain,)
    told = weights_in_words(gains) or ""
    words = told[:1].upper() + told[1:]
    bits, error, title = gain.bits, gain.standard_error, "Fit of the prior"
    if bits > 2 * error:
        yield Check("good", title, words + ". It knows graphs like this one.")
    elif len(gains) > 1:  # averaged by what they are worth, so that what does not fit costs little
        yield Check("note", title, words + ". A prior with little weight changes little.")
    elif bits > 0:
        yield Check("weak", title, words + ". That is weak: no gain is as likely.")
    elif bits > -error:
        yield Check("weak", title, words + ". It does not help here.")
    else:
        yield Check("weak", title, words + ". It does not fit this problem.")


def _prior_card(result: Result) -> Iterator[Check]:
    """What the card tells; anyone may write one, so any part of it may be missing."""
    card, title = result.card, "Where the prior comes from"
    if card is None:
        return
    sizes = card_sizes(card)
    name, count = _at(card, "name") or "The prior", _number(card, "graphs", "count")
    n, validation = len(result.names), _validation(card)
    if not sizes:
        yield Check("weak", title, f"Its card does not tell from what graphs. {validation}")
        return
    words = f"“{name}” learned from {'' if count is None else f'{count:g} '}graphs of "
    words += f"{min(sizes)} to {max(sizes)} nodes. {validation}"
    bits = bits_without_data(card)
    if bits is not None and bits[0] >= bits[1]:
        yield Check("weak", title, words + " There it was no better than the edge rate.")
    elif min(sizes) <= n <= max(sizes):
        yield Check("note", title, words)
    else:
        unseen = f" This graph has {n} nodes, a size that it never saw."
        yield Check("weak", title, words + unseen)


def _at(card: Any, *path: str) -> Any:
    """A part of the card; None where it has none."""
    for key in path:
        card = card.get(key) if isinstance(card, dict) else None
    return card


def _number(card: dict[str, Any], *path: str) -> float | None:
    value = _at(card, *path)
    return value if isinstance(value, int | float) else None


def _validation(card: dict[str, Any]) -> str:
    """What the card tells of graphs that training did not see."""
    loss = _number(card, "validation", "best", "loss")
    kind = OBJECTIVES.get(str(_at(card, "kind")))
    if loss is None:
        return "Its card does not tell how it did on graphs that it did not see."
    if kind is None or kind.unit != "bits":
        return f"Its loss on graphs that it did not see is {loss:.3f}."
    words = f"On graphs that it did not see it needs {loss:.3f} bits for an unknown pair"
    bits = bits_without_data(card)
    if bits is not None:
        words += f"; with half of the pairs unknown and no data {bits[0]:.3f}, where the edge rate "
        words += f"needs {bits[1]:.3f}"
    return words + "."


def _draws(result: Result) -> Iterator[Check]:
    found, M = result.diagnostics.posterior, len(result.samples)
    if not result.diagnostics.unknown_pairs:
        return
    if M == 0:
        yield Check(
            "note",
            "Draws",
            "One pass draws no graphs, so there are no R-hat, no effective sample size and no "
            "bounds from drawing. Engine gibbs draws graphs, and checks this answer.",
        )
        return
    r_hat, ess = (found.r_hat, found.ess) if isinstance(found, GibbsFacts) else (None, None)
    words = f"{M} graph{'s' * (M > 1)} drawn"
    if r_hat is None or ess is None:
        few = M < FEW
        tail = ": a probability is known only to the width of its bounds." if few else "."
        if isinstance(found, GibbsFacts):
            tail += (
                " R-hat was not measured: it takes several chains that keep at least ten sweeps "
                "(in Python, engine=Gibbs(sweeps=Sweeps(burn_in=5, keep=100)))."
            )
        yield Check("weak" if few else "note", "Draws", words + tail)
        return
    words += f"; R-hat of the number of edges {r_hat:.2f}, effective sample size {ess:.0f}"
    if r_hat <= R_HAT and ess >= FEW:
        yield Check("good", "Draws", words + ": the chains agree.")
    else:
        yield Check(
            "weak",
            "Draws",
            words + f" (wanted: at most {R_HAT:.2f}, at least {FEW}). The chains may not agree "
            "yet: let them keep more sweeps.",
        )


def _values(result: Result) -> Check:
    """How well partial correlations are known that are of the maximum likelihood."""
    words = "Theta is the maximum likelihood estimate on the graph found; nothing was regularised."
    error, title = correlation_error(result), "Partial correlations"
    if not result.adjacency.any():
        return Check("note", title, words + " It joins no pair, so all of them are zero.")
    if np.isinf(error):
        return Check("weak", title, words + " Observations are too few to tell the values.")
    level: Level = "good" if error <= EXACT else "note" if error <= VAGUE else "weak"
    wanted = "that graph is right and the data are Gaussian"
    if _rows_depend(result):
        level, wanted = "weak", wanted + ", and if rows were independent, which they are not"
    words += f" If {wanted}, they are known to about ± {error:.2f} (s.e.) or less."
    return Check(level, title, words)


def _precision(result: Result) -> Iterator[Check]:
    facts = result.diagnostics
    shrunk = facts.precision_shrinkage
    if shrunk > 0:
        yield Check(
            "weak",
            "Partial correlations",
            f"The data alone do not determine Theta on this graph, so it was regularised: the "
            f"covariance was shrunk to its diagonal by {shrunk:.2f}. Read the signs and the order, "
            "not the values.",
        )
    else:
        yield _values(result)
    if isinstance(facts.data, PrecisionFacts) and not facts.data.mle_exists:
        yield Check(
            "weak",
            "Likelihood",
            "With all unknown pairs free the maximum likelihood estimate does not exist; the "
            f"covariance was shrunk by {facts.data.shrinkage:.2f}.",
        )
    found = facts.posterior
    share = found.indefinite_share if isinstance(found, LangevinFacts) else 0.0
    if share > 0:
        words = f"Theta was indefinite in {share:.0%} of the chains' steps"
        yield Check("note", "Steps of the chains", words + ", most of them while noise is large.")


def _self_check(result: Result) -> Iterator[Check]:
    """What simulated data sets say, where they were asked."""
    check = result.self_check
    if check is None:
        return
    level: Level = {TRUSTED: "good", UNTOLD: "note"}.get(check.verdict, "weak")  # type: ignore[assignment]
    yield Check("weak" if check.too_alike else level, "Self-check", check.words())
