"""`graphprior train`: example graphs in, a prior and its card out."""

from __future__ import annotations

import shlex
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from graphprior.cli.common import check_seed, interrupt_flag, print_json
from graphprior.engines.generate import draw_graphs
from graphprior.engines.langevin import resolve_device
from graphprior.errors import GraphPriorError
from graphprior.graphs.convert import Changes
from graphprior.graphs.statistics import graph_statistics
from graphprior.io.graph_sets import changes_in_words, drop_small, read_graphs
from graphprior.io.progress import console, progress
from graphprior.paper.datasets.registry import generate, generated
from graphprior.priors.card import (
    bits_without_data,
    describe_graphs,
    graphs_hash,
    training_card,
)
from graphprior.priors.networks.edp_gnn import count_parameters
from graphprior.priors.protocol import EvidencePrior
from graphprior.priors.store import load_checkpoint, save_checkpoint, save_prior
from graphprior.priors.training.training import (
    OBJECTIVES,
    TrainingConfig,
    TrainingState,
    check_graphs,
    new_state,
    train,
)
from graphprior.types import Matrix

DRAWN = 20  # graphs drawn for the card


class Examples(NamedTuple):
    """Training graphs: what the card calls them, the words that name them again, what was mended.

    ``changes`` tells what was done to graphs that were not simple and undirected.
    """

    source: str
    words: list[str]
    graphs: list[Matrix]
    changes: Changes


def summary(facts: dict[str, Any]) -> str:
    """The training set in a line, and what was changed or left out in another."""
    sizes = [int(n) for n in facts["sizes"]]
    words = (
        f"{facts['count']} graphs of {min(sizes)} to {max(sizes)} nodes, "
        f"density {facts['statistics']['density']:.3f}"
    )
    changed = changes_in_words(Counter(facts["changes"]))
    return f"{words}\nnote: {changed} (graphs each)" if changed else words


def _graphs(graphs: Path, count: int, seed: int) -> Examples:
    """The training graphs; a file comes before a family's name."""
    changes: Changes = Counter()
    if not graphs.exists() and (family := str(graphs)) in generated():
        words = [family, "--count", str(count)]
        return Examples(family, words, check_graphs(generate(family, count, seed)), changes)
    if not graphs.exists():
        raise GraphPriorError(
            f"{graphs}: no such file or folder, nor a family to generate ({', '.join(generated())})"
        )
    # A card travels: it names a relative path as given, never a folder of this machine.
    source = graphs.name if graphs.is_absolute() else graphs.as_posix()
    kept = drop_small(read_graphs(graphs, changes), changes)
    # Graphs held out for validation may then be among those learned from.
    changes["copies of others, kept"] += len(kept) - len({graphs_hash([A]) for A in kept})
    return Examples(source, [source], check_graphs(kept), changes)


def checkpoint_path(out: Path) -> Path:
    """Where a training keeps its state until it is done."""
    return out.with_name(out.name + ".checkpoint")


def _start(
    graphs: list[Matrix], out: Path, config: TrainingConfig, restart: bool, device: str
) -> TrainingState:
    checkpoint = checkpoint_path(out)
    if checkpoint.exists() and not restart:
        state = load_checkpoint(checkpoint, config, graphs_hash(graphs), device)
        console().print(f"going on from step {state.step} ({checkpoint})")
        return state
    for path in (out, out.with_suffix(".json")):
        if path.exists() and not restart:
            raise GraphPriorError(
                f"{path} exists: choose another --out, or --restart to replace it"
            )
    checkpoint.unlink(missing_ok=True)
    return new_state(config, device)


def _run(
    graphs: list[Matrix],
    out: Path,
    config: TrainingConfig,
    state: TrainingState,
    checkpoint_seconds: float,
) -> bool:
    """Train to the end (True) or to the first Ctrl-C (False), saving as it goes."""
    data, saved = graphs_hash(graphs), time.monotonic()
    with progress("training") as report, interrupt_flag() as interrupted:
        for _ in train(graphs, config, state):
            loss = state.history[-1]["loss"] if state.history else state.loss
            report(state.step, config.steps, f"training, loss {loss:.5f}")
            if time.monotonic() - saved > checkpoint_seconds or interrupted:
                save_checkpoint(checkpoint_path(out), state, config, data)
                saved = time.monotonic()
            if interrupted and state.step < config.steps:
                return False
        # From here to the end a kill costs nothing either.
        save_checkpoint(checkpoint_path(out), state, config, data)
    return True


def drawn_statistics(prior: Any, sizes: list[int], seed: int) -> dict[str, Any] | None:
    """What the prior draws, to set beside its training set; None where drawing takes minutes."""
    if not isinstance(prior, EvidencePrior):
        return None
    chosen = np.random.default_rng(seed).choice(sizes, DRAWN)
    return graph_statistics(draw_graphs(prior, [int(n) for n in chosen], seed))


def make_card(
    out: Path,
    words: list[str],
    facts: dict[str, Any],
    config: TrainingConfig,
    state: TrainingState,
) -> dict[str, Any]:
    """What the prior was made of and how, and the command that makes it again."""
    options: dict[str, Any] = {
        "out": out.name,
        "kind": config.objective.kind,
        "steps": config.steps,
        "batch": config.batch,
        "seed": config.seed,
        "licence": facts["licence"],
    }
    words = words + [word for name, value in options.items() for word in (f"--{name}", str(value))]
    command = shlex.join(["graphprior", "train", *words])
    kind, network, history = config.objective.kind, state.network, state.history
    card = training_card(kind, facts, command, asdict(config), network, history)
    return {"name": out.stem, **card}


def train_command(
    graphs: Annotated[
        Path,
        typer.Argument(
            help="Folder (GraphML, GML, edge lists, TUDataset), .npz or .json; "
            f"or a family to generate: {', '.join(generated())}."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Prior to write, a name ending in .safetensors.")],
    kind: Annotated[
        str, typer.Option(help="evidence (evidence network) or edp-gnn (the paper's).")
    ] = "evidence",
    count: Annotated[int, typer.Option(help="Graphs to generate of a family.")] = 5000,
    steps: Annotated[int, typer.Option(help="Training steps.")] = TrainingConfig.steps,
    batch: Annotated[int, typer.Option(help="Graphs in a step.")] = TrainingConfig.batch,
    seed: Annotated[int, typer.Option(help="Seed of split, weights and noise.")] = 0,
    licence: Annotated[str, typer.Option(help="Licence of the graphs.")] = "not stated",
    checkpoint_seconds: Annotated[float, typer.Option(help="Time between checkpoints.")] = 30.0,
    restart: Annotated[bool, typer.Option(help="Ignore a checkpoint and replace --out.")] = False,
    device: Annotated[str, typer.Option(help="cpu, cuda, ...")] = "cpu",
    as_json: Annotated[bool, typer.Option("--json", help="Print the card as JSON.")] = False,
) -> None:
    """Learn a prior from example graphs; run again after a kill to go on."""
    _check_options(out, kind, seed)
    found = _graphs(graphs, count, seed)
    if graphs.resolve() == out.with_suffix(".json").resolve():
        raise GraphPriorError(f"--out {out}: its card would replace {graphs}; choose another name")
    config = TrainingConfig(steps=steps, batch=batch, seed=seed, objective=OBJECTIVES[kind]())
    facts = describe_graphs(found.graphs, found.source, found.changes, licence)
    state = _start(found.graphs, out, config, restart, str(resolve_device(device)))
    console().print(f"{summary(facts)}\n{count_parameters(state.network)} parameters")
    if not _run(found.graphs, out, config, state, checkpoint_seconds):
        console().print(
            f"stopped at step {state.step} of {steps}; the same command goes on from there"
        )
        raise typer.Exit(130)
    card = _save(out, found, facts, config, state)
    _say_what_was_learned(card)
    console().print(f"wrote {out} and {out.with_suffix('.json')}")
    if as_json:
        print_json(card)


def _check_options(out: Path, kind: str, seed: int) -> None:
    if out.suffix != ".safetensors":
        raise GraphPriorError(f"--out {out}: a prior's file name ends in .safetensors")
    check_seed(seed)
    if kind not in OBJECTIVES:
        raise GraphPriorError(f"--kind {kind}: expected one of {', '.join(OBJECTIVES)}")


def _say_what_was_learned(card: dict[str, Any]) -> None:
    """How well it predicts graphs that were held out; a word where that is worth nothing."""
    bits = bits_without_data(card)
    if bits is None:
        return
    console().print(
        f"on graphs held out, half of the pairs unknown and no data, it needs {bits[0]:.3f} bits a "
        f"pair, the edge rate {bits[1]:.3f}"
    )
    if bits[0] >= bits[1]:
        console().print(
            "note: on these it is no better than the edge rate: give it more steps or more "
            "graphs, or use no prior",
            style="yellow",
        )


def _save(
    out: Path, found: Examples, facts: dict[str, Any], config: TrainingConfig, state: TrainingState
) -> dict[str, Any]:
    """Write the prior and its card, and forget the checkpoint."""
    prior = config.objective.prior(state.best)
    card = make_card(out, found.words, facts, config, state)
    card["drawn"] = drawn_statistics(prior, [len(A) for A in found.graphs], config.seed)
    save_prior(prior, out, card)
    checkpoint_path(out).unlink(missing_ok=True)
    return card
