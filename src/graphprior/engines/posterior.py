"""What every engine gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv

from graphprior.evidence import Evidence
from graphprior.graphs import Matrix


class Reasons(NamedTuple):
    """Why each unknown pair has its posterior log-odds: their sum. (n, n) each, 0 on known pairs.

    ``prior``: the known part and the other pairs. ``data``: the log Bayes
    factor. ``hidden``: that the pair is among the unknown ones. ``belief``: an
    expert's.
    """

    prior: Matrix
    data: Matrix
    hidden: Matrix
    belief: Matrix

    @property
    def told(self) -> Matrix:
        """What the prior is told of each pair: all but its own part."""
        return self.data + self.hidden + self.belief

    @property
    def posterior(self) -> Matrix:
        """Posterior log-odds."""
        return self.prior + self.data + self.hidden + self.belief


@dataclass(frozen=True, eq=False)
class Posterior:
    """Edge probabilities, how well they are known, the graphs drawn, how the engine fared.

    ``low`` and ``high`` bound what the probabilities would be with endless
    draws; an engine that draws nothing has no samples and equal bounds.
    ``evidence`` is the data's, informed by the prior, that ``reasons`` speak of.
    """

    edge_probabilities: Matrix
    low: Matrix
    high: Matrix
    samples: npt.NDArray[np.uint8]
    diagnostics: dict[str, Any] = field(default_factory=dict)
    reasons: Reasons | None = None
    evidence: Evidence | None = None

    @classmethod
    def from_samples(
        cls, samples: npt.NDArray[np.uint8], diagnostics: dict[str, Any] | None = None
    ) -> Posterior:
        """The sample mean as edge probability. Eqs. (6)-(7)."""
        P = samples.mean(axis=0, dtype=np.float64)
        return cls(P, *share_interval(P, len(samples)), samples, diagnostics or {})


def share_interval(share: Matrix, M: int, level: float = 0.95) -> tuple[Matrix, Matrix]:
    """Bounds of a probability of which a share of M independent draws is known.

    Clopper and Pearson's: they hold at least that often, whatever the
    probability, and never claim certainty.
    """
    hits, tail = np.round(share * M), (1 - level) / 2
    low = np.where(hits > 0, betaincinv(np.maximum(hits, 1), M - hits + 1, tail), 0.0)
    high = np.where(hits < M, betaincinv(hits + 1, np.maximum(M - hits, 1), 1 - tail), 1.0)
    return low, high
