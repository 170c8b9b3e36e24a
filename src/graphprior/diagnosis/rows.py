"""What may be wrong with the rows and the columns of a table, in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import kurtosis, skew

from graphprior.observations.series import COPIES, Order, counters, repeated_rows
from graphprior.observations.transforms import far_columns, remedy
from graphprior.types import Matrix


def dependent_rows(
    X: Matrix, names: Sequence[str], order: Order | None, time_series: bool = False
) -> list[str]:
    """A sentence for each way in which the rows of X (k, n) are not what they are taken for."""
    lines = [
        f"column {name!r} moves by the same step in every row: a counter or a time is no "
        "measurement, and takes part in edges as if it were one; leave it out"
        for name, counts in zip(names, counters(X), strict=True)
        if counts
    ]
    copies = repeated_rows(X)
    if copies >= max(2, COPIES * len(X)):
        what = f"{copies} of {len(X)} rows repeat another row in every column: "
        if time_series:
            what += "was what measures stuck, or the table joined to itself?"
        else:
            what += "each counts as an observation of its own, so probabilities are too sure; "
            what += "remove the copies"
        lines.append(what)
    if order is not None and not time_series:
        lines.append(_words(order, *X.shape))
    if order is None and time_series:
        lines.append(
            "the rows were taken as a time series, but those near each other are not seen to be "
            "alike: is the table in the order of time?"
        )
    return lines


def _words(order: Order, k: int, n: int, most: int = 3) -> str:
    """The order alone does not tell series from sorted groups, so each is said."""
    count = len(order.columns)
    some = ", ".join(order.columns[:most]) + (", ..." if count > most else "")
    which = "all columns" if count == n else f"{count} of {n} columns ({some})"
    return (
        f"rows depend on those near them in the table, in {which} (correlation of neighbours "
        f"{order.neighbours:.2f}). If they are in the order of time or of replicates, {k} tell no "
        f"more of these columns than about {k / order.inflation:.0f} independent ones, and "
        "probabilities are too sure: of time, time_series=True counts fewer; take "
        "out trends, average replicates. If they are sorted by groups, what tells the groups apart "
        "makes edges: take out the means of groups. If the table was only sorted by a variable, "
        "nothing is wrong"
    )


def far_from_gaussian(X: Matrix, names: Sequence[str]) -> str | None:
    """A sentence that names the columns farthest from Gaussian, or None."""
    worst = far_columns(X)
    if not worst:
        return None
    shown = ", ".join(f"{names[i]} ({_shape(X[:, i])})" for i in worst[:3])
    return (
        f"{len(worst)} of {X.shape[1]} columns are far from Gaussian, most of all {shown}: "
        f"the estimate takes them as Gaussian; consider the transform {remedy(X[:, worst])!r}"
    )


def _shape(x: Matrix) -> str:
    x = x[~np.isnan(x)]
    return f"skewness {skew(x):.1f}, excess kurtosis {kurtosis(x):.1f}"
