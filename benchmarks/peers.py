"""PartialGGM without a prior against BDgraph, GraphicalLassoCV and huge, on simulated problems.

    OMP_NUM_THREADS=1 python benchmarks/peers.py [--jobs 2] [--quick]

Independent edges, four a variable (at most .3 of the pairs). Strengths "wishart" (masked),
"uniform" (+-[.2, .6]), and "g-wishart" (3 degrees of freedom, identity): what BDgraph assumes, and
what its `bdgraph.sim` draws. k = n and 5 n; nothing known, or half of the pairs, with the same
observations. Scores are of the unknown pairs: AUC, log-loss in bits per pair, F1 at the method's
own decision.

PartialGGM        prior=None, engine "direct"; an edge where the probability is .5.
BDgraph           bdgraph(method = "ggm", algorithm = "bdmcmc", cores = 1), 5000 iterations, its
                  default (2500 where n = 100: 5000 take more than a minute); an edge where the
                  probability is .5. Nothing known: its default g.prior of .2. Half known: g.prior
                  of 0 and 1 for known pairs, and for the others the rate that PartialGGM guesses
                  from the known ones. It neither centres nor scales and assumes unit scale, so
                  tables are standardised, but for "g-wishart", whose scale is the one it assumes.
GraphicalLassoCV  Its defaults, standardised; cannot be told what is known. AUC is of the size of
                  partial correlations, F1 of the support.
huge              Its default path of ten graphical lassos, one chosen by stars; cannot be told
                  what is known. (In a trial on three problems a cell ebic, its default for them,
                  mostly chose the empty graph, and ric had the lower mean F1 from 50 variables on.)
                  AUC is of the mean size of partial correlations along the path, which does not
                  depend on the choice; F1 of the graph chosen.
                  Its seconds are mostly R's collections of garbage, which stars calls for.

The last two give no probabilities, and are fitted once to a table, whatever is known of it.
Probabilities are kept from 0 and 1 by 1/2500, the least that BDgraph's 2500 kept draws can tell:
nobody is punished for a 0 that stands for "hardly ever".

Seconds are medians over problems: CPU time and wall time of a fit, on one thread, all compiled and
loaded before; for R, measured in R. A peer that is not installed is left out, with a word. What is
done is kept in results/benchmarks/peers.jsonl until all is, so a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from record import RESULTS, cpu_seconds, save
from sizes import truth

import graphprior
from graphprior import PartialGGM
from graphprior.batch.work import Place, do, journal
from graphprior.errors import GraphPriorError, notes
from graphprior.evidence.precision import standardise
from graphprior.evidence.slab import rate_prior
from graphprior.gaussian.linalg import partial_correlations
from graphprior.gaussian.simulate import simulate_observations
from graphprior.graphs.matrices import hide
from graphprior.paper.baselines.sklearn_cv import cross_validated_precision
from graphprior.problem.problem import Problem
from graphprior.results.metrics import auc, f1, on_unknown
from graphprior.types import Matrix

STRENGTHS = ("wishart", "uniform", "g-wishart")
KNOWN = ("nothing", "half")
RATIOS = (1, 5)
PROBLEMS = {20: 6, 50: 3, 100: 2}
ITERATIONS = {20: 5000, 50: 5000, 100: 2500}
SUBSAMPLES = 20  # of stars, its default
QUICK_PROBLEMS = {20: 2}
QUICK_ITERATIONS = {20: 500}
QUICK_SUBSAMPLES = 3
LEAST = 1 / 2500
OURS = "PartialGGM"
# Whether more of it is better.
METRICS = {"auc": 1, "bits": -1, "f1": 1}
TIMEOUT = 3600.0

FIND = 'quit(status = as.integer(length(find.package("{}", quiet = TRUE)) == 0))'
TABLES = """
table <- function(name) unname(as.matrix(read.csv(name, header = FALSE)))
keep <- function(values, name) write.table(
  as.matrix(values), name, sep = ",", row.names = FALSE, col.names = FALSE
)
arguments <- as.integer(commandArgs(trailingOnly = TRUE))
set.seed(arguments[1])
X <- table("X.csv")
"""
BDGRAPH = """
suppressPackageStartupMessages(library(BDgraph))
told <- if (file.exists("prior.csv")) list(g.prior = table("prior.csv")) else list()
fixed <- list(
  data = X, method = "ggm", algorithm = "bdmcmc", iter = arguments[2], cores = 1, verbose = FALSE
)
seconds <- system.time(chain <- do.call(bdgraph, c(fixed, told)))
keep(plinks(chain, round = 15), "answer.csv")
keep(seconds[1:3], "seconds.csv")
"""
HUGE = """
suppressPackageStartupMessages(library(huge))
seconds <- system.time({
  path <- huge(X, method = "glasso", verbose = FALSE)
  best <- huge.select(path, criterion = "stars", rep.num = arguments[2], verbose = FALSE)
})
sizes <- lapply(path$icov, function(Theta) abs(cov2cor(as.matrix(Theta))))
keep(rbind(Reduce(`+`, sizes) / length(sizes), as.matrix(best$refit)), "answer.csv")
keep(seconds[1:3], "seconds.csv")
"""


class Cell(NamedTuple):
    """A kind of problem."""

    strengths: str
    n: int
    k: int
    known: str

    def __str__(self) -> str:
        return f"{self.strengths} n={self.n} k={self.k} {self.known} known"


class Answer(NamedTuple):
    """What a method says of all pairs: scores, its own graph, and the seconds that took."""

    scores: Matrix
    graph: Matrix
    cpu: float
    wall: float


class Task(NamedTuple):
    """A problem as a method meets it, and the length of BDgraph's and of huge's work."""

    cell: Cell
    problem: Problem
    seed: int
    iterations: int
    subsamples: int


class Method(NamedTuple):
    """A method, whether it takes known pairs and gives probabilities, and what it needs of R."""

    solve: Callable[[Task], Answer]
    bayesian: bool
    package: str | None = None


# Problems


def g_wishart(A: Matrix, rng: np.random.Generator, b: float = 3.0) -> Matrix:
    """A draw of Theta ~ W_G(b, identity) for the graph ``A``.

    The inverse of a Wishart draw is completed to the graph (Lenkoski 2013): row by row its
    entries become those of the regression on the neighbours, until nothing changes.
    """
    n = len(A)
    T = np.diag(np.sqrt(rng.chisquare(b + n - 1 - np.arange(n)))) + np.triu(
        rng.standard_normal((n, n)), 1
    )
    Sigma = np.linalg.inv(T.T @ T)
    W, others = Sigma.copy(), ~np.eye(n, dtype=bool)
    for _ in range(10000):
        before = W.copy()
        for j in range(n):
            N = np.flatnonzero(A[j])
            beta = np.linalg.solve(W[np.ix_(N, N)], Sigma[N, j])
            W[j, others[j]] = W[others[j], j] = W[np.ix_(others[j], N)] @ beta
        if np.abs(W - before).max() <= 1e-12 * np.abs(W).max():
            break
    Theta = np.linalg.inv(W)
    return (Theta + Theta.T) / 2 * (A + np.eye(n))


def make(cell: Cell, g: int) -> tuple[Matrix, Problem]:
    """The graph and the problem; half known and nothing known are of the same table."""
    strengths, n, k, known = cell
    rng = np.random.default_rng([17, STRENGTHS.index(strengths), n, k, g])
    if strengths == "g-wishart":
        A = np.triu(rng.random((n, n)) < min(0.3, 4 / (n - 1)), 1).astype(float)
        A = A + A.T
        Theta = g_wishart(A, rng)
    else:
        A, Theta = truth(strengths, n, rng)
    X = simulate_observations(Theta, k, rng)
    return A, Problem.create(X, hide(A, rng, share=0.5) if known == "half" else None)


# Methods


def ours(task: Task) -> Answer:
    problem = task.problem

    def fit() -> PartialGGM:
        with notes():
            return PartialGGM(None, random_state=task.seed).fit(problem.X, known=problem.known)

    fit()  # compiles and loads all that such a problem takes
    start = time.perf_counter()
    cpu, model = cpu_seconds(fit)
    wall = time.perf_counter() - start
    return Answer(model.edge_probabilities_, model.adjacency_, cpu, wall)


def bdgraph(task: Task) -> Answer:
    problem = task.problem
    home = task.cell.strengths == "g-wishart"
    tables = {"X": problem.X if home else standardise(problem.X)}
    if problem.O.any():
        tables["prior"] = np.where(problem.U, rate_prior(problem.known).mean, problem.known)
    P, cpu, wall = in_r(BDGRAPH, tables, task.seed, task.iterations)
    P = np.triu(P, 1) + np.triu(P, 1).T
    return Answer(P, P >= 0.5, cpu, wall)


def lasso_cv(task: Task) -> Answer:
    start = time.perf_counter()
    with warnings.catch_warnings(
        record=True
    ):  # where k = n it has not quite converged, and says so
        cpu, Theta = cpu_seconds(lambda: cross_validated_precision(task.problem.X))
    sizes = np.abs(partial_correlations(Theta))
    return Answer(sizes, sizes > 0, cpu, time.perf_counter() - start)


def huge(task: Task) -> Answer:
    answer, cpu, wall = in_r(HUGE, {"X": task.problem.X}, task.seed, task.subsamples)
    sizes, graph = np.split(answer, 2)
    return Answer((sizes + sizes.T) / 2, graph > 0, cpu, wall)


METHODS = {
    OURS: Method(ours, bayesian=True),
    "BDgraph": Method(bdgraph, bayesian=True, package="BDgraph"),
    "GraphicalLassoCV": Method(lasso_cv, bayesian=False),
    "huge": Method(huge, bayesian=False, package="huge"),
}


def in_r(script: str, tables: dict[str, Matrix], *arguments: int) -> tuple[Matrix, float, float]:
    """The answer of a script of R, and its CPU and wall seconds there."""
    with TemporaryDirectory(prefix="graphprior-") as name:
        folder = Path(name)
        for table, values in tables.items():
            np.savetxt(folder / f"{table}.csv", values, delimiter=",", fmt="%.17g")
        (folder / "script.R").write_text(TABLES + script)
        command = ["Rscript", "script.R", *map(str, arguments)]
        try:
            ended = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT, check=False
            )
        except subprocess.TimeoutExpired:
            raise GraphPriorError(f"R did not finish in {TIMEOUT:g} seconds") from None
        if ended.returncode:
            raise GraphPriorError(f"R said: {ended.stderr.strip() or ended.stdout.strip()}")
        answer = np.loadtxt(folder / "answer.csv", delimiter=",", ndmin=2)
        user, system, wall = np.loadtxt(folder / "seconds.csv", delimiter=",")
    return answer, float(user + system), float(wall)


def present() -> list[str]:
    """The methods that can run here; says which cannot, and what they need."""
    names = []
    for name, method in METHODS.items():
        if method.package is None or has_package(method.package):
            names.append(name)
        else:
            print(
                f"{name} is left out: it needs Rscript with the package {method.package}, which "
                f"was not found; apt install r-cran-{method.package.lower()}"
            )
    return names


def has_package(package: str) -> bool:
    """Whether R and a package of it are installed."""
    if shutil.which("Rscript") is None:
        return False
    found = subprocess.run(["Rscript", "-e", FIND.format(package)], capture_output=True)
    return found.returncode == 0


# Scores


def measure(text: str) -> dict[str, Any]:
    """Seconds of one method on one problem, and its scores, by what is known."""
    told = json.loads(text)
    cell, g, method = Cell(*told["cell"]), told["problem"], METHODS[told["method"]]
    A, problem = make(cell, g)
    try:
        answer = method.solve(Task(cell, problem, 1000 + g, *told["work"]))
    except GraphPriorError as error:
        return {"failed": str(error)}
    result: dict[str, Any] = {"cpu_seconds": answer.cpu, "wall_seconds": answer.wall}
    for known in (cell.known,) if method.bayesian else KNOWN:
        _, asked = make(cell._replace(known=known), g)
        result[known] = scores(A, asked, answer, method.bayesian)
    return result


def scores(A: Matrix, problem: Problem, answer: Answer, probabilities: bool) -> dict[str, Any]:
    """How well the unknown pairs were told."""
    a, s, chosen = (on_unknown(M, problem.U) for M in (A, answer.scores, answer.graph))
    bits = None
    if probabilities:
        right = np.where(a == 1, s, 1 - s)
        bits = float(-np.log2(np.clip(right, LEAST, 1 - LEAST)).mean())
    return {"auc": auc(a, s), "bits": bits, "f1": float(f1(a, chosen == 1))}


def units(
    problems: dict[int, int], names: list[str], iterations: dict[int, int], subsamples: int
) -> list[tuple[str, str]]:
    """A key and a text for each problem and method, the longest first."""
    made, code = {}, fingerprint()
    for cell in sorted(cells(problems), key=lambda cell: -cell.n):
        for g in range(problems[cell.n]):
            for name in names:
                asked = cell if METHODS[name].bayesian else cell._replace(known=KNOWN[0])
                told = {"cell": asked, "problem": g, "method": name}
                told["work"] = [iterations[cell.n], subsamples]
                made[f"{code} {key_of(cell, g, name)}"] = json.dumps(told)
    return list(made.items())


def key_of(cell: Cell, g: int, name: str) -> str:
    """Names the fit; one that is not told what is known is the same whatever that is."""
    known = f" {cell.known} known" if METHODS[name].bayesian else ""
    return f"{cell.strengths} n={cell.n} k={cell.k}{known}, problem {g}, {name}"


def cells(problems: dict[int, int]) -> list[Cell]:
    """All kinds of problems."""
    return [
        Cell(strengths, n, ratio * n, known)
        for strengths in STRENGTHS
        for known in KNOWN
        for n in problems
        for ratio in RATIOS
    ]


def fingerprint() -> str:
    """Tells the code: what another version measured is not gone on from."""
    files = sorted(Path(graphprior.__file__).parent.rglob("*.py"))
    files += [Path(__file__), Path(__file__).with_name("sizes.py")]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]


# Rows


Runs = dict[str, list[dict[str, Any]]]


def run_of(results: dict[str, dict[str, Any]], cell: Cell, g: int, name: str) -> dict[str, Any]:
    """Seconds and scores of a method on one problem, or why there are none."""
    result = results[key_of(cell, g, name)]
    return result if "failed" in result else {**result, **result[cell.known]}


def values(runs: list[dict[str, Any]], what: str) -> Matrix:
    """A score by problem, nan where there is none."""
    return np.array([np.nan if run.get(what) is None else run[what] for run in runs], dtype=float)


def mean_and_error(x: Matrix) -> tuple[float | None, float | None]:
    """Mean and standard error of what is there."""
    x = x[~np.isnan(x)]
    error = float(x.std(ddof=1) / np.sqrt(len(x))) if len(x) > 1 else None
    return (float(x.mean()) if len(x) else None), error


def gain(ours: list[dict[str, Any]], runs: list[dict[str, Any]], what: str) -> Any:
    """By how much ours is better, on the problems that both answered, and its standard error."""
    return mean_and_error(METRICS[what] * (values(ours, what) - values(runs, what)))


def settings(name: str, cell: Cell, iterations: int) -> str:
    """How a method was run, in short."""
    if name == "BDgraph":
        rate = "0.2" if cell.known == "nothing" else "of known pairs, others at their rate"
        data = "as drawn" if cell.strengths == "g-wishart" else "standardised"
        return f"bdmcmc, {iterations} iterations, g.prior {rate}, data {data}"
    if name == OURS:
        return "prior=None, direct"
    chosen = "cross-validation" if name == "GraphicalLassoCV" else "glasso, stars"
    return chosen if cell.known == "nothing" else f"{chosen}, not told what is known"


def row(cell: Cell, name: str, runs: Runs, iterations: int) -> dict[str, Any]:
    """Means of a method in a cell, and what ours gains on it."""
    mine, failed = runs[name], [run["failed"] for run in runs[name] if "failed" in run]
    found: dict[str, Any] = {**cell._asdict(), "method": name}
    found |= {"settings": settings(name, cell, iterations), "problems": len(mine) - len(failed)}
    if failed:
        found["failed"] = failed
    for what in METRICS:
        if what == "bits" and not METHODS[name].bayesian:
            found[what] = "no probabilities"
            continue
        found[what], found[f"{what}_error"] = mean_and_error(values(mine, what))
        if name != OURS:
            found[f"{what}_gain"], found[f"{what}_gain_error"] = gain(runs[OURS], mine, what)
    for what in ("cpu_seconds", "wall_seconds"):
        x = values(mine, what)
        found[what] = None if np.isnan(x).all() else float(np.nanmedian(x))
    return found


def verdict(rows: list[dict[str, Any]]) -> str:
    """In how many cells ours is best or level with the best, and where it is not."""
    count, said, where = len([r for r in rows if r["method"] == OURS]), [], []
    for what, title in zip(METRICS, ("AUC", "log-loss", "F1"), strict=True):
        behind: dict[Cell, list[str]] = {}
        for r in rows:
            difference, error = r.get(f"{what}_gain"), r.get(f"{what}_gain_error")
            if difference is not None and difference + 2 * (error or 0) < 0:
                loss = f"{r['method']} by {-difference:.3f} ± {error or np.nan:.3f}"
                behind.setdefault(Cell(*(r[key] for key in Cell._fields)), []).append(loss)
        said.append(f"{title} {count - len(behind)} of {count}")
        where += [f"{title}, {cell}: {'; '.join(losses)}" for cell, losses in behind.items()]
    others = ", ".join(sorted({r["method"] for r in rows} - {OURS})) or "nobody"
    line = f"{OURS} is best or level (two standard errors; {others}) in {', '.join(said)} cells"
    lost = sum(len(r.get("failed", ())) for r in rows)
    line += f", {lost} failed fits left out" if lost else ""
    return f"{line}. Not in: {' | '.join(where)}" if where else line


def table(rows: list[dict[str, Any]]) -> str:
    """The rows to read."""
    lines = [f"{'method':<17}{'AUC':>15}{'bits':>18}{'F1':>15}{'CPU s':>9}{'wall s':>9}"]
    last = None
    for r in rows:
        cell = Cell(*(r[key] for key in Cell._fields))
        lines += [] if cell == last else ["", f"{cell}, {r['problems']} problems"]
        last = cell
        scores = [spread(r[what], r.get(f"{what}_error")) for what in METRICS]
        seconds = ["-" if r[s] is None else f"{r[s]:.2f}" for s in ("cpu_seconds", "wall_seconds")]
        line = f"{r['method']:<17}{scores[0]:>15}{scores[1]:>18}{scores[2]:>15}"
        failed = f"  failed on {len(r['failed'])}" if "failed" in r else ""
        lines.append(f"{line}{seconds[0]:>9}{seconds[1]:>9}{failed}")
    return "\n".join(lines)


def spread(value: float | str | None, error: float | None) -> str:
    """A mean and its standard error in words."""
    if value is None or isinstance(value, str):
        return value or "-"
    return f"{value:.3f}" + ("" if error is None else f" ± {error:.3f}")


def measure_all(path: Path, made: list[tuple[str, str]], jobs: int) -> dict[str, dict[str, Any]]:
    """Results by key without the fingerprint."""
    with journal(path) as kept:
        count = sum(key in kept.results for key, _ in made)
        for key, result in do(made, measure, kept, Place(jobs)):
            count += 1
            said = result.get("failed") or f"{result['wall_seconds']:.1f} s"
            print(f"{count}/{len(made)} {key.split(' ', 1)[1]}: {said}", flush=True)
        return {key.split(" ", 1)[1]: kept.results[key] for key, _ in made}


def main() -> None:
    """Measure and keep; a quick look keeps nothing."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="n = 20, two problems a cell")
    arguments = parser.parse_args()
    quick = arguments.quick
    problems = QUICK_PROBLEMS if quick else PROBLEMS
    iterations = QUICK_ITERATIONS if quick else ITERATIONS
    subsamples = QUICK_SUBSAMPLES if quick else SUBSAMPLES
    path = RESULTS / ("peers-quick.jsonl" if quick else "peers.jsonl")
    names = present()
    made = units(problems, names, iterations, subsamples)
    results = measure_all(path, made, arguments.jobs)
    rows = []
    for cell in cells(problems):
        runs = {
            name: [run_of(results, cell, g, name) for g in range(problems[cell.n])]
            for name in names
        }
        rows += [row(cell, name, runs, iterations[cell.n]) for name in names]
    command = f"OMP_NUM_THREADS=1 python benchmarks/peers.py --jobs {arguments.jobs}"
    if not quick:
        save("peers", command, rows)
    path.unlink()
    print(table(rows))
    print(verdict(rows))


if __name__ == "__main__":
    main()
