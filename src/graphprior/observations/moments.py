"""Mean and covariance of the observations, and how many observations they are worth.

All that follows reads the data through these: complete or with entries missing.
Where entries are missing, or rows are a series, a pair is worth fewer
observations than there are rows; `worth` says how many, and k is their mean.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from graphprior.errors import GraphPriorError
from graphprior.gaussian.linalg import (
    LEAST_EIGENVALUE,
    apart,
    nearest_correlation,
    to_unit_diagonal,
)
from graphprior.gaussian.wishart import fit_wishart
from graphprior.graphs.matrices import pairs, vech
from graphprior.observations.missing import expectation_maximisation, information
from graphprior.observations.series import inflations
from graphprior.types import Mask, Matrix, Vector

FEWEST = 2
ROUNDS = 8


@dataclass(frozen=True, eq=False)
class Moments:
    """Mean and covariance ``S`` (divided by k, not k - 1) of observations.

    ``k`` is the number of complete, independent observations that they are worth, ``worth``
    (n, n) the same for each pair, None where all are worth k. ``settled`` tells
    whether expectation-maximisation converged.
    """

    mean: Vector
    S: Matrix
    k: float
    worth: Matrix | None = None
    settled: bool = True

    @property
    def share(self) -> Vector | None:
        """s with worth_ij about k s_i s_j: how much of each variable was seen; None for all."""
        if self.worth is None:
            return None
        n = len(self.worth)
        # Least squares in logarithms: row sums of log worth over the other variables.
        log = np.log(np.maximum(self.worth, FEWEST / 2) / self.k)
        np.fill_diagonal(log, 0.0)
        row = log.sum(axis=1)
        fit = row / 2 if n == 2 else (row - row.sum() / (2 * (n - 1))) / (n - 2)
        share: Vector = np.exp(fit)
        return share


def sample_covariance(X: Matrix, assume_centered: bool = False) -> Matrix:
    """S, the covariance of the observations (divided by k)."""
    X = X if assume_centered else X - X.mean(axis=0)
    S: Matrix = X.T @ X / len(X)
    return S


def as_series(found: Moments, X: Matrix, assume_centered: bool = False) -> Moments:
    """The same covariance, worth as many independent rows as tell as much of Theta.

    S is off by some error E and its inverse by -Theta E Theta: that of a pair is the covariance
    of the residuals X Theta, whose memory counts. Where rows are few, or others have gaps, they
    seem to have less than they have, so a variable's own memory counts if it is longer.
    """
    R, scale = to_unit_diagonal(found.S)
    R, Z = apart(R, LEAST_EIGENVALUE), (X - found.mean) / scale
    own = inflations(Z, assume_centered)
    k = _mean_worth(_fewer(found, own))
    Theta = fit_wishart(R, k).posterior_mean(R, k)
    U = np.where(np.isnan(Z), np.nan, np.nan_to_num(Z) @ Theta)
    of_residuals = inflations(U, assume_centered)
    worth = _fewer(found, np.maximum(own, of_residuals))
    return replace(found, k=_mean_worth(worth), worth=worth)


def _fewer(found: Moments, many: Vector) -> Matrix:
    """Worth of pairs whose variables have ``many`` times too many rows.

    Their geometric mean: what two columns share of their memories is that at most.
    """
    whole = found.k if found.worth is None else found.worth
    return np.asarray(whole / np.sqrt(np.outer(many, many)))


def em_moments(X: Matrix, assume_centered: bool, names: tuple[str, ...] = ()) -> Moments:
    """Expectation-maximisation for entries missing at random, and what each pair is worth.

    A pair's worth is its observed Fisher information, in units of what one
    complete row would give. S is such that so many complete rows with it, and
    the same Wishart prior, would give the Sigma found: the prior is not left in.
    """
    centre, scale = _units(X, assume_centered)
    Z = (X - centre) / scale
    R, counts, _ = _correlations(Z, assume_centered)
    prior = fit_wishart(nearest_correlation(R), max(_mean_worth(counts), FEWEST))
    fit = expectation_maximisation(Z, assume_centered, prior)
    # A row without a variable cannot tell more of it than one that has it; where next to nothing
    # was seen Sigma is degenerate, seems to predict the rest, and the information says otherwise.
    own = np.diag(counts)
    worth = np.minimum(information(fit), np.minimum.outer(own, own))
    S = fit.Sigma + (prior.nu * fit.Sigma - np.diag(prior.psi)) / np.maximum(worth, FEWEST / 2)
    R, spread = to_unit_diagonal(S)
    scale_S = scale * spread
    S = nearest_correlation(R) * np.outer(scale_S, scale_S)
    # And a row without one of two says next to nothing of a weak edge between them.
    worth = np.minimum(worth, counts)
    return Moments(centre + scale * fit.mean, S, _mean_worth(worth), worth, fit.settled)


def pairwise_moments(X: Matrix, assume_centered: bool, names: tuple[str, ...] = ()) -> Moments:
    """Each correlation from the rows that have both, then the nearest correlation matrix.

    For entries missing completely at random. A pair is worth its rows, or fewer
    where variables depend strongly on each other (`noise_of_pairs`).
    """
    centre, scale = _units(X, assume_centered)
    R, counts, varied = _correlations((X - centre) / scale, assume_centered)
    _refuse_pair(counts < FEWEST, names, f"seen together in fewer than {FEWEST} rows")
    _refuse_pair(~varied, names, "without variation in the rows that have both")
    R = nearest_correlation(R)
    worth = _worth_of_pairs(R, counts, np.diag(counts) / len(X))
    return Moments(centre, R * np.outer(scale, scale), _mean_worth(worth), worth)


def _worth_of_pairs(R: Matrix, counts: Matrix, seen: Vector) -> Matrix:
    """Rows less the noise, which depends on Theta, which depends on how many rows count."""
    worth, k = counts, _mean_worth(counts)
    for _ in range(ROUNDS):
        Theta = fit_wishart(R, k).posterior_mean(R, k)
        loss = noise_of_pairs(Theta, seen)
        worth = counts / np.outer(loss, loss)
        last, k = k, float(np.sqrt(k * max(_mean_worth(worth), FEWEST)))  # else it swings
        if abs(np.log(k / last)) < 0.01:
            break
    return worth


def noise_of_pairs(Theta: Matrix, seen: Vector) -> Vector:
    """How much noisier Theta is than pair counts say, as a factor for each variable, from 1 on.

    With all rows whole, errors of covariances that share a row cancel in
    Theta_ij, whose variance is Theta_ii Theta_jj / k for a weak pair. With
    entries missing they do not: a variable that is ``seen`` in a share s of the
    rows comes with weights 0 and 1/s, and Theta_ii becomes
    Theta_ii + sum_a Theta_ia**2 Sigma_aa (1 - s_a) / s_a.
    """
    Sigma = np.linalg.inv(Theta)
    added = Theta**2 @ (np.diag(Sigma) * (1 - seen) / seen)
    factor: Vector = seen * (1 + added / np.diag(Theta))
    return np.maximum(factor, 1.0)


def _correlations(Z: Matrix, assume_centered: bool) -> tuple[Matrix, Matrix, Mask]:
    """Correlations by the rows that have both, 0 where they tell none; row counts; which tell."""
    seen = ~np.isnan(Z)
    Z, here = np.where(seen, Z, 0.0), seen.astype(float)
    counts = here.T @ here
    rows = np.maximum(counts, 1)
    # sums[i, j] is of variable i over the rows that have both i and j.
    products, sums, squares = Z.T @ Z / rows, Z.T @ here / rows, (Z**2).T @ here / rows
    if not assume_centered:
        products, squares = products - sums * sums.T, squares - sums**2
    varied = (squares > 1e-12) & (squares.T > 1e-12) & (counts >= FEWEST)
    size = np.sqrt(np.where(varied, squares * squares.T, 1.0))
    R = np.where(varied, np.clip(products / size, -1, 1), 0.0)
    np.fill_diagonal(R, 1.0)
    return (R + R.T) / 2, counts, varied


def _units(X: Matrix, assume_centered: bool) -> tuple[Vector, Vector]:
    """Centre and spread of each column's own values."""
    centre = np.zeros(X.shape[1]) if assume_centered else np.nanmean(X, axis=0)
    return centre, np.sqrt(np.nanmean((X - centre) ** 2, axis=0))


def _mean_worth(worth: Matrix) -> float:
    return float(vech(worth).mean())


def _refuse_pair(bad: Mask, names: tuple[str, ...], what: str) -> None:
    rows, cols = pairs(len(bad))
    bad = bad | bad.T
    found = np.flatnonzero(bad[rows, cols])
    if len(found):
        i, j = rows[found[0]], cols[found[0]]
        raise GraphPriorError(
            f"{names[i]} and {names[j]} are {what} ({len(found)} such pairs): "
            "drop the columns that miss most"
        )
