"""Shares of fifty companies: which are of the same sector, from a few days of returns.

    python examples/stocks.py

The truth is soft. Two companies of one sector need not depend on each other once the others are
given, and companies of two sectors may: no method can be right about all pairs. It is a real table
whose graph looks like none that a prior was made for, to see what the default prior does then.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

from compare import Case, Sample, main
from graph_files import data_file
from graphprior.observations.transforms import transform_table
from graphprior.types import Matrix

SOURCE = "the dataset `stockdata` of the R package huge"
COMPANIES = 50


@cache
def market() -> tuple[Matrix, pd.DataFrame]:
    """Which companies are of the same sector, and their returns on each day."""
    returns = pd.read_csv(data_file("stocks/log_returns.csv.gz", SOURCE)).select_dtypes("number")
    info = pd.read_csv(data_file("stocks/info.csv", SOURCE)).set_index("ticker")
    sector = info.loc[returns.columns, "sector"].to_numpy()
    A = (sector[:, None] == sector).astype(float)
    np.fill_diagonal(A, 0.0)
    return A, returns


def draw(k: int, g: int, rng: np.random.Generator) -> Sample:
    """Fifty companies, others in each repeat but the same for all k, on k days."""
    A, returns = market()
    companies = np.random.default_rng(g).choice(len(A), min(COMPANIES, len(A)), replace=False)
    days = np.sort(rng.choice(len(returns), k, replace=False))
    X = returns.iloc[days, companies]
    return Sample(A[np.ix_(companies, companies)], transform_table(X, "normal-scores"))


CASE = Case(
    name="stocks",
    title="Companies of one sector from their returns",
    draw=draw,
    ks=(60, 250, 1000),
    shares=(0.2, 0.5),
    prior=None,
    wrong=None,
    repeats=20,
    without=("BDgraph",),
)

if __name__ == "__main__":
    main(CASE)
