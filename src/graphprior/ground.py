"""What a user should know before trusting a result, in words."""

from __future__ import annotations

from graphprior.covariance import PrecisionEstimate, weakness
from graphprior.evidence import Evidence
from graphprior.fit_check import PriorGain
from graphprior.graphs import Problem
from graphprior.moments import missing_notes


def weak_ground(
    problem: Problem,
    data: Evidence | PrecisionEstimate | None,
    gain: PriorGain | None,
    assume_centered: bool = False,
) -> list[str]:
    """A line for each reason to doubt; none where there is none."""
    lines = missing_notes(problem, assume_centered)
    if not problem.U.any():
        lines.append(
            "nothing is unknown: every pair of `known` is 0 or 1, so it is returned as it is"
        )
    words = data.weakness() if isinstance(data, Evidence) else None
    if isinstance(data, PrecisionEstimate):
        words = weakness(problem, data)
    misfit = None if gain is None else gain.misfit()
    return lines + [line for line in (words, misfit) if line]
