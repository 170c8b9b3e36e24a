"""Protein signalling in single cells: which of eleven proteins act on each other.

    python examples/proteins.py

The truth is an expert consensus of 17 links, not a fact. A second review
(`literature18`, 15 links in common) serves as belief: not known, but likely.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

from compare import Case, Sample, main
from graph_files import data_file
from graphprior.graphs.matrices import unvech
from graphprior.observations.transforms import transform_table
from graphprior.types import Matrix

SOURCE = "the supplement of doi:10.1126/science.1105809"
# What a link, or none, in the second review is taken to be worth: a guess made beforehand.
BELIEF = {1: 0.8, 0: 0.1}


@cache
def cells() -> tuple[Matrix, Matrix, pd.DataFrame]:
    """The consensus, beliefs from the second review, and 853 unperturbed cells."""
    table = pd.read_csv(data_file("protein_signalling/cells.csv", SOURCE))
    pairs = pd.read_csv(data_file("protein_signalling/pairs.csv", SOURCE))
    X = table[table["condition"] == "cd3cd28"].drop(columns="condition")
    pairs = pairs.set_index(["a", "b"])
    order = [(a, b) for i, a in enumerate(X.columns) for b in X.columns[i + 1 :]]
    pairs = pairs.loc[order]
    beliefs = unvech(pairs["literature18"].map(BELIEF).to_numpy(dtype=float))
    return unvech(pairs["consensus17"].to_numpy(dtype=float)), beliefs, X


def draw(k: int, g: int, rng: np.random.Generator) -> Sample:
    """k cells, others in each repeat; all 853 of them are the same ones."""
    A, beliefs, X = cells()
    chosen = X.iloc[np.sort(rng.choice(len(X), k, replace=False))]
    return Sample(A, transform_table(chosen, "normal-scores"), beliefs)


CASE = Case(
    name="proteins",
    title="Protein signalling from unperturbed cells",
    draw=draw,
    ks=(50, 200, 853),
    shares=(0.5, 0.8),
    prior="regnets",
    wrong="rivers",
    believes=True,
    repeats=40,
    budgets={"BDgraph": 10},
)

if __name__ == "__main__":
    main(CASE)
