"""The likelihood of a graph with a precision matrix plugged in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from graphprior.errors import GraphPriorError
from graphprior.gaussian.linalg import cholesky
from graphprior.gaussian.simulate import log_likelihood
from graphprior.types import Matrix, Score

DEFAULT_FLOOR = 0.2


def masked_precision(Theta_hat: Tensor, A_tilde: Tensor) -> Tensor:
    """Theta_tilde = Theta_hat * (A_tilde + I), for graphs (..., n, n). Eq. (25)."""
    return Theta_hat * (A_tilde + torch.eye(len(Theta_hat)).to(Theta_hat))


def approximate_log_posterior(
    A: Matrix, Theta_hat: Matrix, S: Matrix, k: int, log_prior: float
) -> float:
    """log of L_X(Theta_hat * (A + I)) p(A), up to a constant. Eq. (10)."""
    return log_likelihood(Theta_hat * (A + np.eye(len(A))), S, k) + log_prior


class Likelihood(Score, Protocol):
    """A score from the data, with what an engine must know to follow it."""

    def indefinite(self, A_tilde: Tensor) -> Tensor:
        """Which of the M graphs (M,) have no likelihood."""
        ...

    def curvature(self, U: Tensor) -> float:
        """Largest curvature along the unknown pairs: steps beyond its inverse overshoot."""
        ...


@dataclass(frozen=True)
class PlugInLikelihood:
    """The paper's likelihood score, for M graphs at once. Eqs. (26)-(27).

    Entry (i, j) moves A_ij and A_ji together; the trace as printed in Eq. (27)
    is twice this slope (docs/paper.md, Departures).

    While sigma is large ``Theta_tilde`` is often indefinite, with likelihood
    zero and no slope. Let mu be the eigenvalues of Theta_tilde relative to
    Theta_hat (all 1 at A = 1). The log-likelihood is k/2 sum(log mu - mu) plus
    a constant. Rule: below ``floor`` the logarithm is continued by its tangent.
    The slope is then finite everywhere, exact wherever all mu exceed the floor,
    independent of units, and leads back to definite matrices. ``floor = None``
    takes the plain inverse instead, the slope of log|det|, as the authors' code
    does; it leads further away from them.
    """

    Theta_hat: Tensor
    S: Tensor
    k: float
    whitener: Tensor
    floor: float | None = DEFAULT_FLOOR

    @classmethod
    def create(
        cls,
        Theta_hat: Matrix,
        S: Matrix,
        k: float,
        floor: float | None = DEFAULT_FLOOR,
        device: torch.device | str = "cpu",
    ) -> PlugInLikelihood:
        """The likelihood at a definite ``Theta_hat``, on a device."""
        if floor is not None and not 0 < floor < 1:
            raise GraphPriorError(f"floor = {floor}: expected a value in (0, 1), or None")
        L = cholesky(Theta_hat)
        if L is None:
            raise GraphPriorError("Theta_hat is not positive definite: it is no precision matrix")
        Theta_t, S_t, whitener = (
            torch.as_tensor(matrix, dtype=torch.float64, device=device)
            for matrix in (Theta_hat, S, np.linalg.inv(L).T)
        )
        return cls(Theta_t, S_t, k, whitener, floor)

    def __call__(self, A_tilde: Tensor, sigma: float) -> Tensor:
        """Slope of log L_X(Theta_tilde) along each pair; sigma plays no part."""
        Theta_tilde = masked_precision(self.Theta_hat, A_tilde.to(self.Theta_hat))
        inverse = self._inverse(Theta_tilde)
        slope = self.k * self.Theta_hat * (inverse - self.S)
        slope.diagonal(dim1=-2, dim2=-1).zero_()
        return slope.to(A_tilde)

    def indefinite(self, A_tilde: Tensor) -> Tensor:
        """Which of the M graphs (M,) have an indefinite Theta_tilde."""
        Theta_tilde = masked_precision(self.Theta_hat, A_tilde.to(self.Theta_hat))
        bad: Tensor = torch.linalg.cholesky_ex(Theta_tilde).info > 0
        return bad

    def curvature(self, U: Tensor, iterations: int = 100) -> float:
        """Largest eigenvalue of minus the Hessian at Theta_hat, on the mask ``U`` (n, n).

        By power iteration: the Hessian takes a change V of A to
        -k Theta_hat * (Sigma_hat (Theta_hat * V) Sigma_hat).
        """
        Sigma_hat = self.whitener @ self.whitener.mT
        V, value = U.to(self.Theta_hat), 0.0
        for _ in range(iterations):
            norm = float(V.norm())
            if norm == 0:
                return 0.0
            V = V / norm
            V = self.k * self.Theta_hat * (Sigma_hat @ (self.Theta_hat * V) @ Sigma_hat) * U
            value = float(V.norm())
        return value

    def _inverse(self, Theta_tilde: Tensor) -> Tensor:
        if self.floor is None:
            plain: Tensor = torch.linalg.inv(Theta_tilde)
            return plain
        low = torch.linalg.cholesky_ex(Theta_tilde - self.floor * self.Theta_hat).info > 0
        # Eigenvalues cost ten times a Cholesky factor and few graphs need them late in a chain.
        high = torch.where(low[..., None, None], self.Theta_hat, Theta_tilde)
        inverse = torch.cholesky_inverse(torch.linalg.cholesky_ex(high).L)
        if low.any():
            W = self.whitener
            mu, vectors = torch.linalg.eigh(W.mT @ Theta_tilde[low] @ W)
            V = W @ vectors
            inverse[low] = (V / mu.clamp(min=self.floor)[..., None, :]) @ V.mT
        return inverse
