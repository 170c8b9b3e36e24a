"""All methods by name, found in the files of this folder."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from pathlib import Path

from graphprior.baselines.protocol import Factory
from graphprior.errors import GraphPriorError


@cache
def methods() -> dict[str, Factory]:
    """Every method of every file."""
    found: dict[str, Factory] = {}
    for module in sorted(m.name for m in pkgutil.iter_modules([str(Path(__file__).parent)])):
        offered = getattr(import_module(f"{__package__}.{module}"), "METHODS", {})
        if twice := found.keys() & offered.keys():
            raise GraphPriorError(f"method {sorted(twice)[0]!r} is offered by two files")
        found |= offered
    return found


def factory(name: str) -> Factory:
    """The function that makes a method."""
    if name not in methods():
        raise GraphPriorError(f"no method is called {name!r}: there are {', '.join(methods())}")
    return methods()[name]
