"""All families by name, found in the files of this folder."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from pathlib import Path

import numpy as np

from graphprior.errors import GraphPriorError
from graphprior.paper.datasets.family import Draw, Family
from graphprior.types import Matrix


@cache
def families() -> dict[str, Family]:
    """The ``FAMILY`` of every file."""
    names = sorted(m.name for m in pkgutil.iter_modules([str(Path(__file__).parent)]))
    modules = (import_module(f"{__package__}.{name}") for name in names if name != "registry")
    found = (getattr(module, "FAMILY", None) for module in modules)
    return {family.name: family for family in found if family is not None}


def family(name: str) -> Family:
    """A family by its name."""
    if name not in families():
        raise GraphPriorError(f"no family is called {name!r}: there are {', '.join(families())}")
    return families()[name]


def generated() -> dict[str, Draw]:
    """Families that a name, a count and a seed make."""
    return {name: f.train for name, f in families().items() if f.generated}


def generate(family: str, count: int, seed: int) -> list[Matrix]:
    """``count`` graphs of a generated family; same seed, same graphs."""
    if family not in generated():
        raise GraphPriorError(f"no family is called {family!r}: there are {', '.join(generated())}")
    if count < 1:
        raise GraphPriorError(f"{count} graphs: expected at least one")
    return generated()[family](count, np.random.default_rng([seed, count]))
