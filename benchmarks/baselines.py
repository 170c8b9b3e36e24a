"""What a method costs on one problem, and how well it ranks the unknown pairs there.

    OMP_NUM_THREADS=1 python benchmarks/baselines.py [METHOD ...]    (needs the `test` extra)

Dual Barabasi-Albert graphs, a fifth of the pairs unknown, k = 100. Methods that need a figure's
setting are left out. CPU time of R counts.
"""

import resource
import sys

import numpy as np
from record import save

from graphprior.gaussian.simulate import simulate_observations, simulate_precision
from graphprior.graphs.matrices import hide
from graphprior.paper.baselines.protocol import Setting
from graphprior.paper.baselines.registry import factory
from graphprior.paper.datasets import dual_barabasi_albert
from graphprior.problem.problem import Problem
from graphprior.results.metrics import auc, on_unknown
from graphprior.types import Matrix

METHODS = ["TIGER", "GraphSAGE", "GLassoCV", "BDgraph"]


def cpu_with_children() -> float:
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(use.ru_utime + use.ru_stime for use in both)


def problem(n: int, seed: int) -> tuple[Matrix, Problem]:
    rng = np.random.default_rng([n, seed])
    (A,) = dual_barabasi_albert(1, rng, sizes=(n,))
    X = simulate_observations(simulate_precision(A, rng, 10000), 100, rng)
    return A, Problem.create(X, hide(A, rng, share=0.2))


def measure(name: str, n: int, repeats: int) -> dict[str, object]:
    method, seconds, ranks = factory(name)(Setting()), [], []
    rng = np.random.default_rng(0)
    method(problem(8, 0)[1], rng)  # imports
    for repeat in range(repeats):
        A, p = problem(n, repeat)
        start = cpu_with_children()
        scores = method(p, rng)
        seconds.append(cpu_with_children() - start)
        ranks.append(auc(on_unknown(A, p.U), scores))
    return {
        "method": name,
        "n": n,
        "median_cpu_seconds": float(np.median(seconds)),
        "mean_auc": float(np.mean(ranks)),
    }


def main(names: list[str], repeats: int = 3) -> None:
    rows = [measure(name, n, repeats) for name in names for n in (20, 50)]
    save("baselines", "OMP_NUM_THREADS=1 python benchmarks/baselines.py", rows)


if __name__ == "__main__":
    main(sys.argv[1:] or METHODS)
