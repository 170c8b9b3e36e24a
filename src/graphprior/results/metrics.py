"""How well edges are found: F1, accuracy and AUC on U, and Algorithm 2.

A method gives each unknown pair a score. Thresholds are chosen on one half of
the graphs and judged on the other, over several splits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.metrics import roc_auc_score

from graphprior.errors import GraphPriorError
from graphprior.graphs.matrices import vech
from graphprior.types import Mask, Matrix, Vector

Metric = Callable[[Vector, npt.NDArray[np.bool_]], Any]
# Fine enough for probabilities and for partial correlations alike.
THRESHOLDS = np.linspace(0.01, 0.99, 99)


def on_unknown(A: Matrix, U: Mask) -> Vector:
    """The entries of ``A`` on the unknown pairs, in the order of vech."""
    a: Vector = vech(A)[vech(U)]
    return a


def f1(truth: Vector, predicted: npt.NDArray[np.bool_]) -> Any:
    """2 TP / (2 TP + FP + FN); 0 where nothing is true and nothing predicted.

    Leading axes of ``predicted`` are a batch of answers to the same question.
    """
    hits = np.sum(predicted & (truth == 1), axis=-1)
    both = np.sum(predicted, axis=-1) + np.sum(truth == 1)
    return 2 * hits / np.maximum(both, 1)


def accuracy(truth: Vector, predicted: npt.NDArray[np.bool_]) -> Any:
    """Share of pairs predicted right; leading axes of ``predicted`` are a batch."""
    return np.mean(predicted == (truth == 1), axis=-1)


METRICS: dict[str, Metric] = {"f1": f1, "accuracy": accuracy}


def auc(truth: Vector, scores: Vector) -> float:
    """Chance that an edge scores above a non-edge; nan where one kind is missing."""
    if len(np.unique(truth)) < 2:
        return float("nan")
    return float(roc_auc_score(truth, scores))


class SplitMetric(NamedTuple):
    """Algorithm 2's answer: the mean over splits, each split's value and threshold.

    ``by_graph`` is the mean of each graph over the splits that judged it, nan
    where none did.
    """

    mean: float
    values: Vector
    thresholds: Vector
    by_graph: Vector


def split_metric(
    truths: Sequence[Vector],
    scores: Sequence[Vector],
    rng: np.random.Generator,
    metric: Metric = f1,
    thresholds: Vector = THRESHOLDS,
    S: int = 10,
) -> SplitMetric:
    """Algorithm 2: tune the threshold on half of the graphs, judge on the other half, S times.

    Ties between thresholds go to the first, as in the paper ("best so far").
    """
    R = len(truths)
    if R < 2 or R != len(scores):
        raise GraphPriorError(f"{R} truths and {len(scores)} scores: expected as many, at least 2")
    table = np.array(
        [metric(a, s >= thresholds[:, None]) for a, s in zip(truths, scores, strict=True)]
    )
    values, chosen = np.empty(S), np.empty(S)
    judged = np.full((S, R), np.nan)
    for split in range(S):
        order = rng.permutation(R)
        best = table[order[: R // 2]].mean(0).argmax()
        test = order[R // 2 :]
        judged[split, test] = table[test, best]
        values[split], chosen[split] = table[test, best].mean(), thresholds[best]
    seen = (~np.isnan(judged)).sum(0)
    by_graph = np.where(seen > 0, np.nansum(judged, 0) / np.maximum(seen, 1), np.nan)
    return SplitMetric(float(values.mean()), values, chosen, by_graph)


def reliability(truth: Vector, p: Vector, count: int = 10) -> list[tuple[float, float, int]]:
    """For equal bins of probability: mean probability, share of edges, number of pairs."""
    which = np.minimum((p * count).astype(int), count - 1)
    inside = (which == b for b in range(count))
    return [(float(p[i].mean()), float(truth[i].mean()), int(i.sum())) for i in inside if i.any()]


def calibration_error(truth: Vector, p: Vector) -> float:
    """Expected calibration error: mean distance of probability and share of edges, by pairs."""
    if not len(p):
        return float("nan")
    return sum(abs(mean - edges) * pairs for mean, edges, pairs in reliability(truth, p)) / len(p)
