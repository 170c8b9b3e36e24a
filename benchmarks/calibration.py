"""Calibration: whether edge probabilities, counts of edges and drawn graphs mean what they say.

    GRAPHPRIOR_DATA=... OMP_NUM_THREADS=1 python benchmarks/calibration.py [--jobs 2] [--resume]

Simulated problems of the cells in calibration_cells.py, solved by `direct` and, up to about 50
variables, by `gibbs`. `--repeats 40` is the number of problems of a small cell; cells of about 50
variables have 3/10 of it, larger ones 3/40. `--cells WORDS` takes cells whose name has the words,
`--quick` a few cells and two problems of each. A whole run writes results/benchmarks/calibration, a
part of it build/calibration-part. A run that was stopped goes on with `--resume`.

Of each cell and engine, over the unknown pairs:

- expected_over_true: sum of probabilities over number of edges, with its standard error over
  problems.
- calibration_error: pairs of all problems, sorted by probability, in ten bins of equal size; mean
  distance of mean probability and share of edges. by_chance is what right probabilities of
  independent pairs would show in these bins, excess the difference.
- bits: log-loss of a pair. f1: at probability 1/2. auc, f1: means over problems.
- not_settled: share of problems whose evidence says that it did not settle.
- noted: share of problems with notes; note is the most common one.
- p_...: where the truth ranks among the drawn graphs (of `gibbs`, ties broken at random) by number
  of edges, triangles, largest degree, and one unknown pair. Where the posterior is right, each rank
  is as likely. Two exact Kolmogorov-Smirnov tests, of the rank and of its distance from the middle,
  which is uneven where posteriors are too narrow or too wide; the smaller p-value, doubled. p_ranks
  is the smallest of the four, times four.
- covered: share of problems whose number of edges lies within those of the drawn graphs, ends
  included. Of 20 graphs that is an interval of 19/21 = 90%.

Columns that are not Gaussian are compared with the same problems before they were changed:
bits_lost and f1_lost.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from gzip import compress
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from calibration_cells import CELLS, KNOWN, SEED, STRENGTHS, Cell
from calibration_problems import ENGINES, STATISTICS, Row, solve
from matplotlib.figure import Figure
from record import COMMIT, RESULTS
from scipy.stats import kstest

from graphprior.batch.work import Journal, Place, do, journal
from graphprior.io.atomic import write_whole
from graphprior.io.provenance import machine, versions
from graphprior.paper.datasets import data_folder
from graphprior.paper.experiments.folder import save_figure
from graphprior.plots import plot_bins
from graphprior.results.metrics import reliability
from graphprior.types import Matrix

COMMAND = "GRAPHPRIOR_DATA=... OMP_NUM_THREADS=1 python benchmarks/calibration.py"
BUILD = Path(__file__).parent.parent / "build"
GIBBS_UP_TO = 50
REPEATS = 40
BINS = 10
UNIFORM, SMALL_ERROR, GOOD_RATIO = 0.01, 0.02, (0.95, 1.05)
QUICK = (
    "independent n15 wishart k10n nothing", "independent n15 gwishart k0.5n edges",
    "factor n15 factor k10n half", "blocks n15 uniform k10n nothing told",
    "egonets n20 positive k10n edges told", "grids n45 wishart k0.5n half told",
    "barabasi-albert n49 uniform k2n half", "independent n15 wishart k10n nothing outliers",
)  # fmt: skip
Found = dict[tuple[Cell, str], list[Row]]


# All problems of a cell.


def equal_bins(a: Matrix, p: Matrix) -> list[tuple[Matrix, Matrix]]:
    """Truth and probabilities of the pairs in bins of equal size, the least likely first."""
    order = np.argsort(p, kind="stable")
    return [(a[part], p[part]) for part in np.array_split(order, BINS) if len(part)]


def calibration(a: Matrix, p: Matrix, draws: int = 200) -> tuple[float, float]:
    """The calibration error, and its mean if each pair were an edge with its probability."""
    rng = np.random.default_rng(SEED)
    found, by_chance = [], []
    for truth, q in equal_bins(a, p):
        found.append(abs(truth.mean() - q.mean()))
        shares = np.array([(rng.random(len(q)) < q).mean() for _ in range(draws)])
        by_chance.append(np.abs(shares - q.mean()).mean())
    return float(np.mean(found)), float(np.mean(by_chance))


def ratio(expected: Matrix, true: Matrix) -> tuple[float, float]:
    """Sum of expected over sum of true, and its standard error over problems."""
    if not true.sum():
        return float("nan"), float("nan")
    value, R = expected.sum() / true.sum(), len(true)
    error = np.sqrt(((expected - value * true) ** 2).sum() * R / max(R - 1, 1)) / true.sum()
    return float(value), float(error) if R > 1 else float("nan")


def rank_test(u: Matrix) -> float:
    """p-value of ranks being uniform: their place and their distance from the middle."""
    tests = (kstest(x, "uniform", method="exact").pvalue for x in (u, np.abs(2 * u - 1)))
    return float(min(1.0, 2 * min(tests)))


def rank_tests(results: pd.DataFrame) -> Row:
    """p-values of each statistic and of all, and how often the interval has the truth."""
    if "covered" not in results:
        return {}
    p = {f"p_{name}": rank_test(results[f"u_{name}"].to_numpy()) for name in STATISTICS}
    together = min(1.0, len(p) * min(p.values()))
    return p | {"p_ranks": together, "covered": float(results["covered"].mean())}


def pooled(results: Sequence[Row]) -> tuple[Matrix, Matrix]:
    """Truth and probabilities of all pairs of some problems."""
    if not results:
        return np.empty(0), np.empty(0)
    a = np.concatenate([np.frombuffer(r["a"].encode(), np.uint8) - ord("0") for r in results])
    return a.astype(float), np.concatenate([r["p"] for r in results]).astype(float)


def summarise(cell: Cell, engine: str, results: Sequence[Row]) -> Row:
    """The row of a cell and an engine."""
    done = [r for r in results if "error" not in r]
    row = {
        "cell": cell.name, "engine": engine, **asdict(cell),
        "problems": len(done), "failed": len(results) - len(done),
    }  # fmt: skip
    if not done:
        return row
    table = pd.DataFrame(done)
    value, standard_error = ratio(table["expected"].to_numpy(), table["edges"].to_numpy())
    error, by_chance = calibration(*pooled(done))
    words = Counter(note for r in done for note in r["notes"]).most_common(1)
    return row | {
        "pairs": int(table["pairs"].sum()), "edges": int(table["edges"].sum()),
        "expected_over_true": value, "standard_error": standard_error,
        "calibration_error": error, "by_chance": by_chance, "excess": error - by_chance,
        "bits": float(table["bits"].mean()), "f1": float(table["f1"].mean()),
        "auc": float(table["auc"].mean()),
        "median_cpu_seconds": float(table["seconds"].median()),
        "not_settled": float(1 - table["settled"].mean()),
        "noted": float((table["notes"].str.len() > 0).mean()),
        "note": words[0][0] if words else "",
        **rank_tests(table),
    }  # fmt: skip


def compare_columns(table: pd.DataFrame) -> pd.DataFrame:
    """What is lost where columns are not Gaussian, against the same problems before."""
    plain = table[(table["columns"] == "gaussian") & ~table["told"]]
    keys = ["graph", "n", "strength", "ratio", "known", "engine"]
    twin = plain.set_index(keys)[["bits", "f1"]].reindex(pd.MultiIndex.from_frame(table[keys]))
    other = table["columns"] != "gaussian"
    lost = {
        "bits_lost": (table["bits"] - twin["bits"].to_numpy()).where(other),
        "f1_lost": (twin["f1"].to_numpy() - table["f1"]).where(other),
    }
    return table.assign(**lost)


# All cells.


def repeats(cell: Cell, small: int) -> int:
    """Number of problems of a cell."""
    if cell.n < 30:
        return small
    return max(2, ceil((0.3 if cell.n <= GIBBS_UP_TO else 0.075) * small))


def engines(cell: Cell) -> tuple[str, ...]:
    """Engines that a cell is for."""
    return ENGINES if cell.n <= GIBBS_UP_TO else ENGINES[:1]


def grouped(cells: Sequence[Cell], small: int) -> dict[tuple[Cell, str], list[str]]:
    """What the journal calls the problems of each cell and engine."""
    return {
        (cell, engine): [f"{cell.name} | {engine} | {r}" for r in range(repeats(cell, small))]
        for cell in cells
        for engine in engines(cell)
    }


def solve_all(groups: dict[tuple[Cell, str], list[str]], kept: Journal, jobs: int) -> None:
    """Solve what the journal lacks, and say how each cell fares when it is done."""
    units, group_of = [], {}
    # The slow ones first, so that no core waits for another at the end.
    for (cell, engine), names in sorted(groups.items(), key=lambda item: -item[0][0].n):
        for repeat, name in enumerate(names):
            unit = {"cell": asdict(cell), "engine": engine, "repeat": repeat}
            units.append((name, json.dumps(unit)))
            group_of[name] = cell, engine
    left = Counter(which for name, which in group_of.items() if name not in kept.results)
    for name, _ in do(units, solve, kept, Place(jobs)):
        which = group_of[name]
        left[which] -= 1
        if not left[which]:
            row = summarise(*which, [kept.results[name] for name in groups[which]])
            print(f"{left.total():5d} left; {in_short(row)}", flush=True)


def in_short(row: Row) -> str:
    """The row of a cell and an engine as one line."""
    head = f"{row['cell']}, {row['engine']}"
    if not row["problems"]:
        return f"{head}: all {row['failed']} problems failed"
    return (
        f"{head}: expected/true {row['expected_over_true']:.2f} +- {row['standard_error']:.2f}, "
        f"calibration error {row['calibration_error']:.3f} ({row['by_chance']:.3f} by chance), "
        f"{row['median_cpu_seconds']:.2f} s"
    )


# Tables, picture and words.

SHOWN = (
    "problems", "expected_over_true", "standard_error", "calibration_error", "excess", "bits", "f1",
    "auc", "median_cpu_seconds", "not_settled", "noted", "p_ranks", "covered", "bits_lost",
    "f1_lost",
)  # fmt: skip


def share(hits: pd.Series) -> str:
    """How many of how many."""
    return f"{int(hits.sum())} of {len(hits)}"


def summary(table: pd.DataFrame) -> list[str]:
    """A line for each engine about its Gaussian cells."""
    lines, (low, high) = [], GOOD_RATIO
    right = table[(table["columns"] == "gaussian") & (table["problems"] > 0)]
    for engine, rows in right.groupby("engine", sort=False):
        value, two = rows["expected_over_true"], 2 * rows["standard_error"]
        small, beyond = (share(rows[x] <= SMALL_ERROR) for x in ("calibration_error", "excess"))
        inside = share(value.between(low, high))
        near = share((value + two >= low) & (value - two <= high))
        words = [
            f"calibration error <= {SMALL_ERROR:g} in {small} cells ({beyond} beyond chance)",
            f"expected/true edges within {low:g}-{high:g} in {inside} ({near} within two "
            "standard errors)",
        ]
        if engine != "direct":
            p = rows["p_ranks"]
            words.insert(0, f"ranks uniform in {share(p * len(p) > UNIFORM)}")
        lines.append(f"{engine}, Gaussian cells: {'; '.join(words)}.")
    return lines


def markdown(table: pd.DataFrame, lines: Sequence[str]) -> str:
    """The table in short, and the summary."""
    shown = [name for name in SHOWN if name in table]
    heads = ["cell", "engine", *(name.replace("_", " ") for name in shown)]
    text = ["# Calibration", "", *(f"- {line}" for line in lines), ""]
    text += [f"`{COMMAND}`; its docstring says what the columns are.", ""]
    text += [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for row in table.to_dict("records"):
        values = ["" if pd.isna(row[name]) else f"{row[name]:.3g}" for name in shown]
        text.append(f"| {' | '.join([row['cell'], row['engine'], *values])} |")
    return "\n".join(text) + "\n"


def bins_table(found: Found) -> pd.DataFrame:
    """The bins of each cell: mean probability, share of edges, pairs."""
    rows = []
    for (cell, engine), results in found.items():
        a, p = pooled([r for r in results if "error" not in r])
        rows += [
            {"cell": cell.name, "engine": engine, "bin": b, "pairs": len(q),
             "probability": q.mean(), "share": truth.mean()}
            for b, (truth, q) in enumerate(equal_bins(a, p))
        ]  # fmt: skip
    return pd.DataFrame(rows)


def picture(found: Found) -> Figure:
    """Reliability of all Gaussian cells, a panel for each kind of strengths and known part."""
    groups = defaultdict(list)
    for (cell, engine), results in found.items():
        if cell.is_gaussian:
            done = [r for r in results if "error" not in r]
            groups[cell.strength, cell.known, engine] += done
    figure = Figure(figsize=(15, 9), layout="constrained")
    axes = figure.subplots(len(KNOWN), len(STRENGTHS), sharex=True, sharey=True)
    for i, known in enumerate(KNOWN):
        for j, strength in enumerate(STRENGTHS):
            pairs = {e: pooled(groups[strength, known, e]) for e in ENGINES}
            bins = {e: reliability(a, p, BINS) for e, (a, p) in pairs.items() if len(a)}
            ax = axes[i, j]
            ax.set_title(f"{strength}, {known} known", fontsize=9)
            if bins:
                plot_bins(bins, ax)
            if i < len(KNOWN) - 1:
                ax.set_xlabel("")
            if j:
                ax.set_ylabel("")
    return figure


LEFT_OUT = ("a", "p", "commit")


def problem_rows(found: Found) -> pd.DataFrame:
    """All problems, without their pairs."""
    rows = []
    for (cell, engine), results in found.items():
        for repeat, result in enumerate(results):
            row = {name: value for name, value in result.items() if name not in LEFT_OUT}
            row["notes"] = " / ".join(row.get("notes", []))
            rows.append({"cell": cell.name, "engine": engine, "repeat": repeat, **row})
    return pd.DataFrame(rows)


def write(out: Path, found: Found, facts: Row) -> list[str]:
    """Write tables and picture, each whole or not at all; returns the summary."""
    table = pd.DataFrame([summarise(*which, results) for which, results in found.items()])
    table = compare_columns(table)
    lines = summary(table)
    texts = {
        "table.csv": table.to_csv(index=False, float_format="%.6g"),
        "bins.csv": bins_table(found).to_csv(index=False, float_format="%.6g"),
        "rows.csv.gz": problem_rows(found).to_csv(index=False, float_format="%.6g"),
        "table.md": markdown(table, lines),
        "run.json": json.dumps({**facts, "summary": lines}, indent=1) + "\n",
    }
    for name, text in texts.items():
        content = text.encode()
        write_whole(out / name, compress(content, mtime=0) if name.endswith(".gz") else content)
    save_figure(out / "reliability.png", picture(found))
    return lines


def options() -> argparse.Namespace:
    """What the user chose."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=None)
    parser.add_argument("--cells", default="")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--resume", action="store_true")
    return parser.parse_args()


def solve_or_resume(path: Path, cells: Sequence[Cell], small: int, chosen: Any) -> Found:
    """All results of the cells; the journal at ``path`` keeps them as they come."""
    if not chosen.resume:
        path.unlink(missing_ok=True)
    groups = grouped(cells, small)
    with journal(path) as kept:
        # One that failed may have done so for want of memory, or of what was repaired since.
        kept.results = {key: r for key, r in kept.results.items() if "error" not in r}
        try:
            solve_all(groups, kept, chosen.jobs)
        except KeyboardInterrupt:
            raise SystemExit("stopped; --resume goes on with what is left") from None
        return {which: [kept.results[name] for name in names] for which, names in groups.items()}


def main() -> None:
    """Solve, write and sum up."""
    chosen = options()
    cells = [c for c in CELLS if chosen.cells in c.name and (not chosen.quick or c.name in QUICK)]
    if not cells:
        raise SystemExit(f"--cells {chosen.cells!r}: no cell has this in its name")
    if any(cell.graph == "egonets" for cell in cells):
        data_folder()  # one that is missing is missed now
    small = chosen.repeats or (2 if chosen.quick else REPEATS)
    name = "calibration" if len(cells) == len(CELLS) else "calibration-part"
    start = time.monotonic()
    found = solve_or_resume(BUILD / f"{name}.jsonl", cells, small, chosen)
    rows = [row for results in found.values() for row in results]
    if all("error" in row for row in rows):
        raise SystemExit(f"every problem failed, the first with {rows[0]['error']}")
    facts = {
        "command": COMMAND, "options": vars(chosen), "commit": COMMIT,
        "commits_of_problems": sorted({str(row["commit"]) for row in rows}),
        "machine": machine(), "versions": versions("numba", "matplotlib"), "seed": SEED,
        "repeats": small, "cells": len(cells), "problems": len(rows),
        "cpu_minutes": sum(row.get("seconds", 0.0) for row in rows) / 60,
        "minutes": (time.monotonic() - start) / 60,
    }  # fmt: skip
    out = (RESULTS if name == "calibration" else BUILD) / name
    print(*write(out, found, facts), f"Written to {out}.", sep="\n")


if __name__ == "__main__":
    main()
