"""`graphprior priors`: what is shipped, with model cards."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Column, Table

from graphprior.cli.common import print_json
from graphprior.io.progress import console
from graphprior.priors.store import load_prior, read_card, shipped_priors
from graphprior.priors.training.training import OBJECTIVES


def priors_command(
    name: Annotated[str | None, typer.Argument(help="Show the whole card of one prior.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all cards as JSON.")] = False,
) -> None:
    """List the shipped priors, or show a prior's card."""
    if name is not None:
        load_prior(name)
        print_json(read_card(name))
        return
    cards = {prior: read_card(prior) for prior in shipped_priors()}
    if as_json:
        print_json(cards)
        return
    names = ("name", "kind", "graphs", "nodes", "density", "steps", "validation")
    table = Table(*(Column(name, no_wrap=True) for name in names), box=None)
    for prior, card in cards.items():
        graphs, sizes = card["graphs"], [int(n) for n in card["graphs"]["sizes"]]
        table.add_row(
            prior,
            card["kind"],
            str(graphs["count"]),
            f"{min(sizes)}-{max(sizes)}",
            f"{graphs['statistics']['density']:.3f}",
            str(card["training"]["steps"]),
            f"{card['validation']['best']['loss']:.4f} {OBJECTIVES[card['kind']].unit}",
        )
    Console().print(table)
    console().print(
        "validation: bits for each unknown pair, or the loss of score matching; "
        "`graphprior priors NAME` shows a whole card."
    )
