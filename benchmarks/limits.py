"""What limits F1 in a figure: each part replaced by an oracle, or left out.

    python benchmarks/limits.py egonets-50 0.15

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
from graphprior.evidence import Slab, data_evidence
from graphprior.experiments.registry import experiment
from graphprior.metrics import METRICS, calibration_error, on_unknown, split_metric
from graphprior.prior.exact import IndependentEdges


def main() -> None:
    """Measure and keep."""
    warnings.simplefilter("ignore")
    name, x = sys.argv[1], float(sys.argv[2])
    spec = experiment(name).spec
    prior = load_prior(spec.priors["evidence"])
    truths, found = [], {}
    for g in range(spec.graphs):
        A = spec.graph("test", g)
        problem = spec.problem(x, A, "test", g)
        known, U = problem.known, problem.U
        truth = on_unknown(A, U)
        rate = float(np.clip(truth.mean(), 0.02, 0.98))
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
        if g < 30 and len(A) <= 30:  # a hundred passes and more
            answers["gibbs one by one, first 30"] = sample(
                known, prior, estimated, np.random.default_rng(g), 10, ONE_BY_ONE
            )
            answers["direct, first 30"] = answers["direct"]
        truths.append(truth)
        for label, answer in answers.items():
            found.setdefault(label, []).append(on_unknown(answer.edge_probabilities, U))
    rows = []
    for label, P in found.items():
        some = truths[: len(P)]
        result = split_metric(some, P, spec.seeds("splits"), METRICS[spec.metric])
        flat, p = np.concatenate(some), np.clip(np.concatenate(P), 1e-4, 1 - 1e-4)
        bits = float(-np.mean(flat * np.log2(p) + (1 - flat) * np.log2(1 - p)))
        rows.append({"figure": name, "x": x, "what": label, spec.metric: result.mean, "bits": bits,
                     "calibration_error": calibration_error(flat, p)})  # fmt: skip
    save(f"limits-{name}", f"python benchmarks/limits.py {name} {x:g}", rows)


if __name__ == "__main__":
    main()
