"""`graphprior check`: does a result mean what it says? Simulated data sets, fitted again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import graphprior.cli.options as options
from graphprior.cli.common import check_seed, print_json
from graphprior.cli.estimate import asked_prior
from graphprior.cli.words import in_options
from graphprior.diagnosis.self_check import SelfCheck, refuse_counts
from graphprior.errors import GraphPriorError, notes
from graphprior.estimator import PartialGGM, from_arguments
from graphprior.io.atomic import write_whole
from graphprior.io.inputs import Given, Reading, file_hash
from graphprior.io.progress import console, progress
from graphprior.results.folder import CHECK, check_json, read_result
from graphprior.results.result import Result

SAME = 0.01  # differences of probabilities that are not worth a note


def check_command(
    result: Annotated[Path, typer.Argument(help="Folder that `graphprior estimate` wrote.")],
    simulations: Annotated[
        int, typer.Option(help="Data sets to simulate; each costs as much as the estimate.")
    ] = 20,
    jobs: Annotated[int, typer.Option(help="Processes.")] = 1,
    seed: options.Seed = 0,
    data: Annotated[
        Path | None, typer.Option(help="The table; none: by its name in the current folder.")
    ] = None,
    known: Annotated[
        Path | None, typer.Option(help="The known part; none: by its name in the current folder.")
    ] = None,
    prior: Annotated[
        list[str] | None,
        typer.Option(
            help="The priors, all of them in the same order; by default, by their names in the "
            "current folder."
        ),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Simulate data from a result, fit them again, and see if probabilities are right."""
    check_seed(seed)
    refuse_counts(simulations, jobs)
    found = read_result(result)
    model = fit_again(found, data, known, prior)
    with notes() as words, progress("simulated data sets") as report:
        check = model.check(simulations, seed, jobs, report)
    for line in words:
        console().print(f"note: {in_options(line)}", style="yellow")
    wrote = save_check(result, found, check)
    tell(check, wrote, as_json)
    if check.simulations < check.asked:
        raise typer.Exit(130)


def fit_again(
    result: Result, data: Path | None, known: Path | None, prior: list[str] | None
) -> PartialGGM:
    """The model of a result folder, fitted to the same files with the same arguments."""
    given = read_again(result, data, known)
    arguments = result.run.get("arguments", {})
    strange = {*arguments} - ({*PartialGGM().get_params(), "engine_settings"} - {"verbose"})
    if strange:
        raise GraphPriorError(
            f"run.json has arguments of another release ({', '.join(sorted(strange))}): "
            "estimate again"
        )
    name = asked_prior(prior) if prior else result.run.get("prior")
    with notes(), progress("fitting again") as report:  # their words are in the result
        model: PartialGGM = given.fit(from_arguments(name, arguments, report))
    compare(model, result)
    return model


def read_again(result: Result, data: Path | None, known: Path | None) -> Given:
    """The files that run.json names, as they were."""
    inputs = result.run.get("inputs", {})
    if "data" not in inputs:
        raise GraphPriorError(
            "run.json names no table that the result was made from: give a folder that "
            "`graphprior estimate` wrote"
        )
    if known is not None and "known" not in inputs:
        raise GraphPriorError(f"--known {known}: the result was made without a known part")
    try:
        reading = Reading(**result.run.get("reading", {}))
    except TypeError:
        raise GraphPriorError(
            "run.json tells of another way to read files: estimate again"
        ) from None
    table = unchanged(inputs, "data", data)
    return reading.read(table, unchanged(inputs, "known", known) if "known" in inputs else None)


def unchanged(inputs: dict[str, Any], what: str, given: Path | None) -> Path:
    """The path of an input, whose content must be what it was."""
    try:
        ((name, sha256),) = inputs[what].items()
    except (AttributeError, ValueError):
        raise GraphPriorError(
            f"run.json does not tell which file was the {what}: estimate again"
        ) from None
    path = Path(name) if given is None else given
    if not path.is_file():
        raise GraphPriorError(
            f"{path}: no such file here; the check reads again what the result was made from: "
            f"run it where {name} is, or say with --{what} where that is"
        )
    if file_hash(path) != sha256:
        raise GraphPriorError(
            f"{path} is not what the result was made from (its hash differs): give the file as "
            "it was, or estimate again"
        )
    return path


def compare(model: PartialGGM, result: Result) -> None:
    """The new fit beside the old: another prior is refused, other probabilities are told."""
    if model.prior_card_ != result.card:
        raise GraphPriorError(
            f"the prior {model.prior} is not the one that the result was made with: say with "
            "--prior where that is, or estimate again"
        )
    if model.problem_.names != result.names:
        raise GraphPriorError("the table has other variables than the result: estimate again")
    apart = float(np.abs(model.edge_probabilities_ - result.edge_probabilities).max())
    if apart > SAME:
        console().print(
            f"note: fitted again, probabilities differ by up to {apart:.2f} from those of the "
            "folder (another release or machine?); the check is of the new ones",
            style="yellow",
        )


def save_check(folder: Path, result: Result, check: SelfCheck) -> list[str]:
    """check.json, and the report anew where the folder has one; their names."""
    write_whole(folder / CHECK, check_json(check))
    report = folder / "report.html"
    if not report.exists():
        return [CHECK]
    from graphprior.report.page import write_report  # slow to import

    write_report(replace(result, self_check=check), report)
    return [CHECK, report.name]


def tell(check: SelfCheck, wrote: list[str], as_json: bool) -> None:
    """The answer, for a person or for a script."""
    if as_json:
        print_json(check.facts())
        return
    console().print(check.words())
    for name, value in check.table():
        console().print(f"  {name}: {value}")
    console().print(f"wrote {' and '.join(wrote)}")
