"""From what a user calls a prior to one that can be used on a problem."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psutil

from graphprior.errors import GraphPriorError
from graphprior.evidence.slab import rate_prior
from graphprior.priors.exact import IndependentEdges, LearnedRate
from graphprior.priors.protocol import Prior
from graphprior.priors.store import load_prior
from graphprior.problem.problem import Problem


def resolve_prior(prior: Any, problem: Problem, density: float | None = None) -> Prior:
    """A prior object, a shipped or saved prior by name, or independent edges.

    Those have the rate ``density``, or one that is learned from the data and the known pairs.
    """
    if isinstance(prior, str | Path):
        return load_prior(prior)
    if prior is None:
        if density is not None:
            return IndependentEdges(density)
        return LearnedRate(rate_prior(problem.known, problem.unknown_at_random).mean)
    if isinstance(prior, type) or not hasattr(prior, "score") or not hasattr(prior, "memory"):
        raise GraphPriorError(
            f"prior is {prior!r}: expected None, the name of a shipped prior, "
            "a .safetensors file, or an object of graphprior.priors"
        )
    nodes = getattr(prior, "nodes", None)
    if nodes not in (None, problem.n):
        raise GraphPriorError(f"the prior is about {nodes} nodes, but X has {problem.n} columns")
    chosen: Prior = prior
    return chosen


def refuse_too_large(n: int, M: int, prior: Prior | None = None) -> None:
    """A problem that does not fit in the free memory is refused before it starts.

    Some twenty (n, n) arrays of doubles, a few for each chain, and the prior's.
    """
    needed = 8 * n * n * (20 + 4 * M) + (0 if prior is None else prior.memory(n, M))
    free = psutil.virtual_memory().available
    if needed > free:
        raise GraphPriorError(
            f"X has {n} columns: about {needed / 1e9:.1f} GB are needed for {M} graphs of that "
            f"size and {free / 1e9:.1f} GB are free; use fewer draws or fewer columns"
        )
