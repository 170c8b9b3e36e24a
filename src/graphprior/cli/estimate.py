"""`graphprior estimate`: a table of measurements in, a folder of answers out."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from graphprior.cli.common import (
    check_seed,
    console,
    new_folder,
    print_json,
    progress,
)
from graphprior.engines.langevin import Progress
from graphprior.errors import GraphPriorWarning
from graphprior.estimate import PartialGGM
from graphprior.io import (
    edge_table,
    file_hash,
    read_known,
    read_observations,
    whole_folder,
    write_result,
)
from graphprior.plots import picture
from graphprior.provenance import machine, versions


def fit_with_progress(make: Callable[[Progress], PartialGGM], X: Any, known: Any) -> PartialGGM:
    """Fit while showing a bar; the package's warnings become one line each."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", GraphPriorWarning)
        with progress("drawing graphs") as report:
            model = make(report)
            model.fit(X, known=known)
    for warning in caught:
        if issubclass(warning.category, GraphPriorWarning):
            console().print(f"note: {warning.message}", style="yellow")
        else:
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )
    return model


def save_estimate(
    out: Path, model: PartialGGM, run: dict[str, Any], inputs: dict[str, bytes] | None = None
) -> None:
    """The result folder, picture included, whole or not at all; ``inputs`` are kept beside."""
    with whole_folder(out) as folder:
        for name, content in (inputs or {}).items():
            (folder / "input").mkdir(exist_ok=True)
            (folder / "input" / name).write_bytes(content)
        write_result(folder, model, {**run, "versions": versions(), "machine": machine()})
        picture(model).savefig(folder / "picture.png", dpi=130)


def summarise(model: PartialGGM, out: Path, as_json: bool) -> None:
    """What was found, for a person or for a script."""
    facts = model.diagnostics_
    found = int(((model.adjacency_ == 1) & model.problem_.U).sum() // 2)
    if as_json:
        print_json({"out": str(out), "edges_found": found, **facts})
        return
    drawn = f" in {len(model.samples_)} graphs drawn" if len(model.samples_) else ""
    console().print(
        f"{facts['n']} variables, {facts['k']} observations, "
        f"{facts['unknown_pairs']} unknown pairs: {found} judged to be edges "
        f"(probability at least {facts['threshold']:.0%}{drawn})"
    )
    table = edge_table(model)
    for row in table[table["known"] == 0].head(5).itertuples():
        console().print(f"  {row.source} - {row.target}: {row.probability:.2f}{_why(row)}")
    if model.prior_gain_ is not None:
        gain = model.prior_gain_
        console().print(
            f"the prior gains {gain.bits:.3f} +- {gain.standard_error:.3f} bits a pair over the "
            f"edge rate on {gain.pairs} "
            + ("known pairs hidden from it" if gain.known else "pairs' evidence")
        )
    if model.prior is None and model.variant != "LL":
        console().print("no --prior was given: pairs were taken as independent of each other")
    console().print(f"wrote {out}/ (picture.png, edges.csv, graph.graphml, result.npz, run.json)")


def _why(row: Any) -> str:
    """Log-odds behind a probability where there are some, else the range that the draws allow."""
    if not hasattr(row, "prior_log_odds"):
        return f" ({row.low:.2f} to {row.high:.2f})"
    return f" (log-odds: prior {row.prior_log_odds:+.1f}, data {row.data_log_odds:+.1f})"


def estimate_command(
    data: Annotated[Path, typer.Argument(help="CSV or TSV: a header of names, one row each.")],
    out: Annotated[Path, typer.Option(help="Folder to write; must be new or empty.")],
    known: Annotated[
        Path | None,
        typer.Option(help="CSV: named matrix of 0, 1, empty; or source,target,present."),
    ] = None,
    prior: Annotated[
        str | None, typer.Option(help="Shipped prior or .safetensors; none: independent edges.")
    ] = None,
    engine: Annotated[
        str, typer.Option(help="direct (no sampling), gibbs, or langevin (the paper's).")
    ] = "direct",
    likelihood: Annotated[
        str | None, typer.Option(help="langevin only: plug-in (the paper's) or marginal.")
    ] = None,
    variant: Annotated[str, typer.Option(help="LPost, LPr (no data) or LL (no prior).")] = "LPost",
    hidden: Annotated[
        str, typer.Option(help="Are edges hidden more often? 'by value' (estimate), 'at random'.")
    ] = "by value",
    temper: Annotated[
        bool, typer.Option(help="Believe the prior only as far as it predicts known pairs.")
    ] = False,
    samples: Annotated[int, typer.Option(help="Graphs to draw.")] = 10,
    threshold: Annotated[
        float | None, typer.Option(help="Probability at which a pair is an edge.")
    ] = None,
    margin: Annotated[
        float, typer.Option(help="Nothing known: bootstrap margin p_m; negative: no bootstrap.")
    ] = 0.45,
    seed: Annotated[int, typer.Option(help="Same seed, same answer.")] = 0,
    device: Annotated[str, typer.Option(help="cpu, cuda, ...")] = "cpu",
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Estimate the graph behind a table of measurements."""
    new_folder(out)
    check_seed(seed)
    X = read_observations(data)
    known_matrix = None if known is None else read_known(known, [str(c) for c in X.columns])
    arguments: dict[str, Any] = {
        "engine": engine,
        "likelihood": likelihood,
        "variant": variant,
        "hidden": hidden,
        "temper": temper,
        "n_samples": samples,
        "threshold": threshold,
        "p_m": None if margin < 0 else margin,
        "device": device,
        "random_state": seed,
    }
    model = fit_with_progress(
        lambda report: PartialGGM(prior, progress=report, **arguments), X, known_matrix
    )
    files = [data] if known is None else [data, known]
    run = {
        "command": "estimate",
        "prior": None if prior is None else Path(prior).name,
        "arguments": arguments,
        "inputs": {path.name: file_hash(path) for path in files},
    }
    save_estimate(out, model, run)
    summarise(model, out, as_json)
