"""BDgraph (Mohammadi & Wit 2015), the Bayesian peer in R: birth-death sampling of graphs.

A bridge, no more: tables go to ``Rscript`` as CSV files and the probabilities
of edges come back. What is known enters as a prior probability of exactly 0 or
1, which BDgraph never moves; an unknown pair has one half.
"""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from graphprior.errors import GraphPriorError
from graphprior.evidence.precision import standardise
from graphprior.paper.baselines.protocol import Factory
from graphprior.problem.problem import Problem
from graphprior.results.metrics import on_unknown
from graphprior.types import Matrix, Vector

# BDgraph's own default; half of them are its burn-in.
ITERATIONS = 5000
TIMEOUT = 600.0

FIND = 'quit(status = as.integer(length(find.package("BDgraph", quiet = TRUE)) == 0))'
# One core, so that the seed decides; probabilities come rounded to two digits unless told.
SCRIPT = """
suppressPackageStartupMessages(library(BDgraph))
arguments <- as.integer(commandArgs(trailingOnly = TRUE))
table <- function(name) unname(as.matrix(read.csv(name, header = FALSE)))
set.seed(arguments[1])
chain <- bdgraph(
  data = table("X.csv"), method = "ggm", algorithm = "bdmcmc", g.prior = table("prior.csv"),
  iter = arguments[2], jump = arguments[3], cores = 1, verbose = FALSE
)
write.table(
  as.matrix(plinks(chain, round = 15)), "links.csv",
  sep = ",", row.names = FALSE, col.names = FALSE
)
"""


MISSING = "Rscript with the package BDgraph was not found; apt install r-cran-bdgraph"


@cache
def available() -> bool:
    """Whether Rscript and BDgraph are installed."""
    if shutil.which("Rscript") is None:
        return False
    found = subprocess.run(["Rscript", "-e", FIND], capture_output=True, timeout=60, check=False)
    return found.returncode == 0


def jump(problem: Problem) -> int:
    """How many pairs change at once: BDgraph's n / 10, but few of those that may change.

    Where a handful of pairs is unknown, changing all of them together gives
    wrong probabilities (docs/decisions.md).
    """
    unknown = int(problem.U.sum()) // 2
    return max(1, min(problem.n // 10, unknown // 20))


def link_probabilities(
    problem: Problem,
    rng: np.random.Generator,
    iterations: int = ITERATIONS,
    timeout: float = TIMEOUT,
) -> Matrix:
    """Posterior probability of an edge for every pair (n, n); known ones are 0 and 1."""
    if not available():
        raise GraphPriorError(f"BDgraph skipped: {MISSING}")
    if not problem.U.any():
        return problem.known
    prior = np.where(problem.U, 0.5, problem.known)
    seed = int(rng.integers(2**31))
    with TemporaryDirectory(prefix="graphprior-") as name:
        folder = Path(name)
        # BDgraph neither centres nor scales, and its prior of Theta is one for unit variances.
        _write(folder / "X.csv", standardise(problem.X))
        _write(folder / "prior.csv", prior)
        (folder / "script.R").write_text(SCRIPT)
        _run(folder, [seed, iterations, jump(problem)], timeout)
        upper: Matrix = np.loadtxt(folder / "links.csv", delimiter=",", ndmin=2)
    return upper + upper.T


def _write(path: Path, table: Matrix) -> None:
    np.savetxt(path, table, delimiter=",", fmt="%.17g")


def _run(folder: Path, arguments: list[int], timeout: float) -> None:
    command = ["Rscript", "script.R", *map(str, arguments)]
    try:
        ended = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired:
        raise GraphPriorError(
            f"BDgraph did not finish in {timeout:g} seconds: allow more time or fewer iterations"
        ) from None
    if ended.returncode != 0:
        said = ended.stderr.strip() or ended.stdout.strip() or "nothing"
        raise GraphPriorError(f"BDgraph failed; R said: {said}")


def bdgraph(problem: Problem, rng: np.random.Generator) -> Vector:
    """Posterior probability of an edge for each unknown pair."""
    return on_unknown(link_probabilities(problem, rng), problem.U)


METHODS: dict[str, Factory] = {"BDgraph": lambda setting: bdgraph}
REQUIRES = {"BDgraph": lambda: None if available() else MISSING}
