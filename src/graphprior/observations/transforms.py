"""Measurements made more Gaussian, column by column, and a word when they are far from it.

``standardise`` centres and scales. ``log`` is the natural logarithm. ``normal-scores``
puts each value at the Gaussian quantile of its rank, so that any Gaussian copula
becomes a Gaussian (the nonparanormal): rank r of k goes to the quantile of
r / (k + 1), ties share their mean rank, and a value beyond those seen is cut to
the first or last of them. Missing entries (nan) stay missing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri
from scipy.stats import kurtosis, kurtosistest, skew, skewtest
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from graphprior.choices import TransformKind
from graphprior.errors import GraphPriorError
from graphprior.types import Matrix

FEWEST = 20  # observations below which shape cannot be judged
SKEW, HEAVY = 1.0, 2.0  # skewness and excess kurtosis that matter, however sure they are
DOUBT = 0.001  # share of Gaussian tables of which something is said by chance


class Transform(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A scikit-learn transformer of one `TransformKind`; a DataFrame keeps its names."""

    def __init__(self, kind: str = "normal-scores") -> None:
        self.kind = kind

    def fit(self, X: Any, y: Any = None) -> Transform:
        """Learn what the kind needs of each column of X (k, n)."""
        TransformKind.of("kind", self.kind)
        table = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        if self.kind == TransformKind.STANDARDISE:
            self.location_, self.scale_ = _moments(table)
        if self.kind == TransformKind.NORMAL_SCORES:
            self.sorted_ = [np.sort(column[~np.isnan(column)]) for column in table.T]
        return self

    def transform(self, X: Any) -> Any:
        """The columns of X, transformed as those that were fitted."""
        check_is_fitted(self)
        table = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        names = [str(c) for c in getattr(X, "columns", [f"x{i}" for i in range(table.shape[1])])]
        out = self._apply(table, names)
        return pd.DataFrame(out, X.index, X.columns) if isinstance(X, pd.DataFrame) else out

    def _apply(self, X: Matrix, names: list[str]) -> Matrix:
        if self.kind == TransformKind.STANDARDISE:
            return np.asarray((X - self.location_) / self.scale_)
        if self.kind == TransformKind.LOG:
            return _log(X, names)
        if self.kind == TransformKind.NORMAL_SCORES:
            return np.stack([_scores(x, s) for x, s in zip(X.T, self.sorted_, strict=True)], 1)
        return X

    def __sklearn_tags__(self) -> Any:
        """Missing entries pass."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _moments(X: Matrix) -> tuple[Matrix, Matrix]:
    """Mean and standard deviation of each column; a column without spread is only centred."""
    there = ~np.isnan(X)
    count = np.maximum(there.sum(axis=0), 1)
    mean = np.where(there, X, 0.0).sum(axis=0) / count
    scale = np.sqrt(np.where(there, (X - mean) ** 2, 0.0).sum(axis=0) / count)
    flat = scale <= 8 * np.finfo(float).eps * np.abs(mean)
    return mean, np.where(flat, 1.0, scale)


def _log(X: Matrix, names: list[str]) -> Matrix:
    bad = np.argwhere(X <= 0)
    if len(bad):
        t, i = bad[0]
        raise GraphPriorError(
            f"column {names[i]!r}, row {t} (counted from 0) is {X[t, i]:g}: the logarithm needs "
            f"positive values ({len(bad)} are not); use normal-scores, or add a constant first"
        )
    return np.log(X)


def _scores(x: Matrix, seen: Matrix) -> Matrix:
    """Gaussian quantiles of the ranks of ``x`` among the sorted values ``seen``."""
    k = len(seen)
    rank = (np.searchsorted(seen, x, "left") + np.searchsorted(seen, x, "right") + 1) / 2
    scores = ndtri(np.clip(rank, 1, max(k, 1)) / (k + 1))
    return np.where(np.isnan(x), np.nan, scores)


def transform_table(X: pd.DataFrame, kind: str) -> pd.DataFrame:
    """The table with all columns transformed."""
    if TransformKind.of("transform", kind) is TransformKind.NONE:
        return X
    infinite = np.argwhere(np.isinf(X.to_numpy(dtype=np.float64)))
    if len(infinite):
        t, i = infinite[0]
        raise GraphPriorError(
            f"column {X.columns[i]!r}, row {t} (counted from 0) is infinite: every entry must be a "
            f"finite number ({len(infinite)} are not); correct them or leave them empty"
        )
    table: pd.DataFrame = Transform(kind).fit_transform(X)
    return table


def far_columns(X: Matrix) -> list[int]:
    """Columns that are far from Gaussian, the farthest first.

    A column counts if its skewness or excess kurtosis is both large and more than
    chance: D'Agostino's and Anscombe's tests at `DOUBT`, shared among all columns.
    Tails lighter than Gaussian harm a covariance little and are let pass.
    """
    k = (~np.isnan(X)).sum(axis=0)
    judged = np.flatnonzero(
        (k >= FEWEST) & (np.nanmax(X, 0, initial=0) > np.nanmin(X, 0, initial=0))
    )
    far = [(_distance(X[:, i], len(judged)), i) for i in judged]
    return [int(i) for distance, i in sorted(far, reverse=True) if distance > 0]


def _distance(x: Matrix, columns: int) -> float:
    """How far beyond what matters, 0 where it does not or may be chance."""
    x = x[~np.isnan(x)]
    x = (x - x.mean()) / max(x.std(), np.finfo(float).tiny)
    level = DOUBT / (2 * columns)
    found = 0.0
    g1, g2 = float(skew(x)), float(kurtosis(x))
    if abs(g1) > SKEW and skewtest(x).pvalue < level:
        found = abs(g1) / SKEW
    if g2 > HEAVY and kurtosistest(x, alternative="greater").pvalue < level:
        found = max(found, g2 / HEAVY)
    return found


def remedy(X: Matrix) -> TransformKind:
    """The logarithm where it mends every such column, else ranks."""
    if np.nanmin(X) <= 0:
        return TransformKind.NORMAL_SCORES
    logs = np.log(X)
    mended = all(_distance(logs[:, i], X.shape[1]) == 0 for i in range(X.shape[1]))
    return TransformKind.LOG if mended else TransformKind.NORMAL_SCORES
