"""Held-out rows of real tables: how well the estimated precision matrix predicts them.

    GRAPHPRIOR_DATA=... OMP_NUM_THREADS=1 python benchmarks/held_out.py [--splits 3]

No graph is known, and no prior is used. A table is cut at random into rows to learn from (2, 5,
10 or 20 for each variable) and the rest. Columns are made normal scores first. The log-likelihood
of the rest is given in nats per row and variable, on columns standardised by the rows learned from.
"mean" is the mean of the precision matrices that were drawn, "refit" is `precision_`: the maximum
likelihood estimate on the graph found. Beside them GraphicalLassoCV and Ledoit-Wolf's shrinkage,
as scikit-learn has them. A mean is of the splits in which a method did not fail; `failed` counts
the others.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from record import cpu_seconds, save
from sizes import tables
from sklearn.covariance import GraphicalLassoCV, LedoitWolf

from graphprior import PartialGGM
from graphprior.errors import notes
from graphprior.observations.transforms import Transform
from graphprior.types import Matrix

RATIOS = (2, 5, 10, 20)
LARGEST = 60  # variables: each table is used at one size


def ours(X: Matrix) -> dict[str, Matrix]:
    """Both estimates of the precision matrix."""
    with notes():
        model = PartialGGM(None).fit(X)
    return {"mean": model.Theta_hat_, "refit": model.precision_}


METHODS: dict[str, Callable[[Matrix], dict[str, Matrix]]] = {
    "graphprior": ours,
    "GraphicalLassoCV": lambda X: {"": GraphicalLassoCV(assume_centered=True).fit(X).precision_},
    "LedoitWolf": lambda X: {"": LedoitWolf(assume_centered=True).fit(X).precision_},
}


def problems() -> dict[str, Matrix]:
    """Real tables by name, each at one size, and protein signalling beside those of sizes.py."""
    found = {name: X for name, X in tables() if X.shape[1] <= LARGEST}
    folder = os.environ.get("GRAPHPRIOR_DATA")
    if folder is not None:
        cells = pd.read_csv(Path(folder) / "protein_signalling" / "cells.csv")
        found["proteins"] = cells.select_dtypes("number").to_numpy()[:, :11]
    return {name: Transform("normal-scores").fit_transform(X) for name, X in found.items()}


def compare(X: Matrix, k: int, seed: int) -> list[dict[str, Any]]:
    """Log-likelihood of the rows that were not learned from, by method."""
    order, rows = np.random.default_rng([41, seed]).permutation(len(X)), []
    learn, rest = X[order[:k]], X[order[k:]]
    centre, scale = learn.mean(0), learn.std(0)
    learn, rest = (learn - centre) / scale, (rest - centre) / scale
    S, n = rest.T @ rest / len(rest), X.shape[1]
    for name, fit in METHODS.items():
        try:
            seconds, found = cpu_seconds(lambda fit=fit: fit(learn))
        except FloatingPointError as error:  # of GraphicalLassoCV, where variables nearly are sums
            print(f"{name} failed: {error}", flush=True)
            rows.append({"method": name, "nats": np.nan, "cpu_seconds": np.nan})
            continue
        for which, Theta in found.items():
            log_p = (np.linalg.slogdet(Theta)[1] - np.trace(S @ Theta) - n * np.log(2 * np.pi)) / 2
            rows.append({
                "method": f"{name} {which}".strip(), "nats": log_p / n, "cpu_seconds": seconds,
            })  # fmt: skip
    return rows


def main() -> None:
    """Measure and keep."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--splits", type=int, default=3)
    splits, rows = parser.parse_args().splits, []
    for name, X in problems().items():
        n = X.shape[1]
        for k in (ratio * n for ratio in RATIOS if ratio * n <= 0.8 * len(X)):
            table = pd.DataFrame([row for s in range(splits) for row in compare(X, k, s)])
            means = table.groupby("method", sort=False)[["nats", "cpu_seconds"]].mean()
            for method, mean in means.iterrows():
                failed = int(table[table["method"] == method]["nats"].isna().sum())
                facts = {"table": name, "n": n, "k": k, "method": method, "failed": failed}
                rows.append({**facts, **mean.to_dict()})
                print(rows[-1], flush=True)
    command = "GRAPHPRIOR_DATA=... OMP_NUM_THREADS=1 python benchmarks/held_out.py"
    save("held-out", command, rows)


if __name__ == "__main__":
    main()
