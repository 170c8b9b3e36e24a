"""All methods by name, found in the files of this folder."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

from graphprior.errors import GraphPriorError
from graphprior.paper.baselines.protocol import Factory


@cache
def _modules() -> list[ModuleType]:
    names = sorted(m.name for m in pkgutil.iter_modules([str(Path(__file__).parent)]))
    return [import_module(f"{__package__}.{name}") for name in names if name != "registry"]


@cache
def methods() -> dict[str, Factory]:
    """Every method of every file."""
    found: dict[str, Factory] = {}
    for module in _modules():
        offered = getattr(module, "METHODS", {})
        if twice := found.keys() & offered.keys():
            raise GraphPriorError(f"method {sorted(twice)[0]!r} is offered by two files")
        found |= offered
    return found


@cache
def without_data() -> frozenset[str]:
    """Methods that do not look at the observations."""
    return frozenset[str]().union(*(getattr(m, "WITHOUT_DATA", ()) for m in _modules()))


def factory(name: str) -> Factory:
    """The function that makes a method."""
    if name not in methods():
        raise GraphPriorError(f"no method is called {name!r}: there are {', '.join(methods())}")
    return methods()[name]


def unavailable(name: str) -> str | None:
    """Why a method cannot run here; None where it can.

    A file whose methods need more than the package says so in ``REQUIRES``: a
    function by method that gives None or the reason.
    """
    for module in _modules():
        if name in getattr(module, "REQUIRES", {}):
            reason: str | None = module.REQUIRES[name]()
            return reason
    return None
