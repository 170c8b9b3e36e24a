"""Engines against listing all graphs of four nodes: largest error of an edge's probability.

    python benchmarks/enumeration.py

Exact priors with random weights, nothing known, evidence of simulated data. The exact posterior
weighs each of the 64 graphs by prior and integrated likelihood. `coupling` is the largest
correlation in the Fisher information of the pairs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from record import save

from graphprior import Schedule, Sweeps
from graphprior.engines.direct import posterior_probabilities
from graphprior.engines.gibbs import sample
from graphprior.engines.langevin import sample_graphs
from graphprior.engines.posterior import Posterior
from graphprior.evidence.evidence import Evidence, data_evidence
from graphprior.evidence.marginal import MarginalLikelihood
from graphprior.evidence.slab import Slab
from graphprior.gaussian.simulate import simulate_observations, simulate_precision
from graphprior.graphs.matrices import vech
from graphprior.priors.exact import FiniteGraphs, all_graphs
from graphprior.problem.problem import Problem
from graphprior.types import Matrix

sys.path.append(str(Path(__file__).parent.parent / "tests"))
from exact_graphs import log_marginals

SLAB = Slab(0.1, 0.3)

SCHEDULES = {
    "paper's schedule": Schedule.linear(),
    "relaxed": Schedule.relaxed(),
    "2000 steps": Schedule.geometric(20, 1.0, 0.1, 100, 1e-3),
}


def runs(
    known: Matrix, prior: FiniteGraphs, evidence: Evidence, seed: int
) -> dict[str, Callable[[], Posterior]]:
    """The engines compared, by name; each draws from the seed anew, whoever ran before it."""
    likelihood = MarginalLikelihood(evidence)
    new = partial(np.random.default_rng, seed)
    one_by_one, blocks = Sweeps(None, 5, 60, None), Sweeps(3, 5, 60, 3)
    return {
        "direct, 1 pass": lambda: posterior_probabilities(known, prior, evidence, 1),
        "direct": lambda: posterior_probabilities(known, prior, evidence),
        "gibbs, one by one": lambda: sample(known, prior, evidence, new(), 100, one_by_one),
        "gibbs, blocks of two": lambda: sample(known, prior, evidence, new(), 100, blocks),
        **{
            f"langevin, {name}": lambda schedule=schedule: sample_graphs(
                known, prior, likelihood, new(), 200, schedule
            )
            for name, schedule in SCHEDULES.items()
        },
    }


def main() -> None:
    """Measure and keep."""
    graphs, rows = all_graphs(4), []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        prior = FiniteGraphs(list(graphs), 1.5 * rng.normal(size=len(graphs)))
        A = graphs[rng.integers(len(graphs))]
        k = (20, 60, 200)[seed % 3]
        problem = Problem.create(simulate_observations(simulate_precision(A, rng, 200), k, rng))
        evidence = data_evidence(problem, fixed=SLAB)
        listed, log_p = log_marginals(evidence.chains, problem.known, SLAB.variance, seed)
        weight = prior.log_weights.numpy() + [
            log_p[(listed == A).all((1, 2))][0] for A in graphs
        ]  # fmt: skip
        weight = np.exp(weight - weight.max())
        exact = np.einsum("g,gp->p", weight / weight.sum(), vech(graphs))
        engines = runs(problem.known, prior, evidence, seed)
        F, _ = evidence.coupled()
        d = np.sqrt(np.diag(F))
        coupling = float(np.abs(F / np.outer(d, d) - np.eye(len(d))).max())
        for engine, run in engines.items():
            error = float(np.abs(vech(run().edge_probabilities) - exact).max())
            rows.append({"seed": seed, "k": k, "coupling": coupling, "engine": engine,
                         "largest_error": error})  # fmt: skip
    save("enumeration", "python benchmarks/enumeration.py", rows)


if __name__ == "__main__":
    main()
