"""`graphprior estimate`: a table of measurements in, a folder of answers out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphprior.cli.options as options
from graphprior.batch.work import Place
from graphprior.choices import EngineName, Missing, Others, PriorWeight, TransformKind, Use
from graphprior.cli.cohort import estimate_each
from graphprior.cli.common import check_seed, new_folder, print_json
from graphprior.cli.words import in_options
from graphprior.cohort.cohort import Cohort, find_tables
from graphprior.diagnosis.priors import weights_in_words
from graphprior.engines.posterior import Reasons
from graphprior.errors import GraphPriorError, notes
from graphprior.estimator import PartialGGM, from_arguments
from graphprior.io.inputs import Given, Reading, estimate_facts
from graphprior.io.progress import console, progress
from graphprior.plots.page import picture
from graphprior.priors.load import AUTO
from graphprior.results.folder import whole_folder, write_result
from graphprior.results.result import Result
from graphprior.types import Progress


def fit_with_progress(make: Callable[[Progress], PartialGGM], given: Given) -> PartialGGM:
    """Fit while showing a bar; the package's warnings become one line each."""
    with notes() as words, progress("drawing graphs") as report:
        model = make(report)
        given.fit(model)
    for line in words:
        console().print(f"note: {in_options(line)}", style="yellow")
    return model


def save_estimate(
    out: Path, model: PartialGGM, run: dict[str, Any], inputs: dict[str, bytes] | None = None
) -> Result:
    """The result folder, picture and report included, whole or not at all; ``inputs`` beside."""
    from graphprior.report.page import write_report  # slow to import

    result = Result.of(model, run)
    with whole_folder(out) as folder:
        for name, content in (inputs or {}).items():
            (folder / "input").mkdir(exist_ok=True)
            (folder / "input" / name).write_bytes(content)
        write_result(folder, result)
        picture(result).savefig(folder / "picture.png", dpi=130)
        write_report(result, folder / "report.html")
    return result


def summarise(model: PartialGGM, result: Result, out: Path, as_json: bool) -> None:
    """What was found, for a person or for a script."""
    facts = model.diagnostics_
    found = int(((model.adjacency_ == 1) & model.problem_.U).sum() // 2)
    if as_json:
        print_json({"out": str(out), "edges_found": found, **facts.to_dict()})
        return
    draws = len(model.samples_) if facts.unknown_pairs else 0
    drawn = f" in {draws} graphs drawn" if draws else ""
    console().print(
        f"{facts.observations.n} variables, {facts.observations.k} observations, "
        f"{facts.unknown_pairs} unknown pairs: {found} judged to be edges "
        f"(probability at least {facts.threshold:.0%}{drawn})"
    )
    table = result.edge_table()
    for row in table[table["known"] == 0].head(5).itertuples():
        console().print(f"  {row.source} - {row.target}: {row.probability:.2f}{_why(row)}")
    words = weights_in_words(model.prior_gains_)
    if words is not None:
        console().print(words)
    parts = ["report.html", "picture.png", "edges.csv", "graph.graphml", "result.npz", "run.json"]
    parts += ["answers.csv"] if len(model.samples_) else []
    console().print(f"wrote {out}/ ({', '.join(parts)})")


def _why(row: Any) -> str:
    """Log-odds behind a probability where there are some, else the range that the draws allow."""
    if not hasattr(row, "prior_log_odds"):
        return f" ({row.low:.2f} to {row.high:.2f})"
    told = {name: getattr(row, f"{name}_log_odds") for name in Reasons._fields}
    always = ("prior", "data")
    shown = [f"{n} {v:+.1f}" for n, v in told.items() if n in always or abs(v) >= 0.05]
    return f" (log-odds: {', '.join(shown)})"


def estimate_command(
    data: options.Data,
    out: options.Out,
    known: options.Known = None,
    prior: options.Prior = None,  # None: "auto"
    density: options.Density = None,
    engine: options.Engine = EngineName.DIRECT,
    likelihood: options.Likelihood = None,
    use: options.Use = Use.BOTH,
    prior_weight: options.PriorWeight = PriorWeight.AUTO,
    unknown_at_random: options.AtRandom = False,
    transform: options.Transform = TransformKind.NONE,
    missing: options.Missing = Missing.REFUSE,
    time_series: options.TimeSeries = False,
    others: options.Others = Others.UNKNOWN,
    sheet: options.Sheet = None,
    index: options.Index = None,
    null_scale: options.NullScale = None,
    draws: options.Draws = None,
    threshold: options.Threshold = None,
    bootstrap_margin: options.Margin = None,
    seed: options.Seed = 0,
    device: options.Device = "cpu",
    as_json: options.AsJson = False,
    each: options.Each = False,
    jobs: options.Jobs = 1,
    scheduler: options.Scheduler = None,
    cluster: options.Cluster = None,
    pictures: options.Pictures = False,
) -> None:
    """Estimate the graph behind a table of measurements, or behind each of many."""
    check_seed(seed)
    settings = engine_settings(draws, likelihood, bootstrap_margin)
    arguments: dict[str, Any] = {
        "density": density,
        "engine": engine,
        "engine_settings": settings,
        "use": use,
        "prior_weight": prior_weight,
        "unknown_at_random": unknown_at_random,
        "null_scale": null_scale,
        "missing": missing,
        "time_series": time_series,
        "threshold": threshold,
        "device": device,
        "random_state": seed,
    }
    asked = asked_prior(prior)
    reading = Reading(transform, others, sheet, index)
    if each:
        cohort = Cohort(find_tables(data, known), asked, arguments, pictures, reading)
        estimate_each(cohort, out, Place(jobs, scheduler, cluster), as_json)
        return
    refuse_many(data, jobs=jobs != 1, scheduler=scheduler, cluster=cluster, pictures=pictures)
    estimate_one(data, out, known, asked, arguments, reading, as_json)


def asked_prior(given: list[str] | None) -> Any:
    """What the estimator takes, of an option that may be given more than once."""
    if not given:
        return AUTO
    return given[0] if len(given) == 1 else given


def engine_settings(
    draws: int | None, likelihood: str | None, margin: float | None
) -> dict[str, Any]:
    """Those that were given; a negative margin is no bootstrap."""
    given: dict[str, Any] = {"draws": draws, "likelihood": likelihood}
    given = {name: value for name, value in given.items() if value is not None}
    if margin is not None:
        given["bootstrap_margin"] = None if margin < 0 else margin
    return given


def refuse_many(data: Path, **options_given: Any) -> None:
    """One table takes no folder and no option that is for many."""
    for option, given in options_given.items():
        if given:
            raise GraphPriorError(f"--{option} is for many tables: give it with --each")
    if data.is_dir():
        raise GraphPriorError(f"{data} is a folder: --each estimates a graph for each table in it")


def estimate_one(
    data: Path,
    out: Path,
    known: Path | None,
    prior: Any,
    arguments: dict[str, Any],
    reading: Reading,
    as_json: bool,
) -> None:
    """Answer one table, with words and a picture for a person."""
    new_folder(out)
    given = reading.read(data, known)
    model = fit_with_progress(lambda report: from_arguments(prior, arguments, report), given)
    run = estimate_facts(prior, arguments, given.inputs, reading)
    summarise(model, save_estimate(out, model, run), out, as_json)
