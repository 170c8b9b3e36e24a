"""Running a figure: tune, solve what is missing, write rows, table and picture."""

from __future__ import annotations

import json
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from graphprior.baselines.protocol import Penalty
from graphprior.baselines.registry import factory, unavailable
from graphprior.errors import GraphPriorError
from graphprior.experiments.figure import draw, table
from graphprior.experiments.rows import Finished
from graphprior.experiments.spec import Budget, Spec
from graphprior.experiments.tuning import TUNED, Tuned, fitted, tuning_units
from graphprior.experiments.units import solve, solve_unit, tune
from graphprior.prior.store import write_whole
from graphprior.provenance import commit, machine, versions
from graphprior.work import Journal, Place, do, journal

Report = Callable[[int, int, str], None]
JOURNAL = "units.jsonl"


@dataclass(frozen=True)
class Options:
    """What a user chooses; None takes the figure's own.

    ``full`` runs slow methods too on every graph and at every x; ``quick`` runs
    everything on so little that it only shows that it runs.
    """

    methods: tuple[str, ...] | None = None
    graphs: int | None = None
    full: bool = False
    quick: bool = False
    place: Place = field(default_factory=Place)

    def __post_init__(self) -> None:
        if self.full and self.quick:
            raise GraphPriorError("--full and --quick are opposites: take one")

    def of(self, spec: Spec) -> Spec:
        """The spec as these options change it."""
        return replace(spec, T=2, tuning_graphs=2, graphs=2) if self.quick else spec


class Experiment(Protocol):
    """A figure of the paper that can be run."""

    @property
    def name(self) -> str:
        """What the command line calls it."""
        ...

    @property
    def title(self) -> str:
        """What it shows, in a line."""
        ...

    def run(self, out: Path, options: Options, report: Report) -> str:
        """Run it into a folder; the words to end with."""
        ...


def save_figure(path: Path, figure: Figure) -> None:
    """A picture, whole or not at all."""
    content = BytesIO()
    figure.savefig(content, dpi=110, format="png")
    write_whole(path, content.getvalue())


def save_table(path: Path, rows: pd.DataFrame) -> None:
    """A CSV file, whole or not at all."""
    write_whole(path, rows.to_csv(index=False, float_format="%.6g").encode())


def save_provenance(out: Path, facts: dict[str, Any]) -> None:
    """Versions, commit and machine of every run that added to the folder."""
    path = out / "run.json"
    runs = json.loads(path.read_text())["runs"] if path.exists() else []
    entry = {**facts, "commit": commit(), "versions": versions(), "machine": machine()}
    write_whole(path, (json.dumps({"runs": [*runs, entry]}, indent=1) + "\n").encode())


@contextmanager
def log_file(out: Path) -> Iterator[logging.Logger]:
    """A log beside the results."""
    out.mkdir(parents=True, exist_ok=True)
    logger = logging.getLogger(f"graphprior.experiments.{out.name}")
    logger.setLevel(logging.INFO)
    logger.propagate = False
    handler = logging.FileHandler(out / "log.txt", encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    logger.addHandler(handler)
    try:
        yield logger
    finally:
        logger.removeHandler(handler)
        handler.close()


@dataclass(frozen=True)
class Comparison:
    """A figure that compares methods along x."""

    spec: Spec

    @property
    def name(self) -> str:
        """The spec's name."""
        return self.spec.name

    @property
    def title(self) -> str:
        """The spec's title."""
        return self.spec.title

    def run(self, out: Path, options: Options, report: Report) -> str:
        """Add to ``out`` what it lacks, then write rows, table and picture of all it has."""
        spec = options.of(self.spec)
        methods, skipped = choose_methods(spec, options)
        claim(out, spec)
        with log_file(out) as log, journal(out / JOURNAL) as kept:
            for line in skipped:
                log.info(line)
            penalties = tune_penalties(spec, methods, kept, options.place, report)
            units = planned(spec, methods, options, penalties)
            log.info("%d units, %s", len(units), ", ".join(methods))
            solve_all(units, kept, options.place, report, log)
            write_penalties(out, penalties)
            facts = {"methods": methods, "options": {"graphs": options.graphs, "T": spec.T}}
            failed = write_results(out, spec, kept.results, {**facts, "skipped": skipped})
            log.info("done; %d problems failed", failed)
        ends = [(out / "table.md").read_text(), *skipped]
        if failed:
            ends.append(f"{failed} problems failed: see the column error of {out}/rows.csv")
        return "\n".join(ends)


def choose_methods(spec: Spec, options: Options) -> tuple[list[str], list[str]]:
    """Methods to run, and a line for each that cannot run here."""
    if options.graphs is not None and options.graphs < 2:
        raise GraphPriorError(f"--graphs {options.graphs}: at least 2 are needed to tune and judge")
    spec.graph("test", 0)  # data that are missing are missed now
    wanted = list(options.methods or spec.methods)
    reasons = {}
    for name in wanted:
        factory(name)
        reasons[name] = unavailable(name)
    skipped = [f"{name} skipped: {why}" for name, why in reasons.items() if why]
    usable = [name for name in wanted if not reasons[name]]
    if not usable:
        raise GraphPriorError("; ".join(skipped))
    return usable, skipped


def claim(out: Path, spec: Spec) -> None:
    """Take a folder for a figure; one that holds another's problems is refused."""
    path = out / "spec.json"
    if path.exists():
        theirs = Spec.from_json(path.read_text())
        if theirs.identity != spec.identity:
            raise GraphPriorError(
                f"{out} holds results of other problems (see {path}): choose another --out"
            )
        if not (out / JOURNAL).exists():  # what the old runs left is about to be replaced
            (out / "run.json").unlink(missing_ok=True)
    elif out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise GraphPriorError(f"{out} is not empty and holds no experiment: choose another --out")
    write_whole(path, (json.dumps(asdict(spec), indent=1) + "\n").encode())


def tune_penalties(
    spec: Spec, methods: list[str], kept: Journal, place: Place, report: Report
) -> dict[str, Penalty]:
    """Fitted lambda(k) of each lasso that the methods need."""
    found: dict[str, Penalty] = {}
    for lasso in sorted({TUNED[m] for m in methods if m in TUNED}):
        found[lasso] = tune_lasso(spec, lasso, kept, place, report).penalty
    return found


def tune_lasso(spec: Spec, lasso: str, kept: Journal, place: Place, report: Report) -> Tuned:
    """The tuning of one lasso on training graphs, resumed from the journal."""
    units = tuning_units(spec, lasso)
    done = sum(key in kept.results for key, _ in units)
    for _ in do(units, tune, kept, place):
        done += 1
        report(done, len(units), f"tuning {lasso}")
    return fitted(spec, lasso, kept.results)


def planned(
    spec: Spec, methods: list[str], options: Options, penalties: dict[str, Penalty]
) -> list[tuple[str, str]]:
    """The units of a run, graph by graph, so that an early look sees every method."""
    R = options.graphs or spec.graphs
    units: dict[str, str] = {}
    for g in range(R):
        for x in spec.xs:
            for method in methods:
                budget = Budget(R) if options.full else spec.budgets.get(method, Budget(R))
                if g < budget.graphs and (budget.xs is None or x in budget.xs):
                    # A method that ignores x is run once, whatever x it is asked at.
                    units.setdefault(*solve_unit(spec, method, x, g, penalties))
    return list(units.items())


def solve_all(
    units: list[tuple[str, str]], kept: Journal, place: Place, report: Report, log: logging.Logger
) -> None:
    """Solve what is missing, telling the time left from what each method has taken so far."""
    left: dict[str, int] = defaultdict(int)
    for key, _ in units:
        if key not in kept.results:
            left[key.split(" | ")[0]] += 1
    taken: dict[str, list[float]] = defaultdict(list)
    done, start = len(units) - sum(left.values()), time.monotonic()
    report(done, len(units), "solving")
    for key, result in do(units, solve, kept, place):
        method = key.split(" | ")[0]
        done, left[method] = done + 1, left[method] - 1
        taken[method].append(result["seconds"])
        log.info("%s: %s", key, result["error"] or f"{result['seconds']:.2f} s")
        report(done, len(units), _words(taken, left, start))


def _words(taken: dict[str, list[float]], left: dict[str, int], start: float) -> str:
    """Mean CPU seconds by method, and the time left at the pace seen so far."""
    spent = sum(sum(t) for t in taken.values())
    pace = spent / max(time.monotonic() - start, 1e-6)  # CPU seconds in a second
    ahead = sum(left[m] * float(np.mean(t)) for m, t in taken.items())
    each = ", ".join(f"{m} {np.mean(t):.2g} s" for m, t in taken.items())
    return f"{each}; about {ahead / max(pace, 1e-6) / 60:.0f} min left"


def write_penalties(out: Path, penalties: dict[str, Penalty]) -> None:
    """The fitted lambda(k) beside the results."""
    if penalties:
        content = {name: asdict(p) for name, p in penalties.items()}
        write_whole(out / "penalties.json", (json.dumps(content, indent=1) + "\n").encode())


def write_results(out: Path, spec: Spec, results: dict[str, Any], facts: dict[str, Any]) -> int:
    """Rows, summary, bins, table and picture of all that is kept; how many problems failed."""
    names = {key.split(" | ")[0] for key in results}
    # The figure's own order first, so that colours stay.
    methods = [m for m in spec.methods if m in names]
    methods += sorted(m for m in names if m not in methods and not m.startswith("tune "))
    finished = Finished(spec, results, methods)
    rows, summary = finished.rows(), finished.summary()
    save_table(out / "rows.csv", rows)
    save_table(out / "summary.csv", summary)
    save_table(out / "reliability.csv", finished.reliability())
    write_whole(out / "table.md", table(spec, summary).encode())
    save_figure(out / "figure.png", draw(spec, summary))
    save_provenance(out, facts)
    return int(summary["failed"].sum())
