"""From what a user calls a prior to one that can be used on a problem."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import psutil

from graphprior.errors import GraphPriorError
from graphprior.graphs import Problem, vech
from graphprior.prior.exact import IndependentEdges
from graphprior.prior.protocol import Prior
from graphprior.prior.store import load_prior


def resolve_prior(prior: Any, problem: Problem) -> Prior:
    """A prior object, a shipped or saved prior by name, or independent edges at a guessed rate."""
    if isinstance(prior, str | Path):
        return load_prior(prior)
    if prior is None:
        return IndependentEdges(_edge_rate(problem))
    if not hasattr(prior, "score") or not hasattr(prior, "memory"):
        raise GraphPriorError(
            f"prior is a {type(prior).__name__}: expected None, the name of a shipped prior, "
            "a .safetensors file, or an object of graphprior.prior"
        )
    chosen: Prior = prior
    return chosen


def _edge_rate(problem: Problem) -> float:
    """Edges among the known pairs, pulled to one in five as if five more pairs were known."""
    a = vech(problem.known)
    a = a[~np.isnan(a)]
    return float((a.sum() + 1) / (len(a) + 5))


def refuse_too_large(prior: Prior, n: int, M: int) -> None:
    """A batch that does not fit in the free memory is refused before it starts."""
    needed, free = prior.memory(n, M), psutil.virtual_memory().available
    if needed > free:
        raise GraphPriorError(
            f"X has {n} columns: this prior needs about {needed / 1e9:.1f} GB for {M} graphs of "
            f"that size and {free / 1e9:.1f} GB are free; use fewer samples or fewer columns"
        )
