"""How often data that obey the model are judged not to, in the problems of the figures.

    OMP_NUM_THREADS=1 python benchmarks/slack.py [--graphs 100]

Absent pairs of these problems are exactly zero, so slack should stay 0 and no pair
should be doubted. Beside it, the CPU time of the evidence with the check and without.
"""

from __future__ import annotations

import argparse
import sys
import warnings

import numpy as np
from record import cpu_seconds, save

from graphprior.evidence.evidence import data_evidence
from graphprior.paper.experiments.registry import experiment

FIGURES = ("egonets-50", "grids-10", "grids-20", "ba-10", "ergm")
TIMED = 10


def main() -> None:
    """Measure and keep."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("--graphs", type=int, default=100)
    graphs, rows = parser.parse_args().graphs, []
    for name in FIGURES:
        spec = experiment(name).spec
        for x in spec.xs:
            slacks, doubted, checked, exact = [], 0, [], []
            for g in range(graphs):
                problem = spec.problem(x, spec.graph("test", g), "test", g)
                seconds, found = cpu_seconds(lambda problem=problem: data_evidence(problem))
                slacks.append(found.slack.size)
                doubted += bool(found.doubts)
                if g < TIMED:
                    checked.append(seconds)
                    run = lambda problem=problem: data_evidence(problem, slack=0.0)  # noqa: E731
                    exact.append(cpu_seconds(run)[0])
            rows.append({
                "figure": name, "x": x, "problems": len(slacks),
                "with_slack": int(np.count_nonzero(slacks)), "with_doubts": doubted,
                "ratio_of_seconds": float(np.sum(checked) / np.sum(exact)),
                "seconds": float(np.mean(checked)),
            })  # fmt: skip
            print(rows[-1], file=sys.stderr)
    save("slack", f"OMP_NUM_THREADS=1 python benchmarks/slack.py --graphs {graphs}", rows)


if __name__ == "__main__":
    main()
