"""The rule for an indefinite Theta_tilde beside the plain inverse, likelihood alone (LL).

OMP_NUM_THREADS=1 GRAPHPRIOR_DATA=... python benchmarks/indefinite.py     (a few minutes)

Half of the pairs of training ego-nets are hidden, k = 0.35 |U|, M = 10, the paper's
schedule. Means over graphs of the share of chains that are indefinite, of the largest
noisy entry at the end, and of the AUC on the unknown pairs.
"""

import numpy as np
import torch
from problems import egonet_models
from record import save

from graphprior.engines.langevin import annealed_langevin, project
from graphprior.evidence.plug_in import PlugInLikelihood
from graphprior.evidence.precision import constrained_mle
from graphprior.gaussian.simulate import simulate_observations
from graphprior.graphs.matrices import hide, unknown_mask
from graphprior.priors.noise import Schedule
from graphprior.problem.problem import Problem
from graphprior.results.metrics import auc, on_unknown
from graphprior.types import Matrix

RULES = {"tangent below 0.2": 0.2, "plain inverse": None}


def measure(A: Matrix, problem: Problem, floor: float | None, cut: bool) -> dict[str, float]:
    fit = constrained_mle(problem)
    likelihood = PlugInLikelihood.create(fit.Theta, fit.S, problem.k, floor=floor)
    known = torch.tensor(problem.known)
    longest = 1 / likelihood.curvature(known.isnan()) if cut else float("inf")
    rngs = np.random.default_rng(0).spawn(10)
    shares = []
    for state, info in annealed_langevin(  # noqa: B007 (the last state is used)
        likelihood, known, Schedule.linear(), rngs, likelihood, longest
    ):
        shares.append(float(info.indefinite.double().mean()))
    P = project(state.A_tilde).mean(0)
    return {
        "indefinite_at_start": shares[0],
        "indefinite_share": float(np.mean(shares)),
        "largest_entry": float(state.A_tilde.abs().max()),
        "auc": auc(on_unknown(A, problem.U), on_unknown(P, problem.U)),
    }


def main(R: int = 20, seed: int = 1) -> None:
    rng = np.random.default_rng(seed)
    rows = []
    problems = []
    for A, Theta_0 in egonet_models(R, rng):
        known = hide(A, rng, share=0.5)
        k = int(np.ceil(0.35 * unknown_mask(known).sum() / 2))
        problems.append((A, Problem.create(simulate_observations(Theta_0, k, rng), known)))
    for name, floor in RULES.items():
        for cut in (True, False):
            found = [measure(A, problem, floor, cut) for A, problem in problems]
            means = {key: float(np.nanmean([row[key] for row in found])) for key in found[0]}
            rows.append({"rule": name, "steps_cut": cut, "graphs": R, **means})
    save("indefinite", "OMP_NUM_THREADS=1 python benchmarks/indefinite.py", rows)


if __name__ == "__main__":
    main()
