"""Running a figure: tune, solve what is missing, write rows, table and picture."""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from graphprior.batch.work import Journal, Place, do, journal
from graphprior.errors import GraphPriorError
from graphprior.io.atomic import write_whole
from graphprior.paper.baselines.protocol import Penalty
from graphprior.paper.experiments.figure import draw, table
from graphprior.paper.experiments.folder import (
    JOURNAL,
    ROWS,
    claim,
    log_file,
    own_units,
    points,
    save_figure,
    save_joined,
    save_penalties,
    save_provenance,
    save_slow_units,
)
from graphprior.paper.experiments.methods import mark, missing
from graphprior.paper.experiments.rows import Finished
from graphprior.paper.experiments.spec import Budget, Spec
from graphprior.paper.experiments.tuning import TUNED, Tuned, fitted, tuning_units
from graphprior.paper.experiments.units import method_of, solve, solve_unit, tune

Report = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Options:
    """What a user chooses; None takes the figure's own.

    ``full`` runs slow methods too on every graph and at every x; ``quick`` runs
    everything on so little that it only shows that it runs; ``replace`` gives up
    results whose units are gone.
    """

    methods: tuple[str, ...] | None = None
    graphs: int | None = None
    full: bool = False
    quick: bool = False
    replace: bool = False
    place: Place = field(default_factory=Place)

    def __post_init__(self) -> None:
        if self.full and self.quick:
            raise GraphPriorError("full=True and quick=True are opposites: take one")

    def of(self, spec: Spec) -> Spec:
        """The spec as these options change it."""
        return replace(spec, T=2, tuning_graphs=2, graphs=2) if self.quick else spec

    def graphs_of(self, spec: Spec) -> int:
        """Number R of test graphs."""
        return spec.graphs if self.graphs is None else self.graphs

    def refuse_choice(self, name: str) -> None:
        """For a figure that compares nothing along x: there is nothing to choose."""
        if self.methods is not None or self.graphs is not None or self.full:
            raise GraphPriorError(f"{name} has neither methods= nor graphs= nor full=True")


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
        claim(out, spec.name, spec, options.replace, methods)
        facts = {"methods": methods, "graphs": options.graphs, "full": options.full, "T": spec.T}
        with log_file(out) as log, journal(out / JOURNAL) as kept:
            save_provenance(out, {**facts, "skipped": skipped})
            kept.results = own_units(out, spec)
            for line in skipped:
                log.info(line)
            penalties = tune_penalties(spec, methods, kept, options.place, report)
            units = planned(spec, methods, options, penalties)
            log.info("%d units, %s", len(units), ", ".join(methods))
            solve_all(units, solve, kept, options.place, report, log)
            save_penalties(out, penalties)
            failed = write_results(out, spec, kept.results, methods)
            log.info("done; %d problems failed", failed)
        ends = [(out / "table.md").read_text(), *skipped]
        if failed:
            ends.append(f"{failed} problems failed: see the column error of {out}/{ROWS}")
        return "\n".join(ends)


def choose_methods(spec: Spec, options: Options) -> tuple[list[str], list[str]]:
    """Methods to run, and a line for each that cannot run here."""
    R = options.graphs_of(spec)
    if R < 2:
        raise GraphPriorError(f"graphs={R}: at least 2 are needed to tune and judge")
    spec.graph("test", R - 1)  # data that are missing are missed now
    if options.methods == ():
        raise GraphPriorError(f"methods= names none: expected some of {', '.join(spec.methods)}")
    reasons = {name: missing(spec, name) for name in options.methods or spec.methods}
    skipped = [f"{name} skipped: {why}" for name, why in reasons.items() if why]
    usable = [name for name, why in reasons.items() if not why]
    if not usable:
        raise GraphPriorError("; ".join(skipped))
    return usable, skipped


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
    R = options.graphs_of(spec)
    marks = {method: mark(spec, method) for method in methods}
    units: dict[str, str] = {}
    for g in range(R):
        for x in spec.xs:
            for method in methods:
                budget = Budget(R) if options.full else spec.budgets.get(method, Budget(R))
                if g < budget.graphs and (budget.xs is None or x in budget.xs):
                    # A method that ignores x is run once, whatever x it is asked at.
                    units.setdefault(*solve_unit(spec, method, x, g, penalties, marks[method]))
    return list(units.items())


def solve_all(
    units: list[tuple[str, str]],
    solve: Callable[[str], dict[str, Any]],
    kept: Journal,
    place: Place,
    report: Report,
    log: logging.Logger,
) -> None:
    """Solve what is missing, telling the time left from what each method has taken so far.

    ``solve`` makes a unit's text its result, in which ``seconds`` and ``error`` are (`attempt`).
    """
    left: dict[str, int] = defaultdict(int)
    for key, _ in units:
        if kept.results.get(key, {}).get("error"):
            del kept.results[key]  # it may have failed for want of time, memory or a package
        if key not in kept.results:
            left[method_of(key)] += 1
    taken: dict[str, list[float]] = defaultdict(list)
    done, start = len(units) - sum(left.values()), time.monotonic()
    report(done, len(units), "solving")
    for key, result in do(units, solve, kept, place):
        method = method_of(key)
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
    unseen = any(count and m not in taken for m, count in left.items())
    about = "at least" if unseen else "about"
    return f"{each}; {about} {ahead / max(pace, 1e-6) / 60:.0f} min left"


def write_results(out: Path, spec: Spec, results: dict[str, Any], methods: list[str]) -> int:
    """Rows, summary, bins, table and picture of all that is kept; how many problems failed.

    Of ``methods``, which were run, and of others that have all the units of
    their rows; the rows of the rest stay as they are.
    """
    have = {method_of(key) for key in results if not key.startswith("tune ")}
    there = points(out)
    stay = there.keys() - set(methods)
    stay -= {m for m in have & stay if there[m] <= Finished(spec, results, [m]).points()}
    # The figure's own order first, so that colours stay.
    order = [*spec.methods, *sorted((have | stay) - set(spec.methods))]
    finished = Finished(spec, results, [m for m in order if m in have - stay])
    save_slow_units(out, spec, results, have - stay)
    save_joined(out / ROWS, finished.rows(), order)
    save_joined(out / "reliability.csv", finished.reliability(), order)
    summary = save_joined(out / "summary.csv", finished.summary(), order)
    write_whole(out / "table.md", table(spec, summary).encode())
    save_figure(out / "figure.png", draw(spec, summary))
    return int(summary["failed"].sum())
