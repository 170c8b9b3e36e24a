"""`graphprior train`: example graphs in, a prior and its card out."""

from __future__ import annotations

import shlex
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
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
from graphprior.priors.card import describe_graphs, graphs_hash, held_out_bits
from graphprior.priors.networks.edp_gnn import count_parameters
from graphprior.priors.protocol import EvidencePrior
from graphprior.priors.store import (
    checkpoint_settings,
    load_checkpoint,
    save_checkpoint,
    save_prior,
)
from graphprior.priors.training.budget import (
    Measured,
    Plan,
    Start,
    check_minutes,
    plan,
    usual_batch,
)
from graphprior.priors.training.cross_entropy import CrossEntropy
from graphprior.priors.training.fit import GENERAL, MINUTES, find_starts, start_name, trained_card
from graphprior.priors.training.training import (
    OBJECTIVES,
    TrainingConfig,
    TrainingState,
    check_graphs,
    split,
    train,
    validate,
)
from graphprior.types import Matrix

DRAWN = 20  # graphs drawn for the card; fewer where they have more than so many pairs
DRAWN_PAIRS = 800
ESTIMATE_AFTER = 5.0  # seconds


class Examples(NamedTuple):
    """Training graphs: what the card calls them, the words that name them again, what was mended.

    ``changes`` tells what was done to graphs that were not simple and undirected.
    """

    source: str
    words: list[str]
    graphs: list[Matrix]
    changes: Changes


@dataclass(frozen=True)
class Wanted:
    """What a user asks for; None where the choice is left to us."""

    kind: str
    seed: int
    start: str
    steps: int | None
    minutes: float | None
    batch: int | None
    validate_every: int | None
    held_out: int | None

    def settings(self, batch: int = TrainingConfig.batch) -> TrainingConfig:
        """The settings as far as they are given; ``batch`` and those of a training otherwise."""
        return TrainingConfig(
            steps=self.steps or TrainingConfig.steps,
            batch=batch if self.batch is None else self.batch,
            seed=self.seed,
            validate_every=self.validate_every or TrainingConfig.validate_every,
            objective=OBJECTIVES[self.kind](),
            minutes=self.minutes,
            held_out=self.held_out,
        )

    def starts(self) -> list[Start]:
        """What training may start from."""
        return find_starts(self.start, self.kind, choice=self.minutes is not None)

    def plan(
        self, graphs: list[Matrix], starts: list[Start], device: str
    ) -> tuple[TrainingConfig, TrainingState]:
        """A training that fits the time, and words on what is expected of it."""
        if self.start == "auto" and len(starts) == 1 and self.kind == CrossEntropy.kind:
            console().print(f"note: no prior {GENERAL!r} is shipped: training starts from nothing")
        config = self.settings(usual_batch(graphs))
        with progress("trying what to start from"):
            planned = plan(
                graphs, config, starts, device, on_measured=_say_what_is_expected,
                draws=_draws([len(A) for A in graphs]),
            )  # fmt: skip
        _say_what_was_chosen(planned)
        return planned.config, planned.state

    def as_before(self, checkpoint: Path, data: str) -> TrainingConfig:
        """The settings of the training that stopped, if it is the one that is wanted."""
        saved, saved_data = checkpoint_settings(checkpoint)
        steps = None if saved.minutes else saved.steps
        pairs: list[tuple[str, Any, Any]] = [
            ("kind", saved.objective.kind, self.kind),
            ("minutes", saved.minutes, self.minutes),
            ("steps", steps, self.steps),
            ("seed", saved.seed, self.seed),
        ]
        for name, before, now in (
            ("batch", saved.batch, self.batch), ("held-out", saved.held_out, self.held_out)
        ):  # fmt: skip
            if now is not None:
                pairs.append((name, before, now))
        if self.start != "auto":
            pairs.append(("start", saved.start or "nothing", start_name(self.start)))
        differing = [
            f"--{name} {before}" for name, before, now in pairs
            if before != now and before is not None
        ]  # fmt: skip
        if saved_data != data:
            differing.append("other graphs")
        if differing or any(before != now for _, before, now in pairs):
            raise GraphPriorError(
                f"{checkpoint} is of a training with {', '.join(differing) or 'other settings'}: "
                "give the same graphs and settings to go on with it, --finish to end it with its "
                "best weights so far, another --out to keep it as it is, or --restart to discard it"
            )
        return saved if self.minutes else self.starts()[0].settings(self.settings())


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


def _stopped(
    graphs: list[Matrix], out: Path, wanted: Wanted, device: str
) -> tuple[TrainingConfig, TrainingState]:
    """Settings and state of a training that stopped, to go on with."""
    checkpoint, data = checkpoint_path(out), graphs_hash(graphs)
    config = wanted.as_before(checkpoint, data)
    return config, load_checkpoint(checkpoint, config, data, device)


def _begin(
    graphs: list[Matrix], out: Path, wanted: Wanted, starts: list[Start], device: str
) -> tuple[TrainingConfig, TrainingState]:
    """Settings and state of a new training; a checkpoint that is there is replaced."""
    if wanted.minutes is None:
        config = starts[0].settings(wanted.settings())
        state = starts[0].state(config, device)
        checkpoint_path(out).unlink(missing_ok=True)
    else:
        config, state = wanted.plan(graphs, starts, device)
        # How many steps there are is known from here on.
        save_checkpoint(checkpoint_path(out), state, config, graphs_hash(graphs))
    return config, state


def _refuse_to_replace(out: Path, restart: bool) -> None:
    for path in (out, out.with_suffix(".json")):
        if path.exists() and not restart:
            raise GraphPriorError(
                f"{path} exists: choose another --out, or --restart to replace it"
            )


def _run(
    graphs: list[Matrix],
    out: Path,
    config: TrainingConfig,
    state: TrainingState,
    checkpoint_seconds: float,
) -> bool:
    """Train to the end (True) or to the first Ctrl-C (False), saving as it goes."""
    data, saved = graphs_hash(graphs), time.monotonic()
    estimate = _estimate(config, state)
    with progress("training") as report, interrupt_flag() as interrupted:
        for _ in train(graphs, config, state):
            loss = state.history[-1]["loss"] if state.history else state.loss
            report(state.step, config.steps, f"training, loss {loss:.5f}")
            estimate(state.step)
            if time.monotonic() - saved > checkpoint_seconds or interrupted:
                save_checkpoint(checkpoint_path(out), state, config, data)
                saved = time.monotonic()
            if interrupted and not state.is_done(config):
                return False
        # From here to the end a kill costs nothing either.
        save_checkpoint(checkpoint_path(out), state, config, data)
    return True


def _estimate(config: TrainingConfig, state: TrainingState) -> Callable[[int], None]:
    """Says once, after the first seconds, how long the rest will take; a bar does so by itself."""
    began, first, told = time.monotonic(), state.step, console().is_terminal

    def report(step: int) -> None:
        nonlocal told
        passed = time.monotonic() - began
        if not told and passed > ESTIMATE_AFTER:
            told = True
            seconds = passed / (step - first) * (config.steps - step)
            console().print(f"about {_duration(seconds)} more for {config.steps} steps")

    return report


def _duration(seconds: float) -> str:
    if seconds < 90:
        return "1 second" if round(seconds) == 1 else f"{seconds:.0f} seconds"
    return f"{seconds / 60:.3g} minutes"


def drawn_statistics(prior: Any, sizes: list[int], seed: int) -> dict[str, Any] | None:
    """What the prior draws, to set beside its training set; None where drawing takes minutes."""
    if not isinstance(prior, EvidencePrior):
        return None
    chosen = np.random.default_rng(seed).choice(sizes, _draws(sizes))
    return graph_statistics(draw_graphs(prior, [int(n) for n in chosen], seed))


def _draws(sizes: list[int]) -> int:
    """How many graphs to draw for the card: fewer where they are large."""
    mean = sum(n * (n - 1) / 2 for n in sizes) / len(sizes)
    return max(4, min(DRAWN, round(DRAWN * DRAWN_PAIRS / mean)))


def make_card(
    out: Path, found: Examples, facts: dict[str, Any], config: TrainingConfig, state: TrainingState
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
    if config.start is not None:
        options["start"] = config.start
    if config.validate_every != TrainingConfig.validate_every:
        options["validate-every"] = config.validate_every
    if config.held_out is not None:
        options["held-out"] = config.held_out
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    command = shlex.join(["graphprior", "train", *found.words, *words])
    return {"name": out.stem, **trained_card(facts, command, config, state, found.graphs)}


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
    minutes: Annotated[
        float | None,
        typer.Option(help="Time for all of it; 2 unless --steps is given.", show_default=False),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(help="Training steps, in place of a time; the same seed gives the same."),
    ] = None,
    start: Annotated[
        str,
        typer.Option(
            help="Weights to start from: general, nothing, a prior's name or file; auto tries "
            "general and nothing, or takes nothing if --steps is given."
        ),
    ] = "auto",
    batch: Annotated[
        int | None,
        typer.Option(help="Graphs in a step; by their size, or 16 if --steps is given."),
    ] = None,
    validate_every: Annotated[
        int | None,
        typer.Option(help="Steps between validations; by the time, or 500 if --steps is given."),
    ] = None,
    held_out: Annotated[
        int | None, typer.Option(help="Graphs held out for validation; by their number.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of split, weights and noise.")] = 0,
    licence: Annotated[str, typer.Option(help="Licence of the graphs.")] = "not stated",
    checkpoint_seconds: Annotated[float, typer.Option(help="Time between checkpoints.")] = 30.0,
    restart: Annotated[bool, typer.Option(help="Ignore a checkpoint and replace --out.")] = False,
    finish: Annotated[
        bool, typer.Option(help="End a training that stopped, with its best weights so far.")
    ] = False,
    device: Annotated[str, typer.Option(help="cpu, cuda, ...")] = "cpu",
    as_json: Annotated[bool, typer.Option("--json", help="Print the card as JSON.")] = False,
) -> None:
    """Learn a prior from example graphs; run again after a kill to go on."""
    if minutes is None and steps is None:
        minutes = MINUTES
    given = {
        "seed": seed, "minutes": minutes, "steps": steps, "batch": batch,
        "validate_every": validate_every, "held_out": held_out,
    }  # fmt: skip
    _check_options(out, kind, given)
    found = _graphs(graphs, count, seed)
    if graphs.resolve() == out.with_suffix(".json").resolve():
        raise GraphPriorError(f"--out {out}: its card would replace {graphs}; choose another name")
    facts = describe_graphs(found.graphs, found.source, found.changes, licence)
    wanted = Wanted(kind, seed, start, steps, minutes, batch, validate_every, held_out)
    place = str(resolve_device(device))
    if finish:
        config, state = _as_it_stands(found.graphs, out, restart, place)
        console().print(f"ending at step {state.step} of {config.steps}")
    else:
        config, state = _prepare(found, facts, out, wanted, restart, place)
        if not _run(found.graphs, out, config, state, checkpoint_seconds):
            console().print(
                f"stopped at step {state.step} of {config.steps}; the same command goes on from "
                "there, and with --finish it ends there"
            )
            raise typer.Exit(130)
    card = _save(out, found, facts, config, state)
    _say_what_was_learned(card)
    console().print(f"wrote {out} and {out.with_suffix('.json')}")
    if as_json:
        print_json(card)


def _prepare(
    found: Examples, facts: dict[str, Any], out: Path, wanted: Wanted, restart: bool, device: str
) -> tuple[TrainingConfig, TrainingState]:
    """What to go on from, or to begin with; says what comes once nothing stands in the way."""
    graphs, stopped = found.graphs, None
    if checkpoint_path(out).exists() and not restart:
        stopped = _stopped(graphs, out, wanted, device)
    else:
        _refuse_to_replace(out, restart)
    starts = [] if stopped else wanted.starts()
    _say_what_comes(facts, graphs, wanted, stopped is None)
    config, state = stopped or _begin(graphs, out, wanted, starts, device)
    if stopped:
        console().print(f"going on from step {state.step} ({checkpoint_path(out)})")
    console().print(f"{count_parameters(state.network)} parameters")
    return config, state


def _as_it_stands(
    graphs: list[Matrix], out: Path, restart: bool, device: str
) -> tuple[TrainingConfig, TrainingState]:
    """A training that stopped, to be ended, with at least one validation."""
    checkpoint = checkpoint_path(out)
    if not checkpoint.exists():
        raise GraphPriorError(
            f"--finish: {checkpoint} does not exist, so there is no training to end; "
            "run without --finish to begin one"
        )
    _refuse_to_replace(out, restart)
    config, data = checkpoint_settings(checkpoint)
    if data != graphs_hash(graphs):
        raise GraphPriorError(
            f"--finish: {checkpoint} is of a training with other graphs: give those"
        )
    state = load_checkpoint(checkpoint, config, data, device)
    if not state.history:
        validate(config, state, split(graphs, config)[1])
    return config, state


def _check_options(out: Path, kind: str, wanted: dict[str, Any]) -> None:
    """Refuse what no training can have, before any graph is read."""
    if out.suffix != ".safetensors":
        raise GraphPriorError(f"--out {out}: a prior's file name ends in .safetensors")
    check_seed(wanted["seed"])
    if kind not in OBJECTIVES:
        raise GraphPriorError(f"--kind {kind}: expected one of {', '.join(OBJECTIVES)}")
    minutes, steps = wanted["minutes"], wanted["steps"]
    if minutes is not None and steps is not None:
        raise GraphPriorError(f"--minutes {minutes:g} and --steps {steps}: give one of them")
    if minutes is not None:
        check_minutes(minutes)
        if wanted["validate_every"] is not None:
            raise GraphPriorError(
                f"--validate-every {wanted['validate_every']}: it goes with --steps; with "
                "--minutes validations are placed by the time"
            )
    for name in ("steps", "batch", "validate_every", "held_out"):
        if wanted[name] is not None and wanted[name] < 1:
            option = name.replace("_", "-")
            raise GraphPriorError(f"--{option} {wanted[name]}: expected at least 1")


def _say_what_comes(
    facts: dict[str, Any], graphs: list[Matrix], wanted: Wanted, is_new: bool
) -> None:
    """Which graphs, how long it takes, and what there is to beat."""
    words, *notes = summary(facts).splitlines()
    if is_new and wanted.minutes:
        words += f"; learning from them takes about {_duration(60 * wanted.minutes)}"
    if wanted.steps and wanted.kind == CrossEntropy.kind:
        words += f", at which the edge rate alone needs {_rate_bits(graphs):.3f} bits per pair"
    console().print("\n".join([words, *notes]))


def _rate_bits(graphs: list[Matrix]) -> float:
    """Bits of a pair where only the density of the graphs is known."""
    p = sum(A.sum() for A in graphs) / sum(len(A) * (len(A) - 1) for A in graphs)
    return float(-sum(q * np.log2(q) for q in (p, 1 - p) if q > 0))


def _say_what_is_expected(measured: list[Measured]) -> None:
    """What is known before training: bits that the edge rate and the start need."""
    rate, own = "rate unknown=0.5 no data", "unknown=0.5 no data"
    first = measured[0]
    if rate not in first.row:
        return
    words = f"the edge rate alone needs {first.row[rate]:.3f} bits per pair"
    for one in measured:
        if one.start.name is not None:
            words += f", {one.start.name} as it is {one.row[own]:.3f}"
    held_out = "1 graph" if first.held_out == 1 else f"{first.held_out} graphs"
    console().print(
        f"on {held_out} held out, half of the pairs unknown and no data, {words}; "
        "learning from the others should bring that down"
    )


def _say_what_was_chosen(planned: Plan) -> None:
    """What training starts from and how many steps it makes."""
    config, tried = planned.config, planned.state.tried
    found = ", ".join(f"{name} {loss:.3f}" for name, loss in tried.items())
    why = f" (validation loss after a trial: {found})" if tried else ""
    console().print(f"starting from {config.start or 'nothing'}{why}; {config.steps} steps")


def _say_what_was_learned(card: dict[str, Any]) -> None:
    """How well it predicts graphs that were held out; a word where that is worth little."""
    found = held_out_bits(card)
    if found is None:
        return
    graphs = "1 graph" if found.graphs == 1 else f"{found.graphs} graphs"
    words = (
        f"on {graphs} held out, half of the pairs unknown and no data, it needs {found.bits:.3f}"
    )
    if found.error is not None:
        words += f" +- {found.error:.3f}"
    words += f" bits per pair, the edge rate {found.rate:.3f}"
    if found.start is not None:
        words += f", {card['training']['start']} before training {found.start:.3f}"
    console().print(words)
    gain, error = found.rate - found.bits, found.gain_error
    if gain <= 0:
        console().print(
            "note: on these it is no better than the edge rate: give it more time or more "
            "graphs, or use no prior",
            style="yellow",
        )
    elif error is None or gain < 2 * error:
        told = "" if error is None else f" {gain:.3f} +- {error:.3f}"
        console().print(
            f"note: {graphs} held out cannot tell for sure that it gains{told}: more graphs would",
            style="yellow",
        )


def _save(
    out: Path, found: Examples, facts: dict[str, Any], config: TrainingConfig, state: TrainingState
) -> dict[str, Any]:
    """Write the prior and its card, and forget the checkpoint."""
    prior = config.objective.prior(state.best)
    card = make_card(out, found, facts, config, state)
    card["drawn"] = drawn_statistics(prior, [len(A) for A in found.graphs], config.seed)
    save_prior(prior, out, card)
    checkpoint_path(out).unlink(missing_ok=True)
    return card
