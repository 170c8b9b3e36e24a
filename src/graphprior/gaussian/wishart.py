"""A Wishart prior for the precision matrix, chosen by the data alone.

``Theta ~ Wishart(nu, diag(1/psi))`` is conjugate, so p(X | nu, psi) has a closed
form. Its maximum gives nu and psi: the size of partial correlations (about
1/sqrt(nu)) and the scale of each variable, defined for any number of
observations. Nothing of the graph is used.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import multigammaln

from graphprior.gaussian.linalg import to_unit_diagonal
from graphprior.types import Matrix, Vector

ROUNDS = 100
LEAST_PSI = 1e-10  # of a unit diagonal
# nu beyond this many times n: no partial correlation is seen at all, and how small they are
# cannot be told. Letting nu grow would take the first guess of their size far too small.
LARGEST = 10.0


@dataclass(frozen=True)
class WishartPrior:
    """nu degrees of freedom and the diagonal ``psi`` of the inverse scale."""

    nu: float
    psi: Vector

    def posterior_mean(self, S: Matrix, k: float) -> Matrix:
        """E[Theta | X] for k observations with covariance ``S``."""
        return np.asarray((self.nu + k) * np.linalg.inv(np.diag(self.psi) + k * S), np.float64)


def log_marginal_likelihood(S: Matrix, k: float, prior: WishartPrior) -> float:
    """log p(X | nu, psi) of k observations with mean zero and covariance ``S``."""
    n, nu, psi = len(S), prior.nu, prior.psi
    _, log_det = np.linalg.slogdet(np.diag(psi) + k * S)
    return float(
        multigammaln((nu + k) / 2, n) - multigammaln(nu / 2, n)
        + nu / 2 * np.log(psi).sum() - (nu + k) / 2 * log_det - n * k / 2 * np.log(np.pi)
    )  # fmt: skip


def fit_wishart(S: Matrix, k: float) -> WishartPrior:
    """nu and psi of largest marginal likelihood.

    In turn: psi by its fixed point psi_i = nu / k (1 / [inv(Psi + k S)]_ii - psi_i),
    where the slope is zero for psi_i alone, and nu on a line with psi / nu held.
    """
    R, scale = to_unit_diagonal(S)
    n = len(R)
    nu, psi = 2.0 * n, np.full(n, 1.6 * n)
    for _ in range(ROUNDS):
        for _ in range(3):
            inverse = np.diag(np.linalg.inv(np.diag(psi) + k * R))
            # Of copies of a variable nothing is left but rounding, of either sign.
            psi = np.maximum(nu / k * (1 / inverse - psi), LEAST_PSI)
        last, nu = nu, _best_nu(R, k, psi / nu)
        psi = psi * nu / last
        if abs(np.log(nu / last)) < 1e-3:
            break
    return WishartPrior(nu, psi * scale**2)


def _best_nu(R: Matrix, k: float, ratio: Vector) -> float:
    """The best nu with psi = nu * ratio, by eigenvalues."""
    n, root = len(R), np.sqrt(ratio)
    w = np.maximum(np.linalg.eigvalsh(R / np.outer(root, root)), 0.0)

    def loss(t: float) -> float:
        nu = n - 1 + np.exp(t)
        gain = multigammaln((nu + k) / 2, n) - multigammaln(nu / 2, n)
        return float(-(gain + nu / 2 * n * np.log(nu) - (nu + k) / 2 * np.log(nu + k * w).sum()))

    best = minimize_scalar(loss, bounds=(-3.0, np.log(LARGEST * n)), method="bounded")
    return float(n - 1 + np.exp(best.x))
