"""What every engine gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from graphprior.graphs import Matrix


@dataclass(frozen=True)
class Posterior:
    """Edge probabilities, the graphs they come from, and how the engine fared."""

    edge_probabilities: Matrix
    samples: npt.NDArray[np.uint8]
    diagnostics: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_samples(
        cls, samples: npt.NDArray[np.uint8], diagnostics: dict[str, Any] | None = None
    ) -> Posterior:
        """The sample mean as edge probability. Eqs. (6)-(7)."""
        return cls(samples.mean(axis=0, dtype=np.float64), samples, diagnostics or {})
