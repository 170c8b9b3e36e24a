"""What limits F1 in a figure: each part replaced by an oracle, or left out.

    python benchmarks/limits.py egonets-50 0.15
    python benchmarks/limits.py egonets-full 5.6 10

Problems of `graphprior experiment`. "true size and rate" gives the evidence the simulator's
own variance of partial correlations (1/n) and the share of edges hidden; "at random"
tells that hiding did not depend on the value; "no data" is the prior alone; "no prior" the data
with independent edges at the true rate. The prior itself has no oracle: the distribution of the
graphs is not known in closed form.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
from record import save

from graphprior import load_prior
from graphprior.engines.direct import posterior_probabilities
from graphprior.engines.gibbs import ONE_BY_ONE, sample
from graphprior.evidence.evidence import data_evidence
from graphprior.evidence.slab import Slab
from graphprior.paper.experiments.registry import experiment
from graphprior.priors.exact import IndependentEdges
from graphprior.problem.problem import Problem
from graphprior.results.metrics import METRICS, calibration_error, on_unknown, split_metric

# A pass for each pair of each sweep: a few graphs tell enough, pair by pair.
ONE_BY_ONE_GRAPHS = 12
ONE_BY_ONE_NODES = 30


def answers_to(problem: Problem, A: np.ndarray, prior, listed: bool, seed: int) -> dict:
    """Edge probabilities of the pairs asked for, by what was replaced."""
    known = problem.known
    rate = float(np.clip(on_unknown(A, problem.U).mean(), 0.02, 0.98))
    estimated = data_evidence(problem)
    told = data_evidence(problem, fixed=Slab(1 / len(A), rate))
    answers = {
        "direct": posterior_probabilities(known, prior, estimated),
        "at random": posterior_probabilities(known, prior, estimated, by_value=False),
        "one pass": posterior_probabilities(known, prior, estimated, 1, False),
        "true size and rate": posterior_probabilities(known, prior, told),
        "no data": posterior_probabilities(known, prior, None),
        "no prior": posterior_probabilities(known, IndependentEdges(rate), told, 1, False),
    }
    if listed:
        one_by_one = sample(known, prior, estimated, np.random.default_rng(seed), 10, ONE_BY_ONE)
        answers[f"gibbs one by one, first {ONE_BY_ONE_GRAPHS}"] = one_by_one
        answers[f"direct, first {ONE_BY_ONE_GRAPHS}"] = answers["direct"]
    return {what: on_unknown(a.edge_probabilities, problem.U) for what, a in answers.items()}


def limits(name: str, x: float) -> list[dict]:
    """One row for each part replaced, at one point of a figure."""
    spec = experiment(name).spec
    prior = load_prior(spec.priors["evidence"])
    truths, found = [], {}
    for g in range(spec.graphs):
        A = spec.graph("test", g)
        problem = spec.problem(x, A, "test", g)
        truths.append(on_unknown(A, problem.U))
        listed = g < ONE_BY_ONE_GRAPHS and len(A) <= ONE_BY_ONE_NODES
        for what, p in answers_to(problem, A, prior, listed, g).items():
            found.setdefault(what, []).append(p)
        print(f"{name} at {x:g}: graph {g + 1} of {spec.graphs}", file=sys.stderr)
    return [
        {"figure": name, "x": x, "what": what, **score(truths[: len(P)], P, spec)}
        for what, P in found.items()
    ]


def score(truths: list[np.ndarray], P: list[np.ndarray], spec) -> dict:
    """The figure's metric, bits per pair and calibration error."""
    result = split_metric(truths, P, spec.seeds("splits"), METRICS[spec.metric])
    flat, p = np.concatenate(truths), np.clip(np.concatenate(P), 1e-4, 1 - 1e-4)
    bits = float(-np.mean(flat * np.log2(p) + (1 - flat) * np.log2(1 - p)))
    return {
        spec.metric: result.mean,
        "bits": bits,
        "calibration_error": calibration_error(flat, p),
    }


def main() -> None:
    """Measure and keep."""
    warnings.simplefilter("ignore")
    name, points = sys.argv[1], sys.argv[2:]
    rows = [row for x in points for row in limits(name, float(x))]
    save(f"limits-{name}", f"python benchmarks/limits.py {name} {' '.join(points)}", rows)


if __name__ == "__main__":
    main()
