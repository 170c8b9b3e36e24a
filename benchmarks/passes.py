"""What a pass of the evidence network costs, and the engines at n = 50.

    OMP_NUM_THREADS=1 python benchmarks/passes.py

The share of the machine's single-precision matrix-multiply rate that the forward pass reaches at
n = 50, batch 10, counting the multiplications of its linear maps and path products only.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import torch
from record import save

from graphprior import PartialGGM, load_prior
from graphprior.datasets import dual_barabasi_albert
from graphprior.ggm import simulate_observations, simulate_precision
from graphprior.graphs import hide
from graphprior.prior.network import GLOBALS, INPUTS, PARITY, EvidenceNetwork


def median_seconds(work: Callable[[], object], repeats: int = 15) -> float:
    """Median time of a call after two warm-up calls."""
    times = []
    for repeat in range(repeats + 2):
        start = time.perf_counter()
        work()
        if repeat > 1:
            times.append(time.perf_counter() - start)
    return float(np.median(times))


def multiplications(network: EvidenceNetwork, n: int, batch: int) -> float:
    """Floating point operations of the linear maps and path products of a forward pass."""
    c = network.config
    pairs = batch * n * (n - 1) / 2
    per_pair = c.channels * (1 + 2 * c.paths) + c.hidden * (
        c.channels + c.paths + PARITY * c.parity + c.channels
    )
    per_node = c.hidden * (4 * c.paths + c.hidden)
    layer = pairs * per_pair + batch * n * per_node + batch * c.paths * n**3
    edges = pairs * (INPUTS + 1) * c.channels + batch * GLOBALS * c.channels
    return 2 * (c.layers * layer + edges)


def main() -> None:
    """Measure and keep."""
    torch.set_num_threads(1)
    A, B = torch.randn(1024, 1024), torch.randn(1024, 1024)
    rate = 2 * 1024**3 / median_seconds(lambda: A @ B)
    prior = load_prior("barabasi-albert")
    ell = torch.randn(10, 50 * 49 // 2)
    with torch.inference_mode():
        seconds = median_seconds(lambda: prior.network(ell))  # type: ignore[union-attr]
    work = multiplications(prior.network, 50, 10)  # type: ignore[arg-type]
    rows: list[dict[str, object]] = [
        {"what": "sgemm, n = 1024", "gflops": rate / 1e9},
        {"what": "forward, n = 50, batch 10", "seconds": seconds, "gflops": work / seconds / 1e9,
         "share_of_sgemm": work / seconds / rate},
    ]  # fmt: skip
    rng = np.random.default_rng(3)
    graph = dual_barabasi_albert(1, rng, (50,))[0]
    known = hide(graph, rng, share=0.1)
    X = simulate_observations(simulate_precision(graph, rng, 500), 100, rng)
    for engine in ("direct", "gibbs"):
        model = PartialGGM(prior, engine=engine, n_samples=10, random_state=0)
        model.fit(X, known=known)
        start = time.process_time()
        model.fit(X, known=known)
        rows.append({"what": f"engine {engine}, n = 50, 10% unknown, k = 100",
                     "cpu_seconds": time.process_time() - start,
                     "passes": model.diagnostics_["passes"]})  # fmt: skip
    save("passes", "OMP_NUM_THREADS=1 python benchmarks/passes.py", rows)


if __name__ == "__main__":
    main()
