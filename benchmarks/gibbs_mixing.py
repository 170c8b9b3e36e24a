"""How long chains of `gibbs` must be: R-hat, effective sample size and error by blocks and sweeps.

    python benchmarks/gibbs_mixing.py [--graphs 4]

Problems: training ego-nets, half of their pairs unknown, k/|U| = 0.35; ten chains. Long runs of
200 sweeps tell how many sweeps one independent draw costs (chains * sweeps / ESS of the number of
edges) and when R-hat falls below 1.01. `error` is the mean distance of edge probabilities from
those of a long run that redraws one pair at a time, which is exact given prior and evidence; in
the row "one by one" it is the distance of two such runs, which is what chance leaves.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from record import save

from graphprior import Sweeps, load_prior
from graphprior.engines import gibbs
from graphprior.evidence.evidence import data_evidence
from graphprior.gaussian.simulate import simulate_observations, simulate_precision
from graphprior.graphs.matrices import hide
from graphprior.paper.datasets import egonets
from graphprior.problem.problem import Problem
from graphprior.results.metrics import on_unknown

LONG = 200
EXACT = Sweeps(reveal=None, burn_in=5, keep=60, blocks=None)
LENGTHS = [
    Sweeps(reveal=reveal, burn_in=burn_in, keep=keep, blocks=blocks)
    for blocks in (2, 4, 8, 16)
    for reveal, burn_in, keep in ((8, 1, 4), (8, 5, 20), (8, 0, LONG))
]


def long_run(problem: tuple[Any, ...], sweeps: Sweeps, seed: int) -> tuple[Any, Any, float, Any]:
    """Edge probabilities, trace of the number of edges, CPU seconds and facts of one run."""
    known, prior, evidence = problem
    traces = []
    original = gibbs.convergence

    def keep_trace(trace: Any) -> Any:
        traces.append(trace.sum(-1))
        return original(trace)

    gibbs.convergence = keep_trace
    start = time.process_time()
    try:
        found = gibbs.sample(known, prior, evidence, np.random.default_rng(seed), 10, sweeps)
    finally:
        gibbs.convergence = original
    seconds = time.process_time() - start
    return (
        on_unknown(found.edge_probabilities, np.isnan(known)),
        traces[0],
        seconds,
        found.diagnostics,
    )


def settled_after(edges: Any) -> float:
    """Sweeps after which R-hat of the rest is below 1.01; nan if never."""
    for start in (0, 1, 2, 5, 10, 20, 50, 100):
        r_hat = gibbs.array_stats.rhat(edges[:, start : start + 100], chain_axis=0, draw_axis=1)
        if r_hat < 1.01:
            return float(start)
    return float("nan")


def mean(values: list[float]) -> float | None:
    """Mean of what could be measured; None where nothing could."""
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else None


def main() -> None:
    """Measure and keep."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--graphs", type=int, default=4)
    count = parser.parse_args().graphs
    prior, rng = load_prior("egonets"), np.random.default_rng(11)
    table: dict[Sweeps | str, list[dict[str, float]]] = {}
    for g, A in enumerate(egonets("train")[:count]):
        known = hide(A, rng, share=0.5)
        k = int(0.35 * np.isnan(known).sum() / 2)
        X = simulate_observations(simulate_precision(A, rng, 500), k, rng)
        problem = (known, prior, data_evidence(Problem.create(X, known)))
        exact, edges, _, _ = long_run(problem, EXACT, g)
        again, _, _, _ = long_run(problem, EXACT, 1000 + g)
        ess = gibbs.array_stats.ess(edges, chain_axis=0, draw_axis=1)
        floor = float(np.abs(exact - again).mean())
        table.setdefault("one by one", []).append(
            {"sweeps_per_draw": edges.size / float(ess), "error": floor}
        )
        for sweeps in LENGTHS:
            p, edges, seconds, facts = long_run(problem, sweeps, g)
            row = {
                "error": float(np.abs(p - exact).mean()), "cpu_seconds": seconds,
                "passes": facts.passes, "r_hat": facts.r_hat,
            }  # fmt: skip
            if sweeps.keep == LONG:
                row["sweeps_per_draw"] = edges.size / facts.ess
                row["settled_after"] = settled_after(edges)
            table.setdefault(sweeps, []).append(row)
        print(g, flush=True)
    rows = [
        {"sweeps": str(name), "graphs": len(runs)}
        | {key: mean([run[key] for run in runs]) for key in runs[0]}
        for name, runs in table.items()
    ]
    save("gibbs-mixing", f"python benchmarks/gibbs_mixing.py --graphs {count}", rows)


if __name__ == "__main__":
    main()
