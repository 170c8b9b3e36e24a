"""Molecules and discussion threads: a prior of real graphs, observations simulated.

    python examples/shapes.py            skeletons of drug-like molecules
    python examples/shapes.py --threads  who answers whom in a discussion

Test graphs are none of those that the prior learned from. Precision matrices
and observations are drawn, so this shows what a fitting prior is worth when the
Gaussian model holds.
"""

from __future__ import annotations

import sys
from functools import cache, partial

import numpy as np
import pandas as pd

from compare import Case, Sample, main
from graph_files import data_file
from graphprior.gaussian.simulate import simulate_observations, simulate_precision
from graphprior.io.graph_sets import read_npz
from graphprior.types import Matrix

SOURCES = {
    "molecules": "the training set of MOSES (package molsets), molecules of 16 to 24 heavy atoms",
    "threads": "SNAP's `reddit_threads`, graphs of 16 to 24 nodes",
}


@cache
def held_out(family: str) -> list[Matrix]:
    """Graphs that the prior never saw."""
    return read_npz(data_file(f"{family}/test.npz", SOURCES[family]))


def draw(family: str, k: int, g: int, rng: np.random.Generator) -> Sample:
    """The g-th test graph, its own precision matrix, and k observations."""
    A = held_out(family)[g]
    Theta_0 = simulate_precision(A, rng, tries=10_000)
    return Sample(A, pd.DataFrame(simulate_observations(Theta_0, k, rng)).add_prefix("x"))


def case(family: str, title: str, wrong: str) -> Case:
    """The case of a family of graphs."""
    return Case(
        name=family,
        title=title,
        draw=partial(draw, family),
        ks=(15, 50, 200),
        shares=(0.2, 0.5),
        prior=family,
        wrong=wrong,
        repeats=50,
        budgets={"BDgraph": 10},
        without=("direct, exact zeros",),  # simulated: they are
    )


MOLECULES = case("molecules", "Skeletons of molecules, simulated observations", "egonets")
THREADS = case("threads", "Discussion threads, simulated observations", "molecules")

if __name__ == "__main__":
    chosen = THREADS if "--threads" in sys.argv else MOLECULES
    sys.argv = [word for word in sys.argv if word != "--threads"]
    main(chosen)
