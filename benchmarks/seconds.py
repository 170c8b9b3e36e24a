"""CPU seconds that every method takes on the same problems, side by side in one run.

    OMP_NUM_THREADS=1 GRAPHPRIOR_DATA=... python benchmarks/seconds.py     (about 15 minutes)

The first problems of four figures, one process, one thread; every method solves a problem before
the next one comes. Penalties of the lassos are those the figures were run with. The first problem
that meets a prior pays for reading it, which the median does not see.
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

import torch
from record import save

from graphprior.paper.baselines.protocol import Penalty
from graphprior.paper.experiments.methods import missing
from graphprior.paper.experiments.registry import experiment
from graphprior.paper.experiments.spec import Spec
from graphprior.paper.experiments.tuning import TUNED
from graphprior.paper.experiments.units import solve, solve_unit

FIGURES = {"grids-10": 0.85, "egonets-50": 0.85, "egonets-full": 5.6, "egonets-sweep": 0.5}
FITTED = Path(__file__).parent.parent / "results"


def seconds(spec: Spec, x: float, graphs: int) -> dict[str, list[float]]:
    """Of each method that can run here, on each problem."""
    fitted = FITTED / spec.name / "penalties.json"  # none where the figure has no lasso
    found = json.loads(fitted.read_text()) if TUNED.keys() & set(spec.methods) else {}
    penalties = {name: Penalty(**values) for name, values in found.items()}
    taken: dict[str, list[float]] = {}
    for method in spec.methods:
        if why := missing(spec, method):
            print(f"{method} left out: {why}")
        else:
            taken[method] = []
    for g in range(graphs):
        for method, times in taken.items():
            _, text = solve_unit(spec, method, x, g, penalties)
            solved = solve(text)
            if solved["error"]:
                raise SystemExit(f"{method} failed on graph {g} of {spec.name}: {solved['error']}")
            times.append(solved["seconds"])
            print(spec.name, g, method, times[-1], flush=True)
    return taken


def main(graphs: int = 3) -> None:
    """Measure and keep."""
    torch.set_num_threads(1)
    rows: list[dict[str, Any]] = []
    for name, x in FIGURES.items():
        spec: Spec = experiment(name).spec
        for method, times in seconds(spec, x, graphs).items():
            rows.append({
                "figure": name, "x": x, "method": method, "problems": len(times),
                "median_cpu_seconds": median(times), "largest": max(times),
            })  # fmt: skip
    save("seconds", "OMP_NUM_THREADS=1 python benchmarks/seconds.py", rows)


if __name__ == "__main__":
    main()
