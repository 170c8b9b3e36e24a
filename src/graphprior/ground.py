"""What a user should know before trusting a result, in words."""

from __future__ import annotations

from graphprior.covariance import PrecisionEstimate, dependent_names, weakness
from graphprior.evidence import Evidence
from graphprior.fit_check import PriorGain
from graphprior.graphs import Problem
from graphprior.moments import missing_notes
from graphprior.transforms import far_from_gaussian


def weak_ground(
    problem: Problem,
    data: Evidence | PrecisionEstimate | None,
    gain: PriorGain | None,
    assume_centered: bool = False,
    temper: bool = False,
) -> list[str]:
    """A line for each reason to doubt; none where there is none."""
    lines = missing_notes(problem, assume_centered)
    if not problem.U.any():
        lines.append(
            "nothing is unknown: every pair of `known` is 0 or 1, so it is returned as it is"
        )
    elif temper and gain is None:
        lines.append(
            "temper=True did nothing: the prior could not be checked, which takes one that answers "
            "evidence and more known pairs or data"
        )
    if (problem.known == 1).any() and not (problem.known[problem.O] == 0).any():
        lines.append(
            "all known pairs are edges, which does not tell how common edges are: independent "
            "edges begin at one in five, and a learned prior, which takes known pairs for a random "
            "part of the graph, expects too many; name some absent pairs if you can"
        )
    words: list[str | None] = []
    if isinstance(data, Evidence):
        words = [_copies(problem, assume_centered), *data.weaknesses(problem.names)]
    if isinstance(data, PrecisionEstimate):
        words = [weakness(problem, data, assume_centered)]
    misfit = None if gain is None else gain.misfit()
    shape = None if data is None else far_from_gaussian(problem.X, problem.names)
    return lines + [line for line in (*words, misfit, shape) if line]


def _copies(problem: Problem, assume_centered: bool) -> str | None:
    columns = dependent_names(problem, assume_centered)
    if columns is None:
        return None
    return (
        f"columns {columns} are (nearly) dependent: one is a copy or a sum of others, and which "
        "of them an edge goes to cannot be told; leave one out"
    )
