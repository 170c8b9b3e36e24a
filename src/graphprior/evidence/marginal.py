"""The likelihood of a relaxed graph with the strengths of its edges integrated out.

``log p(X | a)`` of spikes and slabs is smooth in a >= 0: an entry a_j between 0
and 1 is an edge of variance s2 a_j. Its slope is a score for Langevin sampling
that has an Occam factor and is defined at every noisy graph. A prior that takes
evidence does better with the pairs' log Bayes factors at the noisy graph: the
score of the posterior is then exact where pairs do not depend on each other.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from graphprior.evidence.evidence import Evidence


class MarginalLikelihood:
    """log p(X | A_tilde), strengths integrated out; entries below 0 count as 0."""

    def __init__(self, evidence: Evidence, device: torch.device | str = "cpu") -> None:
        self.F, self.b = (torch.as_tensor(part, device=device) for part in evidence.coupled())
        self.s2 = evidence.slab.variance
        self.rows = torch.as_tensor(np.asarray(evidence.rows), device=device)
        self.cols = torch.as_tensor(np.asarray(evidence.cols), device=device)

    def __call__(self, A_tilde: Tensor, sigma: float) -> Tensor:
        """Slope s2 (v**2 - K_jj) / 2 along each unknown pair; sigma plays no part."""
        a = A_tilde[..., self.rows, self.cols].to(self.F).clamp(min=0)
        K, v = self._solve(a)
        slope = torch.zeros_like(A_tilde)
        value = (0.5 * self.s2 * (v**2 - K.diagonal(dim1=-2, dim2=-1))).to(A_tilde)
        slope[..., self.rows, self.cols] = slope[..., self.cols, self.rows] = value
        return slope

    def log_bf(self, A_tilde: Tensor) -> Tensor:
        """Log Bayes factors (M, n, n) of each pair, the others as they are in the noisy graphs.

        Entries are cut to [0, 1]; at a graph it is the exact conditional.
        """
        a = A_tilde[..., self.rows, self.cols].to(self.F).clamp(0, 1)
        K, v = self._solve(a)
        d = K.diagonal(dim1=-2, dim2=-1)
        without = 1 / (1 - self.s2 * a * d).clamp(min=1e-12)
        d, v = d * without, v * without
        value = 0.5 * self.s2 * v**2 / (1 + self.s2 * d) - 0.5 * torch.log1p(self.s2 * d)
        told = torch.zeros_like(A_tilde)
        told[..., self.rows, self.cols] = told[..., self.cols, self.rows] = value.to(A_tilde)
        return told

    def log_likelihood(self, a: Tensor) -> Tensor:
        """log p(X | a) / p(X | no unknown edge) of relaxed graphs a (..., m)."""
        system = self._system(a)
        v = torch.linalg.solve(system, self.b.expand_as(a)[..., None])[..., 0]
        _, log_det = torch.linalg.slogdet(system)
        value: Tensor = -0.5 * log_det + 0.5 * self.s2 * (self.b * a * v).sum(-1)
        return value

    def _system(self, a: Tensor) -> Tensor:
        identity = torch.eye(len(self.b), dtype=self.F.dtype, device=self.F.device)
        return identity + self.s2 * self.F * a[..., None, :]

    def _solve(self, a: Tensor) -> tuple[Tensor, Tensor]:
        """K = inv(C + s2 diag(a)) and v = K theta, without C = inv(F), which may not exist."""
        right = torch.column_stack([self.F, self.b])
        solved = torch.linalg.solve(self._system(a), right.expand(*a.shape[:-1], *right.shape))
        return solved[..., :-1], solved[..., -1]

    def indefinite(self, A_tilde: Tensor) -> Tensor:
        """None: the likelihood is defined everywhere."""
        return torch.zeros(len(A_tilde), dtype=torch.bool, device=A_tilde.device)

    def curvature(self, U: Tensor) -> float:
        """Largest curvature of the log-likelihood at the half and the full graph.

        At the empty graph it is far larger; steps cut to that would not leave it.
        """
        sharpest = 0.0
        for level in (0.5, 1.0):
            K, v = self._solve(torch.full_like(self.b, level))
            hessian = self.s2**2 * (0.5 * K**2 - v[:, None] * v * K)
            sharpest = max(sharpest, float(-torch.linalg.eigvalsh(hessian)[0]))
        return sharpest
