"""What `general` knows of kinds of graphs that it never saw, in bits for each unknown pair.

    GRAPHPRIOR_DATA=... OMP_NUM_THREADS=1 python benchmarks/families.py

Half of the pairs of each graph are unknown, at random. Without data, and with data of middling
strength: the estimate of a pair's strength has a fifth of the variance of an edge's strength.
"density" knows how common edges are in the kind, and nothing else; "own" is the prior that was
made for the kind, where there is one. Standard errors are over graphs; where a kind is a single
graph, over what is hidden.

Egonets, threads and molecules are the test sets; of the connectomes twenty people, their nodes
shuffled; the last rows are single graphs, each with twenty draws of what is hidden.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from record import save

from graphprior.graphs.matrices import unvech
from graphprior.io.graph_sets import read_npz
from graphprior.paper.datasets import data_folder
from graphprior.priors.store import load_prior
from graphprior.priors.training.cross_entropy import _bits, _density, _error_of_ratio
from graphprior.types import Matrix

OWN = {"egonets": "egonets", "molecules": "molecules"}
SHARE, RATIO, HIDINGS, PEOPLE = 0.5, 0.2, 20, 20
SOURCES = {"no data": None, "with data": RATIO}


def shuffled(A: Matrix, rng: np.random.Generator) -> Matrix:
    """The same graph with its nodes in any order."""
    order = rng.permutation(len(A))
    return A[np.ix_(order, order)]


def connectomes(rng: np.random.Generator) -> list[Matrix]:
    """Brain regions of some people."""
    with np.load(data_folder() / "human_connectomes" / "graphs.npz") as found:
        n, bits = int(found["n"]), np.unpackbits(found["pairs"], axis=1)
    chosen = rng.choice(len(bits), PEOPLE, replace=False)
    return [shuffled(unvech(bits[g, : n * (n - 1) // 2].astype(float)), rng) for g in chosen]


def moral(name: str) -> Matrix:
    """The moral graph of a Gaussian network of causes."""
    folder = data_folder() / "gaussian_bn"
    arcs = pd.read_csv(folder / f"{name}_arcs.csv")
    nodes = list(pd.read_csv(folder / f"{name}_nodes.csv")["node"])
    W = np.zeros((len(nodes), len(nodes)))
    for parent, child in zip(arcs["parent"], arcs["child"], strict=True):
        W[nodes.index(parent), nodes.index(child)] = 1.0
    A = ((W + W.T + W @ W.T) > 0).astype(float)
    np.fill_diagonal(A, 0.0)
    return A


def danube() -> Matrix:
    """Stations of a river, each joined to the next one downstream."""
    edges = pd.read_csv(data_folder() / "danube" / "flow_edges.csv")
    names = sorted({*edges.iloc[:, 0], *edges.iloc[:, 1]})
    A = np.zeros((len(names), len(names)))
    for a, b in zip(edges.iloc[:, 0], edges.iloc[:, 1], strict=True):
        A[names.index(a), names.index(b)] = A[names.index(b), names.index(a)] = 1.0
    return A


def kinds() -> dict[str, list[Matrix]]:
    """Graphs by kind."""
    rng, folder = np.random.default_rng(17), data_folder()
    found = {name: read_npz(folder / name / "test.npz") for name in ("egonets", "threads")}
    found["regulatory networks"] = read_npz(folder / "regnets" / "graphs.npz")
    found["molecules"] = read_npz(folder / "molecules" / "test.npz")
    found["human connectomes"] = connectomes(rng)
    for name in ("ecoli70", "magic-niab", "magic-irri", "arth150"):
        found[name] = [moral(name)] * HIDINGS
    found["danube"] = [danube()] * HIDINGS
    return found


def rows_of(kind: str, graphs: list[Matrix], priors: dict[str, Any]) -> list[dict[str, Any]]:
    """Bits by prior and source, with standard errors."""
    rows = []
    for source, ratio in SOURCES.items():
        for name, network in priors.items():
            generator = torch.Generator().manual_seed(1000)
            coded, count = _bits(network, graphs, SHARE, ratio, generator)
            told = {name: coded[0], "density": coded[1]}
            for prior, bits in told.items() if name == "general" else [(name, coded[0])]:
                rows.append({
                    "kind": kind, "source": source, "prior": prior,
                    "bits": float(bits.sum() / count.sum()),
                    "standard_error": _error_of_ratio(bits, count),
                    "graphs": len(graphs), "density": _density(graphs),
                })  # fmt: skip
    return rows


@torch.inference_mode()
def main() -> None:
    """Measure and keep."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--general", type=Path, default=None, help="another file than the shipped")
    given = parser.parse_args().general
    general = load_prior("general" if given is None else given).network
    rows = []
    for kind, graphs in kinds().items():
        priors = {"general": general}
        if kind in OWN:
            priors["own"] = load_prior(OWN[kind]).network
        rows += rows_of(kind, graphs, priors)
    save("families", "OMP_NUM_THREADS=1 python benchmarks/families.py", rows)


if __name__ == "__main__":
    main()
