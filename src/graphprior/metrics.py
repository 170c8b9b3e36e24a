"""How well edges are found: F1, accuracy and AUC on U, and Algorithm 2.

A method gives each unknown pair a score. Thresholds are chosen on one half of
the graphs and judged on the other, over several splits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.metrics import roc_auc_score

from graphprior.errors import GraphPriorError
from graphprior.graphs import Mask, Matrix, vech

Vector = npt.NDArray[np.float64]
Metric = Callable[[Vector, npt.NDArray[np.bool_]], float]
THRESHOLDS = np.linspace(0.05, 0.95, 19)


def on_unknown(A: Matrix, U: Mask) -> Vector:
    """The entries of ``A`` on the unknown pairs, in the order of vech."""
    a: Vector = vech(A)[vech(U)]
    return a


def f1(truth: Vector, predicted: npt.NDArray[np.bool_]) -> float:
    """2 TP / (2 TP + FP + FN); 0 where nothing is true and nothing predicted."""
    hits = float(np.sum(predicted & (truth == 1)))
    both = float(np.sum(predicted) + np.sum(truth == 1))
    return 2 * hits / both if both else 0.0


def accuracy(truth: Vector, predicted: npt.NDArray[np.bool_]) -> float:
    """Share of pairs predicted right."""
    return float(np.mean(predicted == (truth == 1)))


def auc(truth: Vector, scores: Vector) -> float:
    """Chance that an edge scores above a non-edge; nan where one kind is missing."""
    if len(np.unique(truth)) < 2:
        return float("nan")
    return float(roc_auc_score(truth, scores))


class SplitMetric(NamedTuple):
    """Algorithm 2's answer: the mean over splits, and each split's value and threshold."""

    mean: float
    values: Vector
    thresholds: Vector


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
        [[metric(a, s >= tau) for tau in thresholds] for a, s in zip(truths, scores, strict=True)]
    )
    values, chosen = np.empty(S), np.empty(S)
    for split in range(S):
        order = rng.permutation(R)
        best = table[order[: R // 2]].mean(0).argmax()
        values[split] = table[order[R // 2 :], best].mean()
        chosen[split] = thresholds[best]
    return SplitMetric(float(values.mean()), values, chosen)
