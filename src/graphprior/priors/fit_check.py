"""Whether a prior fits: what it predicts of pairs whose value it was not shown.

Where part of the graph is known, known pairs are hidden in turn and predicted from the rest,
without data. The data's evidence about unknown pairs is predicted as well, from what is known and
the evidence about the others. Both are code lengths: bits for each pair that a prior saves
compared with the edge rate alone are what it is worth here.

Where there are several priors, each is weighed by the total of what it saves. The total is a sum
over pairs that happen to be there: weights are averaged over draws in which each pair counts more
or less (the Bayesian bootstrap), so that few pairs do not decide between priors that are close.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from scipy.optimize import minimize_scalar
from scipy.special import expit, logit, softmax

from graphprior.errors import GraphPriorError
from graphprior.evidence.evidence import Evidence
from graphprior.graphs.matrices import pairs, vech
from graphprior.priors.protocol import EvidencePrior, certain_log_odds
from graphprior.types import Matrix, Vector

FOLDS = 8
FEWEST = 10
FEWEST_ABSENT = 5
LARGE = 200  # nodes: a pass then costs seconds, and one fold has thousands of pairs
BATCH_PAIRS = 1 << 16  # pairs of all folds that are asked at once
LARGEST = 30.0  # log-odds, and nats of what a prior forbids
BY_VARIABLE = 2.0  # pairs for each variable that the data's evidence counts as, at most
DRAWS = 500  # of the weights of pairs
OFFSET = 1.0  # log-odds by which numbers of edges may be off, before anything is looked at
OFF = 0.5  # and those of a learned prior on known pairs, which moves its answers


@dataclass(frozen=True)
class PriorGain:
    """Bits for each pair that a prior gains over the edge rate ``rate``.

    ``known`` tells whether known pairs were predicted, or the data's evidence. ``weight`` is the
    prior's share of the answer, 1 where it is not averaged with others; ``offset`` the log-odds
    that are then added to what it says, so that it expects as many edges as there are. ``excess``
    are the log-odds by which it still expects too many, which matters only where edges are counted.
    """

    name: str
    bits: float
    standard_error: float
    pairs: int
    known: bool
    rate: float
    weight: float = 1.0
    offset: float = 0.0
    excess: float = 0.0

    @classmethod
    def unchecked(cls, name: str, weight: float) -> PriorGain:
        """Of a prior that could not be checked: on no pair, so nothing is known of its gain."""
        return cls(name, 0.0, 0.0, 0, False, 0.5, weight)


@dataclass(frozen=True, eq=False)
class Questions:
    """Pairs that are hidden in turn: known ones, or the data's evidence about unknown ones.

    ``own`` is the value of each pair, or its log Bayes factor; ``rounds`` are folds of them.
    """

    known: Matrix
    told: Matrix
    chosen: npt.NDArray[np.intp]
    own: Vector
    rate: float
    are_known: bool
    rounds: list[list[npt.NDArray[np.intp]]]

    @property
    def counts_as(self) -> float:
        """For how much of a pair each counts when scores are added up.

        Errors of the evidence about pairs that share a variable depend on each other: however many
        pairs there are, they count as so many for each variable.
        """
        most = BY_VARIABLE * len(self.known) / len(self.chosen)
        return 1.0 if self.are_known else min(1.0, most)

    @property
    def some_known(self) -> bool:
        """Whether part of the graph is known."""
        return len(self.chosen) < len(vech(self.known))

    @property
    def parts(self) -> list[npt.NDArray[np.intp]]:
        """All folds of all rounds."""
        return [part for folds in self.rounds for part in folds]

    @property
    def asked(self) -> npt.NDArray[np.intp]:
        """Which of the chosen pairs each answer is about."""
        return np.concatenate(self.parts)

    def answers(self, prior: EvidencePrior, device: str | torch.device) -> Vector:
        """The prior's log-odds of the pairs hidden in each fold, given all else: one batch."""
        rows, cols = pairs(len(self.known))
        ell = np.where(np.isnan(self.known), self.told, certain_log_odds(self.known))
        at_once, said = max(1, BATCH_PAIRS // len(rows)), []
        for first in range(0, len(self.parts), at_once):
            some = self.parts[first : first + at_once]
            batch = np.repeat(ell[None], len(some), axis=0)
            for one, part in zip(batch, some, strict=True):
                i, j = rows[self.chosen[part]], cols[self.chosen[part]]
                one[i, j] = one[j, i] = 0.0
            eta = prior.posterior_logits(torch.as_tensor(batch, device=device)).cpu().numpy()
            said += [
                eta[s][rows[self.chosen[part]], cols[self.chosen[part]]]
                for s, part in enumerate(some)
            ]
        clipped: Vector = np.clip(np.concatenate(said), -LARGEST, LARGEST)
        return clipped

    def nats(self, f: Vector) -> Vector:
        """Log-probability of each value, or of each pair's evidence relative to no edge."""
        own = self.own[self.asked]
        if self.are_known:
            gained: Vector = -np.logaddexp(0.0, np.where(own == 1, -f, f))
        else:
            p = expit(f)
            gained = np.logaddexp(np.log1p(-p), np.log(p) + own)
        return gained

    def by_pair(self, each: Vector) -> Vector:
        """The mean over the rounds that asked each pair."""
        times = np.bincount(self.asked)
        mean: Vector = np.bincount(self.asked, each)[times > 0] / times[times > 0]
        return mean

    def standard_error(self, each: Vector) -> float:
        """Of the mean: the larger of what pairs and folds show, for pairs are not independent."""
        by_pair, folds = self.by_pair(each), len(self.rounds[0])
        of_pairs = by_pair.std(ddof=1) / np.sqrt(len(by_pair))
        if folds < 2:
            return float(of_pairs)
        ends = np.cumsum([len(part) for part in self.parts])[:-1]
        by_part = np.reshape([part.mean() for part in np.split(each, ends)], (-1, folds))
        of_parts = np.sqrt(by_part.var(axis=1, ddof=1).mean() / folds)
        return float(max(of_pairs, of_parts))


@dataclass(frozen=True)
class PriorCheck:
    """What each prior gains, and its weight if all are averaged."""

    gains: tuple[PriorGain, ...]

    @property
    def weights(self) -> tuple[float, ...]:
        """Of the priors in their order."""
        return tuple(gain.weight for gain in self.gains)


def check_priors(
    known: Matrix,
    priors: dict[str, EvidencePrior | None],
    evidence: Evidence | None,
    rng: np.random.Generator,
    by_value: bool = True,
    device: str | torch.device = "cpu",
    move: bool = True,
) -> PriorCheck | None:
    """What each of some priors is worth; None where there is nothing to check them on.

    Where there are several, what a learned prior says is moved by the log-odds that known pairs
    ask for, if ``move``: far from the sizes of its examples it may expect too many edges, or too
    few. A prior of several that forbids the known part has no weight.

    None as a prior are independent edges at the rate of the known pairs, or at that which the data
    tell. ``by_value``: edges may be unknown more or less often than other pairs, so that each
    prior may expect more or fewer of them among unknown pairs than it does by itself.
    """
    questions = _questions(known, evidence, rng)
    if not questions:
        return None
    told, totals, found = questions[0], [], []
    usual = told.nats(_log_odds(told, None, device))
    for name, prior in priors.items():
        several = len(priors) > 1
        moves = move and several and prior is not None and prior.is_learned
        try:
            scores, offset, excess = _scores(questions, prior, by_value, moves, device)
        except GraphPriorError:  # it forbids what is known
            if not several:
                raise
            scores, offset, excess = [np.full(len(q.asked), -LARGEST) for q in questions], 0.0, 0.0
        totals.append(
            np.concatenate(
                [q.counts_as * q.by_pair(s) for q, s in zip(questions, scores, strict=True)]
            )
        )
        gain = (scores[0] - usual) / np.log(2)
        found.append(
            (name, float(told.by_pair(gain).mean()), told.standard_error(gain), offset, excess)
        )
    weights = _weights(np.stack(totals), rng)
    count = len(told.by_pair(gain))
    return PriorCheck(
        tuple(
            PriorGain(name, bits, error, count, told.are_known, told.rate, float(w), *moves)
            for (name, bits, error, *moves), w in zip(found, weights, strict=True)
        )
    )


def _scores(
    questions: list[Questions],
    prior: EvidencePrior | None,
    by_value: bool,
    moves: bool,
    device: str | torch.device,
) -> tuple[list[Vector], float, float]:
    """Nats of a prior's answers to each question; its offset and what it still expects too many."""
    offset, excess, scores = 0.0, 0.0, []
    for q in questions:
        f = _log_odds(q, prior, device) + offset
        if q.are_known and moves:
            offset = _offset(q, f, OFF)
            excess = offset - _offset(q, f, OFFSET)
            f = f + offset
        elif not q.are_known and by_value and prior is not None and q.some_known:
            # A prior is not to be blamed for what the choice of unknown pairs did; the edge rate,
            # which is that of the unknown pairs, is not either.
            f = f + _offset(q, f, OFFSET)
        scores.append(q.nats(f))
    return scores, offset, excess


def check_prior(
    known: Matrix,
    prior: EvidencePrior,
    evidence: Evidence | None,
    rng: np.random.Generator,
    device: str | torch.device = "cpu",
) -> PriorGain | None:
    """What one prior gains over the edge rate alone; None where there is nothing to check it on."""
    found = check_priors(known, {"": prior}, evidence, rng, device=device)
    return None if found is None else found.gains[0]


def is_telling(known: Matrix) -> bool:
    """Whether known pairs are enough to check a prior on, and more than a list of edges.

    Edges that are listed because they are edges do not tell what is usual: they would make a
    prior that calls every pair an edge the best there is.
    """
    rows, cols = pairs(len(known))
    values = known[rows, cols]
    return bool((~np.isnan(values)).sum() >= FEWEST and (values == 0).sum() >= FEWEST_ABSENT)


def known_rate(known: Matrix) -> float:
    """The share of edges among known pairs, never 0 or 1."""
    rows, cols = pairs(len(known))
    values = known[rows, cols]
    return float(((values == 1).sum() + 0.5) / ((~np.isnan(values)).sum() + 1))


def _questions(
    known: Matrix, evidence: Evidence | None, rng: np.random.Generator
) -> list[Questions]:
    """What priors can be asked: known pairs first, then the data's evidence."""
    rows, cols = pairs(len(known))
    is_known = ~np.isnan(known[rows, cols])
    found, unknown = [], int((~is_known).sum())
    if is_telling(known):
        chosen = np.flatnonzero(is_known)
        rounds = _folds(len(chosen), unknown, True, len(known), rng)
        own = known[rows, cols][chosen]
        found.append(
            Questions(known, np.zeros_like(known), chosen, own, known_rate(known), True, rounds)
        )
    if evidence is not None and unknown >= FEWEST:
        chosen, told = np.flatnonzero(~is_known), evidence.log_bf
        rounds = _folds(len(chosen), unknown, False, len(known), rng)
        own = told[rows, cols][chosen]
        found.append(Questions(known, told, chosen, own, evidence.slab.rate, False, rounds))
    return found


def _folds(
    count: int, unknown: int, on_known: bool, n: int, rng: np.random.Generator
) -> list[list[npt.NDArray[np.intp]]]:
    """Parts to hide in turn, of as many pairs as are unknown: the question is then alike.

    Where a round has few parts there are more rounds, each with another cut: what the prior is
    worth must not hang on one.
    """
    size = unknown if on_known else count // 5
    size = min(max(size, FEWEST), max(count // 2, 1))
    most = 1 if n > LARGE else FOLDS
    folds = min(count // size, most)
    orders = [rng.permutation(count) for _ in range(most // folds)]
    return [[order[f * size : (f + 1) * size] for f in range(folds)] for order in orders]


def _log_odds(
    questions: Questions, prior: EvidencePrior | None, device: str | torch.device
) -> Vector:
    """What a prior says of each pair it is asked about; the edge rate where there is none."""
    if prior is None:
        return np.full(len(questions.asked), logit(questions.rate))
    return questions.answers(prior, device)


def _offset(questions: Questions, f: Vector, scale: float) -> float:
    """Log-odds to add to all answers, which are expected to be of that ``scale``."""

    def cost(offset: float) -> float:
        gained = questions.by_pair(questions.nats(f + offset)).sum()
        return float(0.5 * (offset / scale) ** 2 - gained)

    return float(minimize_scalar(cost, bounds=(-5.0, 5.0), method="bounded").x)


def _weights(totals: Matrix, rng: np.random.Generator) -> Vector:
    """Weights of priors whose log scores of each pair are ``totals`` (C, pairs)."""
    if len(totals) == 1:
        return np.ones(1)
    count = totals.shape[1]
    heard = rng.dirichlet(np.ones(count), DRAWS) * count
    weights: Vector = softmax(totals @ heard.T, axis=0).mean(axis=1)
    return weights
