"""The small ones among published gene-regulation and signalling models, to learn a prior from.

Make the set and learn from it:

    python examples/regnets.py build/regnets.npz
    graphprior train build/regnets.npz --out build/priors/regnets.safetensors \
        --steps 500 --batch 8 --licence "topology of published models"
"""

from __future__ import annotations

import numpy as np

from graph_files import data_file, write_graphs
from graphprior.io.graph_sets import read_npz
from graphprior.types import Matrix

LARGEST = 25
SOURCE = "skeletons of the models in the Biodivine Boolean Models collection on GitHub"


def regnets(count: int, rng: np.random.Generator) -> list[Matrix]:
    """At most ``count`` of the graphs with up to 25 nodes, in the order of the file."""
    graphs = read_npz(data_file("regnets/graphs.npz", SOURCE))
    return [A for A in graphs if len(A) <= LARGEST][:count]


if __name__ == "__main__":
    write_graphs(regnets)
