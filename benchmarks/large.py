"""Grids larger than any in training: time, memory and F1 against n, engine `direct`.

    python benchmarks/large.py [--prior grids] [--sizes 49,100,196,400,1000] [--graphs 5]

Ten per cent unknown, k = 2 n observations, shipped prior of grids of 40 to 49 nodes.
"""

from __future__ import annotations

import argparse
import time

import networkx as nx
import numpy as np
from record import peak_megabytes, save

from graphprior import PartialGGM, load_prior
from graphprior.gaussian.simulate import simulate_observations, simulate_precision
from graphprior.graphs.matrices import hide, unvech, vech
from graphprior.results.metrics import auc, f1, on_unknown
from graphprior.types import Matrix

SIZES = "49,100,196,400,1000"


def large_grid(n: int, rng: np.random.Generator) -> Matrix:
    """A grid of about n nodes, nearly square, with as many extra edges a node as in training."""
    side = round(np.sqrt(n))
    a = vech(nx.to_numpy_array(nx.grid_2d_graph(side, round(n / side))))
    extra = rng.poisson(3 * n / 45)
    a[rng.choice(np.flatnonzero(a == 0), extra, replace=False)] = 1.0
    return unvech(a)


def main() -> None:
    """Measure and keep."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--prior", default="grids")
    parser.add_argument("--sizes", default=None)
    parser.add_argument("--graphs", type=int, default=5)
    arguments = parser.parse_args()
    prior, rows = load_prior(arguments.prior), []
    for n in map(int, (arguments.sizes or SIZES).split(",")):
        for g in range(1 if n >= 1000 else arguments.graphs):
            rng = np.random.default_rng([7, n, g])
            A = large_grid(n, rng)
            X = simulate_observations(simulate_precision(A, rng, tries=1000), 2 * len(A), rng)
            known = hide(A, rng, share=0.1)
            cpu, wall = time.process_time(), time.perf_counter()
            model = PartialGGM(prior, engine="direct", prior_weight="full").fit(X, known=known)
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            truth, p = (on_unknown(M, np.isnan(known)) for M in (A, model.edge_probabilities_))
            gain = model.prior_gain_
            assert gain is not None
            rows.append({
                "n": len(A), "k": 2 * len(A), "unknown": len(truth), "f1": f1(truth, p >= 0.5),
                "auc": auc(truth, p), "expected_edges": float(p.sum()), "edges": float(truth.sum()),
                "prior_gain_bits": gain.bits, "cpu_seconds": cpu, "seconds": wall,
                "peak_megabytes": peak_megabytes(),
            })  # fmt: skip
            print(rows[-1], flush=True)
    name, command = "large", f"python benchmarks/large.py --graphs {arguments.graphs}"
    if arguments.sizes:  # some sizes are a run of their own
        name, command = f"large-{arguments.sizes}", f"{command} --sizes {arguments.sizes}"
    save(name, command, rows)


if __name__ == "__main__":
    main()
