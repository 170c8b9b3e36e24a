"""A Wishart prior for the precision matrix, estimated from the data (empirical Bayes).

``Theta ~ Wishart(nu, diag(1/psi))`` is conjugate, so the marginal likelihood
p(X | nu, psi) has a closed form. Its maximum gives nu and psi: nu determines the
typical size of partial correlations (about 1/sqrt(nu)), and psi the scale of
each variable. Both exist for any number of observations. The graph is not used.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import multigammaln

from graphprior.gaussian.linalg import to_unit_diagonal
from graphprior.types import Matrix, Vector

ROUNDS = 100
LEAST_PSI = 1e-10  # with S scaled to a unit diagonal
# The largest nu, as a multiple of n. If nu would become larger, the data show no partial
# correlation at all and cannot determine how small they are; the first guess of their size, which
# is taken from nu, would then be far too small.
LARGEST = 10.0


@dataclass(frozen=True)
class WishartPrior:
    """Wishart prior with ``nu`` degrees of freedom and inverse scale matrix diag(``psi``)."""

    nu: float
    psi: Vector

    def posterior_mean(self, S: Matrix, k: float) -> Matrix:
        """Return E[Theta | X] for k observations with covariance ``S``."""
        return np.asarray((self.nu + k) * np.linalg.inv(np.diag(self.psi) + k * S), np.float64)


def log_marginal_likelihood(S: Matrix, k: float, prior: WishartPrior) -> float:
    """Return log p(X | nu, psi) for k observations with mean zero and covariance ``S``."""
    n, nu, psi = len(S), prior.nu, prior.psi
    _, log_det = np.linalg.slogdet(np.diag(psi) + k * S)
    return float(
        multigammaln((nu + k) / 2, n) - multigammaln(nu / 2, n)
        + nu / 2 * np.log(psi).sum() - (nu + k) / 2 * log_det - n * k / 2 * np.log(np.pi)
    )  # fmt: skip


def fit_wishart(S: Matrix, k: float) -> WishartPrior:
    """Return the prior whose nu and psi maximise the marginal likelihood.

    Two steps alternate. The first iterates the fixed point
    psi_i = nu / k (1 / [inv(Psi + k S)]_ii - psi_i), at which the derivative by
    psi_i is zero. The second maximises over nu while psi / nu is fixed.
    """
    R, scale = to_unit_diagonal(S)
    n = len(R)
    nu, psi = 2.0 * n, np.full(n, 1.6 * n)
    for _ in range(ROUNDS):
        for _ in range(3):
            inverse = np.diag(np.linalg.inv(np.diag(psi) + k * R))
            # For copies of a variable only rounding errors are left, which may be negative.
            psi = np.maximum(nu / k * (1 / inverse - psi), LEAST_PSI)
        last, nu = nu, _best_nu(R, k, psi / nu)
        psi = psi * nu / last
        if abs(np.log(nu / last)) < 1e-3:
            break
    return WishartPrior(nu, psi * scale**2)


def _best_nu(R: Matrix, k: float, ratio: Vector) -> float:
    """Return the nu that maximises the marginal likelihood with psi = nu * ratio."""
    n, root = len(R), np.sqrt(ratio)
    w = np.maximum(np.linalg.eigvalsh(R / np.outer(root, root)), 0.0)

    def loss(t: float) -> float:
        nu = n - 1 + np.exp(t)
        gain = multigammaln((nu + k) / 2, n) - multigammaln(nu / 2, n)
        return float(-(gain + nu / 2 * n * np.log(nu) - (nu + k) / 2 * np.log(nu + k * w).sum()))

    best = minimize_scalar(loss, bounds=(-3.0, np.log(LARGEST * n)), method="bounded")
    return float(n - 1 + np.exp(best.x))
