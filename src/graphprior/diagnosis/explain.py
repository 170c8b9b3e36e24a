"""Why an edge is there, and what would change it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from graphprior.engines.posterior import Reasons
from graphprior.errors import GraphPriorError
from graphprior.evidence.evidence import Evidence
from graphprior.evidence.slab import Slab
from graphprior.priors.fit_check import PriorGain
from graphprior.priors.protocol import EvidencePrior, ask
from graphprior.problem.problem import Problem
from graphprior.types import Matrix


class Change(NamedTuple):
    """Were this pair ``value`` (1 edge, 0 none), the explained pair would have this probability."""

    source: str
    target: str
    value: int
    probability: float


@dataclass(frozen=True)
class Explanation:
    """The log-odds behind one pair's probability, and what would change it.

    prior + data + hidden + belief are the posterior log-odds of `direct`; a sampled
    probability may differ from it. ``partial_correlation`` is its estimate if
    there is an edge; ``tips_at`` the size at which the answer would tip, None if
    no partial correlation would do. ``priors`` are the weights of priors that are averaged.
    """

    source: str
    target: str
    probability: float
    prior: float
    data: float
    hidden: float
    belief: float
    partial_correlation: float | None
    tips_at: float | None
    changes: tuple[Change, ...]
    priors: tuple[tuple[str, float], ...] = ()

    @property
    def undrawn(self) -> float:
        """The probability that the log-odds add up to, from which the changes start."""
        return float(expit(self.prior + self.data + self.hidden + self.belief))

    def _weighed(self) -> str:
        """Which priors say it, where there are several."""
        if len(self.priors) < 2:
            return ""
        return f", as {', '.join(f'{name} (weight {w:.2f})' for name, w in self.priors)} have it"

    def __str__(self) -> str:
        """In words."""
        lines = [
            f"{self.source} - {self.target}: probability {self.probability:.2f}",
            f"  the known part and the other pairs say {_words(self.prior)}{self._weighed()}",
            f"  the data say {_words(self.data)}",
            f"  being among the unknown pairs says {_words(self.hidden)}",
        ]
        if self.belief:
            lines.append(f"  the belief given says {_words(self.belief)}")
        if self.partial_correlation is not None:
            tip = "no value would tip it" if self.tips_at is None else f"tips at {self.tips_at:.2f}"
            lines.append(f"  partial correlation {self.partial_correlation:+.2f} if an edge; {tip}")
        if self.changes and abs(self.probability - self.undrawn) >= 0.01:
            lines.append(f"  without drawing it has {self.undrawn:.2f}, and from there")
        lines += [
            f"  if {c.source} - {c.target} were {'an edge' if c.value else 'no edge'}: "
            f"{c.probability:.2f}"
            for c in self.changes
        ]
        return "\n".join(lines)


def _words(log_odds: float) -> str:
    side = "edge" if log_odds > 0 else "no edge"
    strength = abs(log_odds)
    how = "nothing" if strength < 0.2 else "weakly" if strength < 1 else "clearly"
    how = "strongly" if strength > 3 else how
    return how if how == "nothing" else f"{side}, {how} (log-odds {log_odds:+.1f})"


def explain_pair(
    problem: Problem,
    prior: Any,
    evidence: Evidence | None,
    reasons: Reasons | None,
    probabilities: Matrix,
    pair: tuple[int, int],
    changes: int,
    gains: tuple[PriorGain, ...] = (),
) -> Explanation:
    """Reasons of one unknown pair, and the other pairs whose value matters most to it."""
    i, j = pair
    names = problem.names
    if i == j:
        raise GraphPriorError(f"{names[i]} twice: expected two variables")
    if changes < 0:
        raise GraphPriorError(f"changes = {changes}: expected an integer of at least 0")
    if not problem.U[i, j]:
        raise GraphPriorError(f"{names[i]} - {names[j]} is not an unknown pair: it was given")
    if reasons is None or not isinstance(prior, EvidencePrior):
        raise GraphPriorError(
            "reasons need a prior that answers evidence and engine 'direct' or 'gibbs'"
        )
    said = Reasons(*(part[i, j] for part in reasons))
    strength, tips_at = None, None
    if evidence is not None:
        strength, tips_at = _tipping_point(
            evidence, pair, float(said.prior + said.hidden + said.belief)
        )
    return Explanation(
        names[i], names[j], float(probabilities[i, j]),
        float(said.prior), float(said.data), float(said.hidden), float(said.belief), strength,
        tips_at,
        _changes(problem, prior, reasons, pair, changes),
        tuple((gain.name, gain.weight) for gain in sorted(gains, key=lambda gain: -gain.weight)),
    )  # fmt: skip


def _tipping_point(
    evidence: Evidence, pair: tuple[int, int], others: float
) -> tuple[float, float | None]:
    """The pair's partial correlation if an edge, and the size at which log-odds reach 0."""
    i, j = min(pair), max(pair)
    at = int(np.flatnonzero((evidence.rows == i) & (evidence.cols == j))[0])
    slab, slack = evidence.slab, evidence.slack.variance
    precision, log_bf = float(evidence.beliefs.precision[at]), float(evidence.beliefs.log_bf[at])
    # Beliefs are of what the strength has beside its error: the whole is so much larger.
    mean = float(evidence.beliefs.mean[at]) * (1 + slack / slab.variance)
    # The data's log-odds are an average over other pairs, taken to be a constant away from what the
    # strength says; of a certain pair they say nothing of where its tipping point is.
    heard = float(np.clip(2 - abs(log_bf) / 5, 0, 1))
    off = heard * (log_bf - float(slab.log_bf(precision, mean * precision, slack)))
    side = float(np.sign(mean)) or 1.0
    return -mean, _size_at(slab, slack, precision, -others - off, side)


def _size_at(
    slab: Slab, slack: float, precision: float, log_bf: float, side: float
) -> float | None:
    """The size of a strength of that sign at which its log Bayes factor is ``log_bf``.

    None where there is none below 1.
    """

    def beyond(strength: float) -> float:
        return float(slab.log_bf(precision, side * strength * precision, slack)) - log_bf

    if beyond(0.0) > 0 or beyond(1.0) <= 0:
        return None
    return float(brentq(beyond, 0.0, 1.0, xtol=1e-12))


def _changes(
    problem: Problem, prior: EvidencePrior, reasons: Reasons, pair: tuple[int, int], count: int
) -> tuple[Change, ...]:
    """Turn every other pair of the two variables over, ask again, keep what matters most."""
    i, j = pair
    others = [(a, b) for a in pair for b in range(problem.n) if b not in pair]
    likely = reasons.posterior > 0
    turned = np.repeat(problem.known[None], len(others), axis=0)
    values = []
    for state, (a, b) in zip(turned, others, strict=True):
        now = likely[a, b] if np.isnan(problem.known[a, b]) else problem.known[a, b] == 1
        state[a, b] = state[b, a] = 0.0 if now else 1.0
        values.append(int(not now))
    eta = np.full(len(others), reasons.posterior[i, j])
    now = ask(prior, problem.known, reasons.told, "cpu")[i, j]
    # What is asked here is what the answer was made of, but for rounding and, where priors are
    # averaged, for what being unknown says to each of them: the rest stays as it is.
    rest = reasons.posterior[i, j] - now if np.isfinite(now) else 0.0
    for o, state in enumerate(turned):
        # A change that no graph of the prior allows is none.
        with suppress(GraphPriorError):
            eta[o] = ask(prior, state, reasons.told, "cpu")[i, j] + rest
    order = np.argsort(-np.abs(eta - reasons.posterior[i, j]), kind="stable")[:count]
    p = 1 / (1 + np.exp(-np.clip(eta, -40, 40)))
    return tuple(
        Change(problem.names[others[o][0]], problem.names[others[o][1]], values[o], float(p[o]))
        for o in order
    )
