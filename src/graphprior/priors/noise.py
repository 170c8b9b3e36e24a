"""Noise levels, noisy graphs, and the score of a denoiser.

A graph is discrete, so it has no gradient. Its noisy version
``A_tilde = A + sigma z`` has one, and Tweedie's formula ties it to the mean of
the clean graph: ``grad log p(A_tilde) = (E[A | A_tilde] - A_tilde) / sigma**2``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from graphprior.errors import GraphPriorError


class Level(NamedTuple):
    """A noise level as it is walked: step size alpha_l and number of steps."""

    sigma: float
    alpha: float
    steps: int


@dataclass(frozen=True)
class Schedule:
    """Noise levels sigma_1 > ... > sigma_L, T steps at each, step size ``epsilon``.

    Where a stiff likelihood asks for shorter steps, a level takes more of them, up to
    ``stretch`` times T.
    """

    sigmas: tuple[float, ...]
    T: int = 300
    epsilon: float = 1e-6
    stretch: int = 1

    def __post_init__(self) -> None:
        falling = all(a > b for a, b in zip(self.sigmas, self.sigmas[1:], strict=False))
        if not self.sigmas or not falling or self.sigmas[-1] <= 0:
            raise GraphPriorError(f"sigmas {self.sigmas}: expected falling positive noise levels")
        if self.T < 1 or self.epsilon <= 0 or self.stretch < 1:
            raise GraphPriorError(
                f"T = {self.T}, epsilon = {self.epsilon}, stretch = {self.stretch}: "
                "all must be positive"
            )
        if self.epsilon >= 2 * self.sigmas[-1] ** 2:
            raise GraphPriorError(
                f"epsilon = {self.epsilon:g} makes the chain unstable: it must be below "
                f"2 * sigma_L**2 = {2 * self.sigmas[-1] ** 2:g}"
            )

    @classmethod
    def linear(
        cls,
        L: int = 10,
        sigma_1: float = 0.5,
        sigma_L: float = 0.03,
        T: int = 300,
        epsilon: float = 1e-6,
    ) -> Schedule:
        """Evenly spaced levels; the defaults are the paper's."""
        return cls(tuple(float(s) for s in np.linspace(sigma_1, sigma_L, L)), T, epsilon)

    @classmethod
    def geometric(cls, L: int, sigma_1: float, sigma_L: float, T: int, epsilon: float) -> Schedule:
        """Levels with a constant ratio, for annealing over a wide range."""
        return cls(tuple(float(s) for s in np.geomspace(sigma_1, sigma_L, L)), T, epsilon)

    @classmethod
    def relaxed(
        cls, L: int = 20, sigma_1: float = 0.5, sigma_L: float = 0.05, T: int = 40
    ) -> Schedule:
        """Levels of T / 10 relaxation times; the paper's last a third of one.

        The relaxation time is sigma**2, that of an entry around 0 or 1. A chain that does
        not get there remembers its start at one half. Levels whose steps are cut take up to
        four times as many, which is what the paper's schedule costs.
        """
        levels = cls.geometric(L, sigma_1, sigma_L, T, epsilon=0.1 * sigma_L**2)
        return replace(levels, stretch=4)

    @property
    def L(self) -> int:
        """Number of noise levels."""
        return len(self.sigmas)

    def step_size(self, sigma: float) -> float:
        """alpha_l: the step shrinks with the noise. Eq. (23)."""
        return self.epsilon * sigma**2 / self.sigmas[-1] ** 2

    def levels(self, longest_step: float = math.inf) -> list[Level]:
        """The levels in turn, no step longer than ``longest_step``."""
        found = []
        for sigma in self.sigmas:
            wanted = self.step_size(sigma)
            alpha = min(wanted, longest_step)
            enough = math.ceil(self.T * (wanted / alpha))
            found.append(Level(sigma, alpha, min(enough, self.stretch * self.T)))
        return found


def symmetric_noise(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    """Standard normal noise on the pairs, (..., n, n), zero on the diagonal."""
    z = torch.randn(shape, generator=generator).triu(1)
    return z + z.transpose(-1, -2)


def perturb(A: Tensor, sigma: Tensor, generator: torch.Generator) -> Tensor:
    """A_tilde = A + sigma z on the pairs; one ``sigma`` for each graph. Eq. (22)."""
    z = symmetric_noise(tuple(A.shape), generator)
    return A + sigma[:, None, None] * z.to(A)


def noise_log_odds(A_tilde: Tensor, sigma: float | Tensor) -> Tensor:
    """What a noisy entry alone says of its pair: log p(A_tilde | 1) / p(A_tilde | 0)."""
    return (A_tilde - 0.5) / sigma**2


def tweedie_score(A_mean: Tensor, A_tilde: Tensor, sigma: float | Tensor) -> Tensor:
    """The score of noisy graphs from the posterior mean of the clean ones."""
    return (A_mean - A_tilde) / sigma**2
