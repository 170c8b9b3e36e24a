"""Whether a prior fits: what it predicts of pairs whose value it was not shown.

Where part of the graph is known, known pairs are hidden in turn and predicted
from the rest, without data. Where nothing or only edges are known, the data's evidence about
a pair is predicted from the evidence about the others. Either way the gain
over the edge rate alone is in bits for each pair: what a prior of this kind is
worth here. A prior that gains nothing does more harm than good.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from scipy.optimize import minimize_scalar
from scipy.special import expit, logit

from graphprior.evidence.evidence import Evidence
from graphprior.graphs.matrices import pairs
from graphprior.priors.protocol import EvidencePrior, ask
from graphprior.types import Matrix, Vector

FOLDS = 8
FEWEST = 10
FEWEST_ABSENT = 5
LARGE = 200  # nodes: a pass then costs seconds, and one fold has thousands of pairs


@dataclass(frozen=True)
class PriorGain:
    """Bits for each pair that a prior gains over the edge rate ``rate``, and at best if tempered.

    ``known`` tells whether known pairs were predicted, or the data's evidence.
    """

    bits: float
    standard_error: float
    pairs: int
    known: bool
    rate: float
    temperature: float


def check_prior(
    known: Matrix,
    prior: EvidencePrior,
    evidence: Evidence | None,
    rng: np.random.Generator,
    device: str | torch.device = "cpu",
) -> PriorGain | None:
    """The gain on known pairs, or on the data if none are known; None where there is neither."""
    rows, cols = pairs(len(known))
    is_known = ~np.isnan(known[rows, cols])
    # Edges that are listed because they are edges do not tell what is usual: they would make
    # a prior that calls every pair an edge the best there is.
    absent = known[rows, cols] == 0
    on_known = bool(is_known.sum() >= FEWEST and absent.sum() >= FEWEST_ABSENT)
    if on_known:
        chosen, told = np.flatnonzero(is_known), np.zeros_like(known)
        own = known[rows, cols][chosen]
        rate = float((own.sum() + 0.5) / (len(own) + 1))
    elif evidence is not None and (~is_known).sum() >= FEWEST:
        chosen, told = np.flatnonzero(~is_known), evidence.log_bf
        own = told[rows, cols][chosen]
        rate = evidence.slab.rate
    else:
        return None
    rounds = _folds(len(chosen), int((~is_known).sum()), on_known, len(known), rng)
    parts = [part for folds in rounds for part in folds]
    said = [_predict(known, prior, told, chosen[part], device) for part in parts]
    asked, f = np.concatenate(parts), np.concatenate(said)
    own = own[asked]
    gain = _bits(logit(np.full(len(f), rate)), own, on_known) - _bits(f, own, on_known)
    times = np.bincount(asked)
    by_pair = np.bincount(asked, gain)[times > 0] / times[times > 0]
    by_part = [part.mean() for part in np.split(gain, np.cumsum([len(p) for p in parts])[:-1])]
    return PriorGain(
        float(by_pair.mean()),
        _standard_error(by_pair, np.reshape(by_part, (len(rounds), -1))),
        len(by_pair),
        on_known,
        rate,
        _temperature(f, own, on_known, rate),
    )


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


def _predict(
    known: Matrix,
    prior: EvidencePrior,
    told: Matrix,
    hidden: npt.NDArray[np.intp],
    device: str | torch.device,
) -> Vector:
    """The prior's log-odds of the hidden pairs, given all else."""
    rows, cols = pairs(len(known))
    i, j = rows[hidden], cols[hidden]
    less, silent = known.copy(), told.copy()
    less[i, j] = less[j, i] = np.nan
    silent[i, j] = silent[j, i] = 0.0
    said: Vector = ask(prior, less, silent, device)[i, j]
    clipped: Vector = np.clip(said, -30, 30)
    return clipped


def _bits(f: Vector, own: Vector, on_known: bool) -> Vector:
    """Code length of a pair's value, or of its evidence (relative to no edge), in bits."""
    p = expit(f)
    if on_known:
        cost: Vector = np.logaddexp(0.0, np.where(own == 1, -f, f))
    else:
        cost = -np.logaddexp(np.log1p(-p), np.log(p) + own)
    bits: Vector = cost / np.log(2)
    return bits


def _standard_error(by_pair: Vector, by_part: npt.NDArray[np.float64]) -> float:
    """Of the mean: the larger of what pairs and what parts show, for pairs are not independent.

    ``by_part`` has a row for each round, whose parts do not overlap.
    """
    of_pairs = by_pair.std(ddof=1) / np.sqrt(len(by_pair))
    folds = by_part.shape[1]
    if folds < 2:
        return float(of_pairs)
    of_parts = np.sqrt(by_part.var(axis=1, ddof=1).mean() / folds)
    return float(max(of_pairs, of_parts))


def _temperature(f: Vector, own: Vector, on_known: bool, rate: float) -> float:
    """The share of the prior, in log-odds, that predicts best."""
    usual = float(logit(rate))

    def cost(t: float) -> float:
        return float(_bits(t * f + (1 - t) * usual, own, on_known).mean())

    best = minimize_scalar(cost, bounds=(0.0, 1.0), method="bounded")
    ends = {0.0: cost(0.0), 1.0: cost(1.0), float(best.x): float(best.fun)}
    return min(ends, key=lambda t: (ends[t], -t))
