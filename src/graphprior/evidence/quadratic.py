"""The likelihood of Theta's free entries as a Gaussian: where it touches, and entries taken out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_solve

from graphprior.gaussian.linalg import cholesky_with_nugget
from graphprior.types import Index, Matrix, Vector


class Coupled(NamedTuple):
    """A Gaussian likelihood of strengths: exp(b theta - theta F theta / 2)."""

    F: Matrix
    b: Vector


def scaled(W: Matrix, slope: Matrix, share: Vector | None) -> tuple[Matrix, Matrix]:
    """W and the slope W - S when k rows tell of a pair what k share_i share_j would.

    F is made of products W_ij W_kl, so W scaled by the roots of the shares gives
    every pair its own number of observations and keeps F's form.
    """
    if share is None:
        return W, slope
    each = np.outer(share, share)
    return W * np.sqrt(each), slope * each


def with_variances(Theta: Matrix, S: Matrix) -> Matrix:
    """``Theta`` in units in which the diagonal of its inverse is that of S.

    The mean of drawn precision matrices implies variances that are smaller than those of the data,
    by two rows' worth or so. Where rows are few, covariances are then larger than can be.
    """
    unit = np.sqrt(np.diag(np.linalg.inv(Theta)) / np.diag(S))
    scaled_up: Matrix = Theta * np.outer(unit, unit)
    return scaled_up


def linearise(
    Theta: Matrix, S: Matrix, k: float, rows: Index, cols: Index, share: Vector | None = None
) -> Coupled:
    """The Gaussian that touches the likelihood at ``Theta``: Fisher information, and b."""
    inverse = np.asarray(np.linalg.inv(Theta), dtype=np.float64)
    W, slope = scaled(inverse, inverse - S, share)
    weight = np.where(rows == cols, 0.5, 1.0)
    F = (
        W[np.ix_(rows, rows)] * W[np.ix_(cols, cols)]
        + W[np.ix_(rows, cols)] * W[np.ix_(cols, rows)]
    )
    F *= k * np.outer(weight, weight)
    b = F @ Theta[rows, cols] + k * weight * slope[rows, cols]
    return Coupled(F, b)


def integrate_out(
    F: Matrix, b: Vector, nuisance: npt.NDArray[np.bool_], precision: Vector
) -> tuple[Matrix, Vector, Matrix, Vector, Matrix]:
    """F and b of the other entries, N(0, 1/precision) nuisance integrated out.

    Also the nuisance's mean as a linear function of the others' strengths
    (slope, mean at zero), and the Cholesky factor of its own information.
    """
    factor = cholesky_with_nugget(F[np.ix_(nuisance, nuisance)] + np.diag(precision))
    across = F[np.ix_(nuisance, ~nuisance)]
    right = np.column_stack([across, b[nuisance]])
    solved = np.asarray(cho_solve((factor, True), right), dtype=np.float64)
    slope, at_zero = -solved[:, :-1], solved[:, -1]
    rest = F[np.ix_(~nuisance, ~nuisance)] + across.T @ slope
    return (rest + rest.T) / 2, b[~nuisance] - across.T @ at_zero, slope, at_zero, factor
