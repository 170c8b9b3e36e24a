"""Gene networks that were fitted to real expression data, so that the truth is exact.

    python examples/genes.py            E. coli, 46 genes
    python examples/genes.py --half     the same, half of the pairs hidden
    python examples/genes.py --arth150  Arabidopsis, 107 genes

Observations are drawn from the fitted Gaussian network; its graph is the moral
graph of the causal one. The prior knows moral graphs of random causal networks
(moral_graphs.py), never these two.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pandas as pd

from compare import Case, Sample, main
from graph_files import data_file
from graphprior.gaussian.simulate import simulate_observations
from graphprior.types import Matrix
from moral_graphs import moral_graph

SOURCE = "the networks ecoli70 and arth150 of bnlearn's repository"


@cache
def network(name: str) -> tuple[Matrix, Matrix, tuple[str, ...]]:
    """Graph, precision and genes of a fitted network: Theta = (I - W) inv(D) (I - W)'."""
    arcs = pd.read_csv(data_file(f"gaussian_bn/{name}_arcs.csv", SOURCE))
    nodes = pd.read_csv(data_file(f"gaussian_bn/{name}_nodes.csv", SOURCE))
    index = {gene: i for i, gene in enumerate(nodes["node"])}
    W = np.zeros((len(index), len(index)))
    W[arcs["parent"].map(index), arcs["child"].map(index)] = arcs["coefficient"]
    rest = np.eye(len(W)) - W
    return moral_graph(W), (rest / nodes["variance"].to_numpy()) @ rest.T, tuple(index)


def draw(name: str, k: int, g: int, rng: np.random.Generator) -> Sample:
    """k new observations in each repeat."""
    A, Theta, genes = network(name)
    return Sample(A, pd.DataFrame(simulate_observations(Theta, k, rng), columns=genes))


ECOLI = Case(
    name="genes-ecoli70",
    title="46 genes of E. coli",
    draw=partial(draw, "ecoli70"),
    ks=(30, 100, 500),
    shares=(0.2,),
    prior="moral",
    wrong="grids",
    repeats=20,
    budgets={"BDgraph": 5, "direct, grids": 10, "direct, grids tempered": 10},
)
# 517 pairs weighed together take twenty seconds, so there are fewer repeats.
HALF = replace(
    ECOLI,
    name="genes-ecoli70-half",
    title="46 genes of E. coli, half of the pairs hidden",
    shares=(0.5,),
    repeats=6,
    budgets=dict.fromkeys(("BDgraph", "direct, grids", "direct, grids tempered"), 3),
    without=("direct, exact zeros",),
)
ARABIDOPSIS = Case(
    name="genes-arth150",
    title="107 genes of Arabidopsis",
    draw=partial(draw, "arth150"),
    ks=(50, 200),
    shares=(0.05,),
    prior="moral",
    wrong="grids",
    repeats=10,
    budgets={"BDgraph": 3},
)
CASES = {"--half": HALF, "--arth150": ARABIDOPSIS}

if __name__ == "__main__":
    asked = [word for word in sys.argv if word in CASES]
    if len(asked) > 1:
        sys.exit(f"error: {' and '.join(asked)}: choose one")
    sys.argv = [word for word in sys.argv if word not in CASES]
    main(CASES[asked[0]] if asked else ECOLI)
