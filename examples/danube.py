"""The upper Danube: which gauging station lies below which, from flood events.

    python examples/danube.py

The prior knows river-like trees of our own making (rivers.py), never this river.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

from compare import Case, Sample, main
from graph_files import data_file
from graphprior.graphs.convert import from_edges
from graphprior.types import Matrix

SOURCE = "the dataset `danube` of the R package graphicalExtremes"


@cache
def river() -> tuple[Matrix, pd.DataFrame]:
    """The flow network, and the logarithm of discharge at each station in each flood."""
    floods = pd.read_csv(data_file("danube/events.csv", SOURCE)).drop(columns="year")
    flow = pd.read_csv(data_file("danube/flow_edges.csv", SOURCE))
    index = {station: i for i, station in enumerate(floods.columns)}
    edges = flow.map(index.__getitem__).to_numpy()
    return from_edges(len(index), edges), np.log(floods)


def draw(k: int, g: int, rng: np.random.Generator) -> Sample:
    """k floods, others in each repeat; all 428 of them are the same ones."""
    A, floods = river()
    return Sample(A, floods.iloc[np.sort(rng.choice(len(floods), k, replace=False))])


CASE = Case(
    name="danube",
    title="The upper Danube from its floods",
    draw=draw,
    ks=(40, 100, 428),
    shares=(0.2, 0.5),
    prior="rivers",
    wrong="egonets",
    repeats=20,
    budgets=dict.fromkeys(("BDgraph", "direct, egonets", "direct, egonets tempered"), 10),
)

if __name__ == "__main__":
    main(CASE)
