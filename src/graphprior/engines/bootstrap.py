"""When nothing is known: let resampled graphical lassos fix the confident pairs.

The share of bootstrap samples in which the lasso keeps an edge is read as its
probability; pairs far from one half are taken as known, the rest stay unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real

import numpy as np

from graphprior.errors import GraphPriorError, check_count, check_number
from graphprior.gaussian.glasso import weighted_glasso
from graphprior.observations.moments import sample_covariance
from graphprior.problem.problem import Problem
from graphprior.types import Matrix, Progress


def default_penalty(n: int, k: int) -> float:
    """sqrt(log n / k): the rate of noise in a correlation."""
    return float(np.sqrt(np.log(max(n, 2)) / k))


def correlation(X: Matrix) -> Matrix:
    """Correlation matrix; a column that is constant (in a resample) is left uncorrelated."""
    S = sample_covariance(X)
    spread = np.sqrt(np.diag(S))
    flat = np.ptp(X, axis=0) == 0
    scale = np.where(flat, 1.0, spread)
    R = S / scale[:, None] / scale
    np.fill_diagonal(R, 1.0)
    return np.asarray(R)


def graphical_lasso_graph(R: Matrix, lam: float, tol: float = 1e-4) -> Matrix:
    """Support of a graphical lasso with penalty ``lam`` off the diagonal."""
    Lambda = np.full(R.shape, lam)
    np.fill_diagonal(Lambda, 0.0)
    A: Matrix = (weighted_glasso(R, Lambda, tol=tol) != 0).astype(np.float64)
    np.fill_diagonal(A, 0.0)
    return A


def bootstrapped_glasso(
    X: Matrix,
    rng: np.random.Generator,
    lam: float | None = None,
    B: int = 50,
    progress: Callable[[int, int], None] | None = None,
    of: Callable[[Matrix], Matrix] = correlation,
) -> Matrix:
    """A_boot: share of B bootstrap samples whose graphical lasso has the edge. Eq. (30).

    The penalty acts on what ``of`` makes of a resample: correlations, so that
    units do not matter, or covariances as in the paper.
    """
    k, n = X.shape
    lam = default_penalty(n, k) if lam is None else lam
    if B < 1 or lam <= 0:
        raise GraphPriorError(f"B = {B}, lam = {lam}: both must be positive")
    A_boot = np.zeros((n, n))
    for b in range(B):
        A_boot += graphical_lasso_graph(of(X[rng.integers(k, size=k)]), lam)
        if progress is not None:
            progress(b + 1, B)
    return A_boot / B


def fix_edges(A_boot: Matrix, p_m: float) -> Matrix:
    """What counts as known: 0 below 0.5 - p_m, 1 above 0.5 + p_m, else nan. Eq. (31)."""
    if not 0 <= p_m <= 0.5:
        raise GraphPriorError(f"p_m = {p_m}: the margin must lie between 0 and 0.5")
    known = np.full(A_boot.shape, np.nan)
    known[A_boot < 0.5 - p_m] = 0.0
    known[A_boot > 0.5 + p_m] = 1.0
    np.fill_diagonal(known, 0.0)
    return known


@dataclass(frozen=True)
class Bootstrap:
    """Fix the pairs of which resampled graphical lassos are sure. Eqs. (30)-(31).

    Parameters
    ----------
    margin : float
        p_m: pairs in a share of the graphs below 0.5 - margin or above 0.5 + margin are fixed.
    penalty : float or None
        That of the lasso, on the correlation scale; None: sqrt(log n / k).
    samples : int
        Number B of bootstrap samples.
    """

    margin: float = 0.45
    penalty: float | None = None
    samples: int = 50

    def __post_init__(self) -> None:
        check_number("margin", self.margin, 0, 0.5)
        if self.penalty is not None and not (isinstance(self.penalty, Real) and self.penalty > 0):
            raise GraphPriorError(f"penalty = {self.penalty}: expected a positive number or None")
        check_count("samples", self.samples)


def fix_confident_pairs(
    problem: Problem,
    rng: np.random.Generator,
    settings: Bootstrap,
    progress: Progress | None = None,
) -> tuple[Problem, Matrix]:
    """The problem with confident pairs known, and A_boot; believed pairs stay unknown."""
    if problem.observations.has_gaps:
        raise GraphPriorError(
            "X has missing entries and the bootstrap needs whole rows: use "
            "Langevin(bootstrap=None) to go without it, drop the rows that miss any, or use "
            "engine 'direct' or 'gibbs'"
        )
    if problem.observations.time_series:
        raise GraphPriorError(
            "the rows are a time series, and the bootstrap draws rows as if each were independent "
            "of the others: use Langevin(bootstrap=None) to go without it, or use engine "
            "'direct' or 'gibbs'"
        )
    A_boot = bootstrapped_glasso(problem.X, rng, settings.penalty, settings.samples, progress)
    fixed = np.where(problem.believed, np.nan, fix_edges(A_boot, settings.margin))
    return problem.with_known(fixed), A_boot
