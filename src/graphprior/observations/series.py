"""Whether the rows look independent, as the likelihood takes them to be, and a word when not.

Rows of a time series, of batches or of replicates tell less than their number
says: edges between unrelated variables then look certain. What can be seen of
it is rows that occur twice, and rows that depend on those near them in the
table. A column that counts the rows is no measurement at all. Of rows that the
user says are a series, how many times too many they are is told for each column.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri
from scipy.stats import chi2, rankdata

from graphprior.graphs.matrices import vech
from graphprior.observations.checks import SHORTEST_SERIES
from graphprior.types import Matrix, Vector

COUNTING = 5  # rows from which equal steps are no chance
LAGS = 10  # of the test whether rows depend on those near them
FARTHEST = 1000  # rows over which `row_order` follows the dependence
DOUBT = 1e-5  # level of the test; it is approximate, and strongly correlated columns reach .002
COPIES = 0.02  # share of repeated rows that matters
INFLATION = 1.3  # of the variance of a correlation: what matters, however sure it is
SPARE = 2**22  # entries of a Fourier transform made at once


class Order(NamedTuple):
    """Rows that depend on those near them: in which columns, and how many times too many they are.

    ``inflation`` is that of the variance of a correlation between two such columns.
    """

    columns: list[str]
    neighbours: float
    inflation: float


def repeated_rows(X: Matrix) -> int:
    """Complete rows that occur before; 0 where columns of few values may make that by chance."""
    rows = X[~np.isnan(X).any(axis=1)]
    if len(rows) < 2:
        return 0
    distinct, times = np.unique(rows, axis=0, return_counts=True)
    # Chance that two rows agree, as if half of the columns told nothing new.
    agree = float(np.prod([np.sqrt(_ties(column)) for column in distinct.T]))
    by_chance = agree * len(rows) ** 2 / 2
    return len(rows) - len(distinct) if (times * (times - 1) / 2).sum() > 3 * by_chance else 0


def _ties(x: Matrix) -> float:
    """Share of pairs of entries that are equal."""
    times = np.unique(x, return_counts=True)[1]
    return float((times * (times - 1)).sum() / max(len(x) * (len(x) - 1), 1))


def row_order(X: Matrix, names: Sequence[str]) -> Order | None:
    """How rows depend on those near them; None where it matters little, or in one column only.

    Whether is asked of all columns at once, by Ljung and Box's sums of squared
    autocorrelations. How much is Bartlett's formula: the correlation of two
    independent series varies 1 + 2 sum_l r_i(l) r_j(l) times as much as that of
    independent rows (of replicates it sees a half to two thirds of the excess).
    A counter is left out. Any other column in order is what the table was sorted
    by; rows are then asked for what it does not explain.
    """
    k = len(X)
    if k < SHORTEST_SERIES:
        return None
    Z, counts = _standardised(X), counters(X)
    has_order = np.array([_is_sorted(x) for x in X.T]) & ~counts
    there = np.flatnonzero(Z.any(axis=0) & ~has_order & ~counts)
    if len(there) < 2:
        return None
    Z = _standardised(_unexplained(Z[:, there], X[:, has_order]))
    r = _autocorrelations(Z)
    R = Z.T @ Z / k
    alike = _alike(r, R, k)
    if len(alike) < 2:
        return None
    inflation = float(vech(_bartlett(r[:, alike], R[np.ix_(alike, alike)], k)).mean())
    if inflation < INFLATION:
        return None
    return Order([names[i] for i in there[alike]], float(r[0, alike].mean()), inflation)


def _alike(r: Matrix, R: Matrix, k: int) -> npt.NDArray[np.intp]:
    """Columns in which rows depend on those near them; none where all together may be chance."""
    box = k * (k + 2) * (r[:LAGS] ** 2 / (k - np.arange(1, LAGS + 1))[:, None]).sum(axis=0)
    # The sums of correlated columns go together, and count as fewer of them.
    columns = len(R) ** 2 / (R**4).sum()
    if chi2.sf(box.mean() * columns, LAGS * columns) > DOUBT:
        return np.empty(0, dtype=np.intp)
    return np.flatnonzero(chi2.sf(box, LAGS) < 0.01)


def inflations(Z: Matrix, assume_centered: bool = False) -> Vector:
    """How many times too many the rows of a series are for each column of Z (k, n); from 1 on.

    Columns have mean zero, and nan where an entry is missing. So much more does the covariance
    of two such columns vary than with independent rows: I = 1 + 2 sum_l w(l) r(l)**2, where w(l)
    is the share of the rows seen that have one seen l rows later.
    """
    parts = _parts(Z, _lags(len(Z)))
    return np.concatenate([_of_columns(part, assume_centered) for part in parts])


def _of_columns(Z: Matrix, assume_centered: bool) -> Vector:
    lags = _lags(len(Z))
    seen, r = (_lagged_sums(part, lags) for part in (~np.isnan(Z) * 1.0, np.nan_to_num(Z)))
    k = seen[0]
    w = np.round(seen[1:]) / k
    r = np.where(w > 0, r[1:] / r[0] / np.where(w > 0, w, 1.0), 0.0)
    if not assume_centered:
        r = _about_true_mean(r, w, k)
    return np.maximum(_less_chance(1 + 2 * (w * r**2).sum(axis=0), (w > 0).sum(axis=0), k), 1.0)


def _about_true_mean(r: Matrix, w: Matrix, k: Vector) -> Matrix:
    """Autocorrelations about the true mean: the mean of k rows takes v of the variance with it.

    r becomes (r - v) / (1 - v) by it, where v = (1 + 2 sum w r) / k; solved for v.
    """
    told = 2 * (w * r).sum(axis=0)
    v = (1 + told) / np.maximum(k + told - 2 * w.sum(axis=0), 0.1 * k)
    return np.asarray(r + np.clip(v, 0.0, 0.5) * (1 - r))


def _less_chance(total: Vector, lags: Vector, k: Vector) -> Vector:
    """I of which ``total`` was found: chance adds I / k at every lag beyond the memory's I.

    (Bartlett: far autocorrelations have the variance I / k.) So total = I + 2 (lags - I) I / k.
    """
    b = 1 + 2 * lags / k
    own = k / 4 * (b - np.sqrt(np.maximum(b**2 - 8 * total / k, 0.0)))
    return np.where(total < lags, own, total)


def _bartlett(r: Matrix, R: Matrix, k: int) -> Matrix:
    """1 + 2 sum_l r_i(l) r_j(l) for each two columns."""
    # What chance gives: autocorrelations of correlated columns err together.
    far = 1 - np.arange(1, len(r) + 1) / k
    return np.asarray(1 + 2 * (r.T @ r - R**2 * far.sum() / k))


def _standardised(X: Matrix) -> Matrix:
    """Columns of mean 0 and variance 1, 0 where an entry is missing or the column has no spread."""
    there = ~np.isnan(X)
    count = np.maximum(there.sum(axis=0), 1)
    Z = np.where(there, X, 0.0)
    largest = np.abs(Z).max(axis=0)
    Z /= np.where(largest > 0, largest, 1.0)  # no square is too large or small then
    Z = np.where(there, Z - Z.sum(axis=0) / count, 0.0)
    scale = np.sqrt((Z**2).mean(axis=0))
    flat = scale <= 1e-12
    return np.asarray(np.where(flat, 0.0, Z / np.where(flat, 1.0, scale)))


def counters(X: Matrix) -> npt.NDArray[np.bool_]:
    """Columns that rise or fall by one step from row to row."""
    if len(X) < COUNTING:
        return np.zeros(X.shape[1], dtype=bool)
    steps = np.diff(X, axis=0)
    even = np.abs(steps - steps[0]) <= 1e-6 * np.abs(steps[0])
    return np.asarray(even.all(axis=0) & (steps[0] != 0))


def _is_sorted(x: Matrix) -> bool:
    steps = np.diff(x[~np.isnan(x)])
    return bool((steps >= 0).all() or (steps <= 0).all())


def _unexplained(Z: Matrix, by: Matrix) -> Matrix:
    """What is left of columns after regression on others and their normal scores."""
    if not by.size:
        return Z
    ranks = rankdata(by, axis=0, nan_policy="omit")
    scores = np.nan_to_num(ndtri(ranks / (len(by) + 1)))
    given = np.column_stack([_standardised(by), scores])
    return np.asarray(Z - given @ np.linalg.lstsq(given, Z, rcond=None)[0])


def _autocorrelations(Z: Matrix) -> Matrix:
    """r (lags, n): row l - 1 at lag l, of standardised columns (k, n), by Fourier transform."""
    lags = min(_lags(len(Z)), FARTHEST)
    sums = [_lagged_sums(part, lags)[1:] for part in _parts(Z, lags)]
    return np.asarray(np.concatenate(sums, axis=1) / len(Z))


def _parts(Z: Matrix, lags: int) -> list[Matrix]:
    """Columns whose transforms are made at once."""
    size = Z.shape[1] * next_fast_len(len(Z) + lags, real=True)
    return np.array_split(Z, max(1, size // SPARE), axis=1)


def _lags(k: int) -> int:
    """How far dependence is followed in k rows; beyond, it is mostly chance."""
    return max(LAGS, k // 4)


def _lagged_sums(Z: Matrix, lags: int) -> Matrix:
    """Sums of products of entries 0 to ``lags`` rows apart in each column."""
    size = next_fast_len(len(Z) + lags, real=True)
    return np.asarray(irfft(np.abs(rfft(Z, size, axis=0)) ** 2, size, axis=0)[: lags + 1])
