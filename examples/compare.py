"""A worked example: a known graph, part of it hidden again and again, found by every method.

A `Case` declares data, truth, priors and how much is hidden. `main` is its
command line: it runs what the folder lacks and writes

    rows.csv.gz   one row for each problem, method and metric
    summary.csv   means, standard errors, pooled calibration
    table.md, figure.png, run.json (seed, commit, machine, versions)

A run that was stopped goes on, and one of other methods adds their rows. Every draw comes from the
seed and from what it is for, so problems do not depend on which methods are run.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pandas as pd
import typer

from contenders import Answer, Ours, contenders, prior_file
from graphprior.batch.work import Place, journal
from graphprior.errors import GraphPriorError
from graphprior.evidence.precision import standardise
from graphprior.graphs.matrices import hide
from graphprior.io.atomic import write_whole
from graphprior.io.inputs import file_hash
from graphprior.io.progress import console, progress
from graphprior.paper.baselines.registry import unavailable
from graphprior.paper.experiments.folder import (
    JOURNAL,
    ROWS,
    log_file,
    save_figure,
    save_joined,
    save_json,
    save_provenance,
)
from graphprior.paper.experiments.run import solve_all
from graphprior.paper.experiments.spec import seeds
from graphprior.paper.experiments.units import attempt, kept
from graphprior.priors.load import AUTO, GENERAL
from graphprior.problem.problem import Problem
from graphprior.results.folder import whole_folder, write_result
from graphprior.results.metrics import on_unknown
from graphprior.results.result import Result
from graphprior.types import Matrix
from summaries import figure, rows_of, summary_of, table

DIGITS = 7
SUMMARY = "summary.csv"
QUICK = 2  # repeats


class Sample(NamedTuple):
    """A graph that is known, observations of it, and what others believe of its pairs."""

    A: Matrix
    X: pd.DataFrame
    beliefs: Matrix | None = None


Draw = Callable[[int, int, np.random.Generator], Sample]


@dataclass(frozen=True)
class Case:
    """What a worked example compares.

    ``draw`` gives the sample of repeat g with k observations. ``repeats`` may be
    fewer for slow methods (``budgets``). ``prior`` was learned for the case, ``wrong`` is one that
    should not fit; either may be None.
    """

    name: str
    title: str
    draw: Draw
    ks: tuple[int, ...]
    shares: tuple[float, ...]
    prior: str | None
    wrong: str | None
    repeats: int = 20
    budgets: Mapping[str, int] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    believes: bool = False
    seed: int = 2024

    @property
    def methods(self) -> dict[str, Callable[..., Answer]]:
        """Its contenders by name."""
        found = contenders(self.prior, self.wrong, self.believes)
        return {name: call for name, call in found.items() if name not in self.without}

    def seeds(self, *of: int | str) -> np.random.Generator:
        """The generator for one purpose."""
        return seeds(self.seed, self.name, *of)

    def problem(self, k: int, share: float, g: int) -> tuple[Sample, Problem]:
        """Repeat ``g``: the truth, and the problem with a share of it hidden.

        What is hidden is the same for all k, and columns have mean 0 and variance 1.
        """
        sample = self.draw(k, g, self.seeds("X", k, g))
        known = hide(sample.A, self.seeds("hide", f"{share:g}", g), share=share)
        X = pd.DataFrame(standardise(sample.X.to_numpy()), columns=sample.X.columns)
        return sample, Problem.create(X, known)

    def facts(self) -> dict[str, Any]:
        """What decides its rows: results with the same may be joined."""
        used = [name for name in (self.prior, self.wrong, GENERAL) if name]
        priors = {name: file_hash(prior_file(name)) for name in used}
        return {"name": self.name, "seed": self.seed, "priors": priors}


def units(case: Case, methods: Sequence[str], repeats: int) -> list[tuple[str, str]]:
    """Every problem for every method, repeat by repeat, so that an early look sees all."""
    found = {}
    for g in range(repeats):
        for method in methods:
            if g < case.budgets.get(method, repeats):
                for k in case.ks:
                    for share in case.shares:
                        unit = {"method": method, "k": k, "share": share, "g": g}
                        found[f"{method} | {k} | {share:g} | {g}"] = json.dumps(unit)
    return list(found.items())


def solve(case: Case, text: str) -> dict[str, Any]:
    """Scores, truth, threshold and gain of one unit; an error of the method is an answer too."""
    unit = json.loads(text)
    sample, problem = case.problem(unit["k"], unit["share"], unit["g"])
    rng = case.seeds(unit["method"], unit["k"], f"{unit['share']:g}", unit["g"])

    def judged() -> dict[str, Any]:
        answer = case.methods[unit["method"]](problem, sample.beliefs, rng)
        gain = answer.gain
        return {
            "threshold": answer.threshold,
            "gain": None if gain is None else [gain.bits, gain.standard_error, gain.weight],
            **kept(on_unknown(sample.A, problem.U), answer.scores, DIGITS),
        }

    return {**unit, **attempt(judged)}


def usable(case: Case, wanted: Sequence[str]) -> list[str]:
    """The methods to run here; a line on standard error for each that cannot."""
    for name in wanted:
        if name not in case.methods:
            raise GraphPriorError(
                f"no method is called {name!r}: there are {', '.join(case.methods)}"
            )
    reasons = {name: unavailable(name) for name in wanted or case.methods}
    for name, why in reasons.items():
        if why:
            console().print(f"{name} skipped: {why}")
    return [name for name, why in reasons.items() if not why]


def claim(case: Case, out: Path) -> None:
    """Take a folder for a case; one whose units are of another seed or prior is refused."""
    path, facts = out / "case.json", case.facts()
    before = json.loads(path.read_text()) if path.exists() else facts
    if (out / JOURNAL).exists() and before != facts:
        raise GraphPriorError(
            f"{out} holds units of another seed or prior (see {path}): choose another --out, "
            f"or remove {out / JOURNAL}"
        )
    if (out / ROWS).exists() and before["seed"] != facts["seed"]:
        raise GraphPriorError(
            f"{out} holds rows of another seed (see {path}): choose another --out"
        )
    out.mkdir(parents=True, exist_ok=True)
    save_json(path, facts)


def run(case: Case, out: Path, wanted: Sequence[str] = (), repeats: int | None = None) -> str:
    """Run what ``out`` lacks, then write rows, table and figure of all it has; the table."""
    methods = usable(case, wanted)
    claim(case, out)
    save_provenance(out, {
        "case": case.name, "seed": case.seed, "methods": methods,
        "repeats": repeats or case.repeats,
    })  # fmt: skip
    work = units(case, methods, repeats or case.repeats)
    with (
        log_file(out) as log,
        journal(out / JOURNAL) as done,
        progress(case.name) as report,
    ):
        solve_all(work, partial(solve, case), done, Place(), report, log)
        results = list(done.results.values())
    return write(case, out, results)


def write(case: Case, out: Path, results: list[dict[str, Any]]) -> str:
    """Rows, summary, table and figure; rows of methods that were run earlier stay."""
    order = [name for name in case.methods if any(r["method"] == name for r in results)]
    methods = list(case.methods)
    save_joined(out / ROWS, rows_of(case.name, results), methods, others=False)
    summary = save_joined(out / SUMMARY, summary_of(results, order), methods, others=False)
    words = table(case.title, case.prior, summary)
    write_whole(out / "table.md", words.encode())
    save_figure(out / "figure.png", figure(case.title, summary))
    return words


def save_typical(case: Case, out: Path) -> Path:
    """The result folder of one typical problem: repeat 0, middle k and share, engine gibbs."""
    k, share = case.ks[len(case.ks) // 2], case.shares[len(case.shares) // 2]
    sample, problem = case.problem(k, share, 0)
    model = Ours(case.prior or AUTO, "gibbs", believes=case.believes).fit(
        problem, sample.beliefs, case.seeds("typical")
    )
    with whole_folder(out) as folder:
        write_result(folder, Result.of(model, {"example": case.name, "k": k, "share": share}))
    return out


def main(case: Case) -> None:
    """The command line of an example."""

    def command(
        out: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("results")
        / "examples"
        / case.name,
        quick: Annotated[
            bool, typer.Option(help=f"{QUICK} repeats, into build/, to see that it runs.")
        ] = False,
        repeats: Annotated[int | None, typer.Option(help="Hidings of each method.")] = None,
        method: Annotated[
            list[str] | None, typer.Option(help="Only this one; may be repeated.")
        ] = None,
        typical: Annotated[
            Path | None, typer.Option(help="Only save one result folder, for a report.")
        ] = None,
    ) -> None:
        if typical is not None:
            console().print(f"wrote {save_typical(case, typical)}/")
            return
        chosen = replace(case, budgets={}) if quick else case
        folder = Path("build") / "examples" / case.name if quick else out
        print(run(chosen, folder, method or (), QUICK if quick else repeats))

    command.__doc__ = case.title
    try:
        typer.run(command)
    except GraphPriorError as error:
        sys.exit(f"error: {error}")
