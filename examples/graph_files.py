"""Files of the examples: data that users fetch, and graphs that `graphprior train` reads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from graphprior.errors import GraphPriorError
from graphprior.io.graph_sets import write_npz
from graphprior.paper.datasets.files import data_folder
from graphprior.types import Matrix


def data_file(name: str, source: str) -> Path:
    """A file in the folder that GRAPHPRIOR_DATA names; if it is missing, where to get it."""
    path = data_folder() / name
    if not path.is_file():
        raise GraphPriorError(f"{path} is missing: make it from {source}")
    return path


def write_graphs(draw: Callable[[int, np.random.Generator], list[Matrix]]) -> None:
    """The command line of a generator: how many graphs, from which seed, to which file."""

    def command(
        out: Annotated[Path, typer.Argument(help="File to write, ending in .npz.")],
        count: Annotated[int, typer.Option(help="Graphs to draw.")] = 3000,
        seed: Annotated[int, typer.Option(help="Same seed, same graphs.")] = 0,
    ) -> None:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_npz(out, draw(count, np.random.default_rng(seed)))

    typer.run(command)
