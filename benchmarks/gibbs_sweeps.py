"""How many passes `gibbs` needs: R-hat, effective sample size, loss and time by blocks and sweeps.

    python benchmarks/gibbs_sweeps.py [--prior egonets] [--graphs 10]

Problems: graphs of the training set, half of their pairs unknown (a tenth for `barabasi-albert`),
k/|U| = 0.35. `bits` is the cross-entropy of the edge probabilities with the truth.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from record import save

from graphprior import Sweeps, load_prior
from graphprior.datasets import dual_barabasi_albert, egonets
from graphprior.engines.direct import posterior_probabilities
from graphprior.engines.gibbs import sample
from graphprior.evidence import data_evidence
from graphprior.ggm import simulate_observations, simulate_precision
from graphprior.graphs import Problem, hide
from graphprior.metrics import on_unknown

SETTINGS = [
    Sweeps(reveal=None, burn_in=2, keep=8, blocks=None),
    Sweeps(reveal=16, burn_in=2, keep=8, blocks=24),
    Sweeps(reveal=16, burn_in=2, keep=8, blocks=12),
    Sweeps(reveal=16, burn_in=2, keep=8, blocks=6),
    Sweeps(reveal=16, burn_in=2, keep=8, blocks=3),
    Sweeps(reveal=12, burn_in=1, keep=4, blocks=6),
    Sweeps(reveal=4, burn_in=1, keep=4, blocks=6),
    Sweeps(reveal=1, burn_in=1, keep=4, blocks=6),
]


def bits(truth: np.ndarray, p: np.ndarray) -> float:
    """Cross-entropy for each pair."""
    p = np.clip(p, 1e-4, 1 - 1e-4)
    return float(-np.mean(truth * np.log2(p) + (1 - truth) * np.log2(1 - p)))


def main() -> None:
    """Measure and keep."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--prior", default="egonets")
    parser.add_argument("--graphs", type=int, default=10)
    arguments = parser.parse_args()
    prior, rng = load_prior(arguments.prior), np.random.default_rng(11)
    small = "egonets" in arguments.prior
    graphs = egonets("train") if small else dual_barabasi_albert(arguments.graphs, rng)
    rows: list[dict[str, object]] = []
    table: dict[str, list[dict[str, float]]] = {}
    for g in range(arguments.graphs):
        A = graphs[g]
        known = hide(A, rng, share=0.5 if small else 0.1)
        truth = on_unknown(A, np.isnan(known))
        X = simulate_observations(simulate_precision(A, rng, 500), int(0.35 * len(truth)), rng)
        evidence = data_evidence(Problem.create(X, known))
        quick = posterior_probabilities(known, prior, evidence)
        p = on_unknown(quick.edge_probabilities, np.isnan(known))
        table.setdefault("direct", []).append({"bits": bits(truth, p)})
        for sweeps in SETTINGS:
            start = time.process_time()
            found = sample(known, prior, evidence, np.random.default_rng(g), 10, sweeps)
            p = on_unknown(found.edge_probabilities, np.isnan(known))
            table.setdefault(str(sweeps), []).append({
                "bits": bits(truth, p), "passes": found.diagnostics["passes"],
                "r_hat": found.diagnostics["r_hat"] or np.nan,
                "ess": found.diagnostics["ess"] or np.nan,
                "cpu_seconds": time.process_time() - start,
            })  # fmt: skip
    for name, runs in table.items():
        means = {key: float(np.nanmean([run[key] for run in runs])) for key in runs[0]}
        rows.append({"prior": arguments.prior, "sweeps": name, "graphs": len(runs), **means})
    command = (
        f"python benchmarks/gibbs_sweeps.py --prior {arguments.prior} --graphs {arguments.graphs}"
    )
    save(f"gibbs-sweeps-{'egonets' if small else 'barabasi-albert'}", command, rows)


if __name__ == "__main__":
    main()
