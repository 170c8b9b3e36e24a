"""Problems that several benchmarks share."""

import numpy as np

from graphprior.errors import GraphPriorError
from graphprior.gaussian.simulate import simulate_precision
from graphprior.paper.datasets import egonets
from graphprior.types import Matrix


def egonet_models(R: int, rng: np.random.Generator) -> list[tuple[Matrix, Matrix]]:
    """R training ego-nets and a precision matrix for each; those too dense to draw are skipped."""
    found: list[tuple[Matrix, Matrix]] = []
    graphs = egonets("train")
    for g in rng.permutation(len(graphs)):
        try:
            found.append((graphs[g], simulate_precision(graphs[g], rng)))
        except GraphPriorError:
            continue
        if len(found) == R:
            break
    return found
