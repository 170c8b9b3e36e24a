"""All experiments by name, found in the files of `figures`."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from pathlib import Path

from graphprior.errors import GraphPriorError
from graphprior.paper.experiments.run import Experiment


@cache
def experiments() -> dict[str, Experiment]:
    """The ``EXPERIMENT`` of every file."""
    folder = Path(__file__).parent / "figures"
    names = sorted(m.name for m in pkgutil.iter_modules([str(folder)]))
    found = (import_module(f"{__package__}.figures.{name}").EXPERIMENT for name in names)
    return {experiment.name: experiment for experiment in found}


def experiment(name: str) -> Experiment:
    """An experiment by its name."""
    if name not in experiments():
        raise GraphPriorError(
            f"no experiment is called {name!r}: there are {', '.join(experiments())}"
        )
    return experiments()[name]
