"""`graphprior demo`: the main job on data that comes with the package."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated

import typer

import graphprior.cli.options as options
from graphprior.choices import EngineName
from graphprior.cli.common import new_folder
from graphprior.cli.estimate import fit_with_progress, save_estimate, summarise
from graphprior.estimator import from_arguments
from graphprior.io.inputs import Given
from graphprior.io.known import read_known
from graphprior.io.observations import read_observations
from graphprior.io.progress import console
from graphprior.io.provenance import machine, versions
from graphprior.results.metrics import auc, f1, on_unknown

PRIOR = "egonets"


def demo_command(
    out: Annotated[Path, typer.Option(help="Folder to write; must be new or empty.")] = Path(
        "demo-result"
    ),
    engine: options.Engine = EngineName.GIBBS,
    draws: options.Draws = None,
    seed: Annotated[int, typer.Option(help="Same seed, same answer.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Estimate who knows whom around one person, half of it known; under a minute."""
    new_folder(out)
    with as_file(files("graphprior") / "demo") as folder:
        inputs = {path.name: path.read_bytes() for path in sorted(folder.glob("*.csv"))}
        X = read_observations(folder / "observations.csv")
        names = [str(c) for c in X.columns]
        known = read_known(folder / "known.csv", names)
        truth = read_known(folder / "truth.csv", names)
    console().print(
        f"One person and {X.shape[1] - 1} around her, {len(X)} observations of each; half of all "
        f"pairs are known.\nPrior: {PRIOR}, learned from ego-nets of a music service."
    )
    settings = {} if draws is None else {"draws": draws}
    arguments = {"engine": engine, "engine_settings": settings, "random_state": seed}
    model = fit_with_progress(
        lambda report: from_arguments(PRIOR, arguments, report),
        Given(X, known, None),
    )
    run = {"command": "demo", "prior": PRIOR, "arguments": arguments}
    run |= {"versions": versions(), "machine": machine()}
    summarise(model, save_estimate(out, model, run, inputs), out, as_json)
    U = model.problem_.U
    a, p = on_unknown(truth, U), on_unknown(model.edge_probabilities_, U)
    console().print(
        f"the data are simulated, so the truth is known: {int(a.sum())} of the unknown pairs are "
        f"edges; F1 {f1(a, p >= model.threshold_):.2f}, AUC {auc(a, p):.2f}"
    )
    console().print(f"open {out / 'report.html'} in a browser")
