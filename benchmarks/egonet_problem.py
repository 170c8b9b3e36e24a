"""CPU-seconds and memory of one ego-net problem with Algorithm 1 as in the paper.

OMP_NUM_THREADS=1 GRAPHPRIOR_DATA=... python benchmarks/egonet_problem.py

n = 20, half of the pairs unknown, M = 10 chains, the shipped EDP-GNN. The rows split
the time of the paper's 3000 steps by the parts of the score; the last is LPost on the
schedule that the package uses unless told otherwise.
"""

import numpy as np
from record import cpu_seconds, peak_megabytes, save

from graphprior.engines.langevin import sample_graphs
from graphprior.engines.posterior import Posterior
from graphprior.evidence.plug_in import PlugInLikelihood
from graphprior.evidence.precision import constrained_mle
from graphprior.gaussian.simulate import simulate_observations, simulate_precision
from graphprior.graphs.matrices import hide
from graphprior.paper.datasets import egonets
from graphprior.priors.noise import Schedule
from graphprior.priors.protocol import Prior
from graphprior.priors.store import load_prior
from graphprior.problem.problem import Problem


def drawn(
    problem: Problem,
    M: int,
    prior: Prior | None,
    likelihood: PlugInLikelihood | None,
    schedule: Schedule,
) -> Posterior:
    rng = np.random.default_rng(0)
    return sample_graphs(problem.known, prior, likelihood, rng, M, schedule)


def main(n: int = 20, k: int = 95, M: int = 10) -> None:
    rng = np.random.default_rng(0)
    A = next(A for A in egonets("test") if len(A) == n)
    X = simulate_observations(simulate_precision(A, rng, tries=1000), k, rng)
    problem = Problem.create(X, hide(A, rng, share=0.5))
    mle_seconds, fit = cpu_seconds(lambda: constrained_mle(problem))
    likelihood = PlugInLikelihood.create(fit.Theta, fit.S, k)
    prior = load_prior("egonets-edp-gnn")
    rows = [{"part": "constrained MLE", "cpu_seconds": mle_seconds}]
    papers, ours = Schedule.linear(), Schedule.relaxed()
    for part, follows in {
        "LPost": (prior, likelihood, papers),
        "LPr": (prior, None, papers),
        "LL": (None, likelihood, papers),
        "LPost, relaxed schedule": (prior, likelihood, ours),
    }.items():
        seconds, posterior = cpu_seconds(lambda follows=follows: drawn(problem, M, *follows))
        rows.append(
            {
                "part": part,
                "cpu_seconds": seconds,
                "steps": posterior.diagnostics.steps,
                "chains": M,
                "n": n,
                "peak_megabytes": peak_megabytes(),
            }
        )
    save("egonet_problem", "OMP_NUM_THREADS=1 python benchmarks/egonet_problem.py", rows)


if __name__ == "__main__":
    main()
