"""Ego-nets of Deezer users, read from files."""

from __future__ import annotations

import numpy as np

from graphprior.errors import GraphPriorError
from graphprior.io.graph_sets import read_npz
from graphprior.paper.datasets.family import Family
from graphprior.paper.datasets.files import data_folder
from graphprior.types import Matrix

EGONETS_SOURCE = (
    "SNAP's `deezer_ego_nets` (https://snap.stanford.edu/data/deezer_ego_nets.html), "
    "graphs of 16 to 24 nodes"
)


def egonets(part: str = "train") -> list[Matrix]:
    """Deezer ego-nets, ``part`` "train" (2926 graphs) or "test" (100)."""
    path = data_folder() / "egonets" / f"{part}.npz"
    if not path.is_file():
        raise GraphPriorError(f"{path} is missing: make it from {EGONETS_SOURCE}")
    return read_npz(path)


def _train(count: int, rng: np.random.Generator) -> list[Matrix]:
    graphs = egonets("train")
    return [graphs[g] for g in rng.permutation(len(graphs))[:count]]


def _test(count: int, rng: np.random.Generator) -> list[Matrix]:
    return egonets("test")[:count]


FAMILY = Family("egonets", _train, _test, generated=False)
