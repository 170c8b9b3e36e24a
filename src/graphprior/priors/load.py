"""From what a user calls a prior to one that can be used on a problem."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import psutil

from graphprior.errors import GraphPriorError
from graphprior.evidence.slab import rate_prior
from graphprior.priors.exact import IndependentEdges, LearnedRate
from graphprior.priors.protocol import EvidencePrior, Prior
from graphprior.priors.store import NetworkPrior, load_prior, shipped_priors
from graphprior.problem.problem import Problem

GENERAL, AUTO, NONE, INDEPENDENT = "general", "auto", "none", "independent edges"


def resolve_priors(
    prior: Any, problem: Problem, density: float | None = None, guarded: bool = True
) -> dict[str, Prior]:
    """The priors to use, by name: one, or several to average.

    ``prior`` is "auto", None, the name or file of a prior, a prior object, or a list of these.
    Independent edges have the rate ``density``, or one that is learned from the data and the known
    pairs; a ``guarded`` prior that was learned from examples is averaged with them.
    """
    listed = list(prior) if isinstance(prior, list | tuple) else [prior]
    if not listed:
        raise GraphPriorError("prior is an empty list: name at least one prior, or pass None")
    if density is not None:
        # A rate that is given says how common edges are: what else is there is independence.
        return {f"{INDEPENDENT} at rate {density:g}": IndependentEdges(density)}
    found: dict[str, Prior] = {}
    for one in listed:
        name, resolved = _resolve_one(one, problem)
        twice = name == INDEPENDENT or [str(other) for other in listed].count(str(one)) > 1
        if name in found and twice:
            raise GraphPriorError(f"prior {name!r} is listed twice: name each prior once")
        found[name if name not in found else f"{name} {len(found) + 1}"] = resolved
    if len(found) > 1:
        _refuse_scores(found)
    learned = any(getattr(one, "is_learned", False) for one in found.values())
    if INDEPENDENT not in found and learned and guarded:
        found[INDEPENDENT] = _independent(problem)
    return found


def _resolve_one(prior: Any, problem: Problem) -> tuple[str, Prior]:
    """Name and object of one prior."""
    if prior is None or (isinstance(prior, str) and prior == NONE):
        return INDEPENDENT, _independent(problem)
    if isinstance(prior, str | Path):
        named = GENERAL if str(prior) == AUTO else str(prior)
        return Path(named).stem, _shipped(named) if named in shipped_priors() else load_prior(named)
    if isinstance(prior, type) or not hasattr(prior, "score") or not hasattr(prior, "memory"):
        raise GraphPriorError(
            f"prior is {prior!r}: expected 'auto', None, the name of a shipped prior, "
            "a .safetensors file, an object of graphprior.priors, or a list of these"
        )
    nodes = getattr(prior, "nodes", None)
    if nodes not in (None, problem.n):
        raise GraphPriorError(f"the prior is about {nodes} nodes, but X has {problem.n} columns")
    return getattr(prior, "name", None) or type(prior).__name__, prior


@lru_cache(maxsize=8)
def _shipped(name: str) -> NetworkPrior:
    """A prior that comes with the package, read once."""
    return load_prior(name)


def _independent(problem: Problem) -> Prior:
    return LearnedRate(rate_prior(problem.known, problem.unknown_at_random).mean)


def _refuse_scores(priors: dict[str, Prior]) -> None:
    """Only priors that answer evidence can be averaged."""
    for name, prior in priors.items():
        if not isinstance(prior, EvidencePrior):
            raise GraphPriorError(
                f"{name} gives scores only, so it cannot be averaged with others: use it alone, "
                "with engine 'langevin'"
            )


def names_of(prior: Any) -> tuple[str, ...]:
    """Names and files of the learned priors among what a user calls prior."""
    listed = prior if isinstance(prior, list | tuple) else [prior]
    words = [str(one) for one in listed if isinstance(one, str | Path) and one != NONE]
    return tuple(GENERAL if word == AUTO else word for word in words)


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
