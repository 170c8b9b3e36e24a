"""Whether the rows look independent, as the likelihood takes them to be, and a word when not.

Rows of a time series, of batches or of replicates tell less than their number
says: edges between unrelated variables then look certain. What can be seen of
it is rows that occur twice, and rows that are like those near them in the table.
A column that counts the rows is no measurement at all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import chi2

from graphprior.checks import Matrix

FEWEST = 20  # rows below which their order cannot be judged
COUNTING = 5  # rows from which equal steps are no chance
LAGS = 10  # of the test whether neighbours are alike
DOUBT = 1e-5  # level of the test; it is approximate, and correlated columns reach .001
COPIES = 0.02  # share of repeated rows that matters
INFLATION = 1.5  # of the variance of a correlation: what matters, however sure it is

Columns = npt.NDArray[np.intp]


class Order(NamedTuple):
    """How alike rows near each other are: in which columns, and how many times too many they are.

    ``inflation`` is that of the variance of a correlation between two such columns.
    """

    columns: Columns
    neighbours: float
    inflation: float


def dependent_rows(X: Matrix, names: tuple[str, ...]) -> list[str]:
    """A sentence for each way in which the rows of X (k, n) are seen to be dependent."""
    k, lines = len(X), []
    for i in np.flatnonzero(counters(X)):
        lines.append(
            f"column {names[i]!r} moves by the same step in every row: a counter or a time is no "
            "measurement, and takes part in edges as if it were one; leave it out"
        )
    copies = repeated_rows(X)
    if copies >= max(2, COPIES * k):
        lines.append(
            f"{copies} of {k} rows repeat another row in every column: each counts as an "
            "observation of its own, so probabilities are too sure; remove the copies"
        )
    order = row_order(X)
    if order is not None and order.inflation >= INFLATION:
        lines.append(_order_words(order, k, names))
    return lines


def row_facts(X: Matrix) -> dict[str, float]:
    """For diagnostics: how many times too many the rows are, 1 where nothing is seen of it."""
    order = row_order(X)
    return {"row_inflation": 1.0 if order is None else max(order.inflation, 1.0)}


def _order_words(order: Order, k: int, names: tuple[str, ...]) -> str:
    count, n = len(order.columns), len(names)
    which = "all columns" if count == n else f"{count} of {n} columns ({_some(order, names)})"
    return (
        f"rows do not look independent: those near each other in the table are alike in {which} "
        f"(correlation of neighbours {order.neighbours:.2f}), as in time series, batches, sorted "
        f"groups or replicates. There {k} rows tell about as much as {k / order.inflation:.0f} "
        "independent ones, so probabilities are too sure: take out trends or the means of batches "
        f"and groups, average replicates, or keep one row in {np.ceil(order.inflation):.0f}"
    )


def _some(order: Order, names: tuple[str, ...], most: int = 3) -> str:
    shown = ", ".join(names[i] for i in order.columns[:most])
    return shown + (", ..." if len(order.columns) > most else "")


def repeated_rows(X: Matrix) -> int:
    """Complete rows that occur before; 0 where few distinct values make that likely by chance."""
    rows = X[~np.isnan(X).any(axis=1)]
    if len(rows) < 2:
        return 0
    distinct = np.unique(rows, axis=0)
    # Chance that two rows agree, as if half of the columns told nothing new.
    agree = 1.0
    for column in distinct.T:
        counts = np.unique(column, return_counts=True)[1]
        agree *= float(np.sqrt(max((counts**2).sum() - len(column), 0.5)) / len(column))
    by_chance = agree * len(rows) ** 2 / 2
    return len(rows) - len(distinct) if by_chance < 0.01 else 0


def row_order(X: Matrix) -> Order | None:
    """How rows depend on those near them; None where nothing is seen, or in one column only.

    Whether is asked of all columns at once, by Ljung and Box's sums of squared
    autocorrelations. How much is Bartlett's formula: the correlation of two
    independent series varies 1 + 2 sum_l r_i(l) r_j(l) times as much as that of
    independent rows. A counter is left out. Any other column in order is what the
    table was sorted by; rows are then asked for what it does not explain.
    """
    k = len(X)
    if k < FEWEST:
        return None
    Z = _standardised(X)
    has_order, counts = _sorted(X), counters(X)
    there = np.flatnonzero(Z.any(axis=0) & ~has_order & ~counts)
    if len(there) < 2:
        return None
    Z = _standardised(_unexplained(Z[:, there], Z[:, has_order & ~counts]))
    r = _autocorrelations(Z, max(LAGS, k // 4))
    box = k * (k + 2) * (r[:LAGS] ** 2 / (k - np.arange(1, LAGS + 1))[:, None]).sum(axis=0)
    # The sums of correlated columns go together, and count as fewer of them.
    R = Z.T @ Z / k
    columns = len(there) ** 2 / (R**4).sum()
    if chi2.sf(box.mean() * columns, LAGS * columns) > DOUBT:
        return None
    alike = np.flatnonzero(chi2.sf(box, LAGS) < 0.01)
    if len(alike) < 2:
        return None
    r = r[:, alike]
    pairs = len(alike) * (len(alike) - 1)
    product = ((r.sum(axis=1) ** 2 - (r**2).sum(axis=1)) / pairs).sum()
    return Order(there[alike], float(r[0].mean()), 1 + 2 * float(product))


def _standardised(X: Matrix) -> Matrix:
    """Columns of mean 0 and variance 1, 0 where an entry is missing or the column has no spread."""
    there = ~np.isnan(X)
    count = np.maximum(there.sum(axis=0), 1)
    Z = np.where(there, X, 0.0)
    Z = np.where(there, Z - Z.sum(axis=0) / count, 0.0)
    scale = np.sqrt((Z**2).mean(axis=0))
    flat = scale <= 1e-12 * np.nanmax(np.abs(X), axis=0, initial=0.0)
    return np.asarray(np.where(flat, 0.0, Z / np.where(flat, 1.0, scale)))


def _sorted(X: Matrix) -> npt.NDArray[np.bool_]:
    steps = np.diff(X, axis=0)
    return np.asarray((steps >= 0).all(axis=0) | (steps <= 0).all(axis=0))


def counters(X: Matrix) -> npt.NDArray[np.bool_]:
    """Columns that rise or fall by one step from row to row."""
    if len(X) < COUNTING:
        return np.zeros(X.shape[1], dtype=bool)
    steps = np.diff(X, axis=0)
    even = np.abs(steps - steps[0]) <= 1e-6 * np.abs(steps[0])
    return np.asarray(even.all(axis=0) & (steps[0] != 0))


def _unexplained(Z: Matrix, by: Matrix) -> Matrix:
    """What is left of columns after regression on others."""
    return np.asarray(Z - by @ np.linalg.lstsq(by, Z, rcond=None)[0]) if by.size else Z


def _autocorrelations(Z: Matrix, lags: int) -> Matrix:
    """r (lags, n): row l - 1 at lag l, of standardised columns (k, n), by Fourier transform."""
    k = len(Z)
    spectrum = np.abs(np.fft.rfft(Z, 2 * k, axis=0)) ** 2
    return np.asarray(np.fft.irfft(spectrum, 2 * k, axis=0)[1 : lags + 1] / k)
