"""What a pass of the evidence network costs, and the engines at n = 50.

    OMP_NUM_THREADS=1 python benchmarks/passes.py

The share of the machine's single-precision matrix-multiply rate that the forward pass reaches at
n = 50, batch 10: both by CPU time in turn, counting only the useful multiplications of its linear
maps and path products.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from record import cpu_seconds, save

from graphprior import PartialGGM, load_prior
from graphprior.gaussian.simulate import simulate_observations, simulate_precision
from graphprior.graphs.matrices import hide
from graphprior.paper.datasets import dual_barabasi_albert
from graphprior.priors.networks.evidence_network import GLOBALS, INPUTS, PARITY, EvidenceNetwork


def median_seconds(*works: Callable[[], object], repeats: int = 40) -> list[float]:
    """Median CPU time of each of several calls, made in turn, after two warm-up rounds."""
    times = np.empty((repeats + 2, len(works)))
    for row in times:
        for w, work in enumerate(works):
            row[w] = cpu_seconds(work)[0]
    return [float(seconds) for seconds in np.median(times[2:], 0)]


def multiplications(network: EvidenceNetwork, n: int, batch: int) -> float:
    """Floating point operations that the linear maps and path products of a forward pass need.

    A path from i to j leads over one of the n - 2 other nodes: the zeros on the
    diagonal, which the product multiplies too, do not count.
    """
    c = network.config
    pairs = n * (n - 1) / 2
    per_pair = c.channels * (1 + 2 * c.paths) + c.hidden * (
        c.channels + c.paths + PARITY * c.parity + c.channels
    )
    per_node, per_graph = c.hidden * (2 * c.paths + c.hidden), c.hidden * 4 * c.paths
    paths = c.paths * n * (n - 1) * (n - 2)
    layer = pairs * per_pair + n * per_node + per_graph + paths
    edges = pairs * (INPUTS + 1) * c.channels + GLOBALS * c.channels
    return 2 * batch * (c.layers * layer + edges)


def main() -> None:
    """Measure and keep."""
    torch.set_num_threads(1)
    A, B = torch.randn(1024, 1024), torch.randn(1024, 1024)
    prior = load_prior("barabasi-albert")
    ell = torch.randn(10, 50 * 49 // 2)
    with torch.inference_mode():
        of_product, seconds = median_seconds(lambda: A @ B, lambda: prior.network(ell))  # type: ignore[union-attr]
    rate = 2 * 1024**3 / of_product
    work = multiplications(prior.network, 50, 10)  # type: ignore[arg-type]
    rows: list[dict[str, object]] = [
        {"what": "sgemm, n = 1024", "gflops": rate / 1e9},
        {"what": "forward, n = 50, batch 10", "cpu_seconds": seconds,
         "gflops": work / seconds / 1e9, "share_of_sgemm": work / seconds / rate},
    ]  # fmt: skip
    rng = np.random.default_rng(3)
    graph = dual_barabasi_albert(1, rng, (50,))[0]
    known = hide(graph, rng, share=0.1)
    X = simulate_observations(simulate_precision(graph, rng, 500), 100, rng)
    for engine in ("direct", "gibbs"):
        model = PartialGGM(prior, engine=engine, prior_weight="full", random_state=0)
        model.fit(X, known=known)
        seconds, _ = cpu_seconds(partial(model.fit, X, known=known))
        rows.append({"what": f"engine {engine}, n = 50, 10% unknown, k = 100",
                     "cpu_seconds": seconds,
                     "passes": model.diagnostics_.posterior.passes})  # fmt: skip
    save("passes", "OMP_NUM_THREADS=1 python benchmarks/passes.py", rows)


if __name__ == "__main__":
    main()
