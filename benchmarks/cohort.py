"""Tables a second: a cohort of 1,000 small tables with one prior.

    OMP_NUM_THREADS=1 python benchmarks/cohort.py

n = 20 variables, k = 60 observations, half of the pairs known, prior `egonets`, engine
`direct`. The graphs are drawn here: one node joined to all others, which form groups. On one
core, and as a process that starts, with what it takes to load the package and the prior.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from record import save

from graphprior.errors import GraphPriorError
from graphprior.gaussian.simulate import simulate_observations, simulate_precision
from graphprior.graphs.matrices import hide, pairs
from graphprior.types import Matrix

PROGRAM = [sys.executable, "-c", "from graphprior.cli.main import main; main()"]


def ego_network(rng: np.random.Generator, n: int, groups: int = 3) -> Matrix:
    """A person, all of whom she knows, and who among them know each other: mostly one's group."""
    group = rng.integers(groups, size=n)
    rate = np.where(group[:, None] == group, 0.4, 0.03)
    A = np.triu(rng.random((n, n)) < rate, 1)
    A[0, 1:] = True
    return (A | A.T).astype(float)


def write_tables(folder: Path, count: int, n: int, k: int, rng: np.random.Generator) -> None:
    """Measurements and known parts, a file of the same name for each."""
    names = [f"v{i}" for i in range(n)]
    rows, cols = pairs(n)
    for part in ("data", "known"):
        (folder / part).mkdir()
    made = 0
    while made < count:
        A = ego_network(rng, n)
        try:
            X = simulate_observations(simulate_precision(A, rng), k, rng)
        except GraphPriorError:  # too dense to draw from
            continue
        name = f"{made:04d}.csv"
        np.savetxt(folder / "data" / name, X, "%.6g", ",", header=",".join(names), comments="")
        a = hide(A, rng, share=0.5)[rows, cols]
        table = {"source": np.take(names, rows), "target": np.take(names, cols), "present": a}
        told = pd.DataFrame(table).dropna().astype({"present": int})
        told.to_csv(folder / "known" / name, index=False)
        made += 1


def children() -> float:
    """CPU seconds of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(folder: Path, count: int, n: int, k: int) -> dict[str, object]:
    """The command on ``count`` tables, as a user types it."""
    words = ["estimate", "data", "--each", "--known", "known", "--prior", "egonets"]
    wall, cpu = time.perf_counter(), children()
    command = [*PROGRAM, *words, "--out", "result"]
    subprocess.run(command, cwd=folder, check=True)
    wall, cpu = time.perf_counter() - wall, children() - cpu
    inside = pd.read_csv(folder / "result" / "summary.csv")["seconds"]
    return {
        "tables": count, "n": n, "k": k, "tables_per_cpu_second": count / cpu,
        "cpu_seconds_per_table": cpu / count, "wall_seconds": wall,
        "median_wall_seconds_of_a_table": float(inside.median()),
    }  # fmt: skip


def main() -> None:
    """Make the tables, answer them, and keep the rates."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=1000)
    count = parser.parse_args().tables
    with tempfile.TemporaryDirectory() as folder:
        write_tables(Path(folder), count, 20, 60, np.random.default_rng(0))
        row = measure(Path(folder), count, 20, 60)
    save("cohort", "OMP_NUM_THREADS=1 python benchmarks/cohort.py", [row])


if __name__ == "__main__":
    main()
