"""From example graphs to a prior in one call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from graphprior.errors import GraphPriorError
from graphprior.io.graph_sets import as_graphs
from graphprior.priors.card import describe_graphs, training_card
from graphprior.priors.networks.evidence_network import EvidenceNetworkPrior
from graphprior.priors.protocol import Prior
from graphprior.priors.store import load_prior, shipped_priors
from graphprior.priors.training.budget import Start, plan, usual_batch
from graphprior.priors.training.cross_entropy import CrossEntropy
from graphprior.priors.training.training import (
    TrainingConfig,
    TrainingState,
    check_graphs,
    split,
    train,
)
from graphprior.types import Matrix

MINUTES = 2.0
GENERAL = "general"


def find_starts(start: str | Path, kind: str, choice: bool = True) -> list[Start]:
    """What a training may start from: two for "auto" where there is a ``choice``, or one.

    "auto" is the shipped prior `general` or nothing; nothing alone where `general` is not
    shipped, and for networks of another kind. Otherwise it is "nothing", the name of a shipped
    prior, or a file.
    """
    nothing = Start()
    if str(start) == "auto":
        usable = choice and kind == EvidenceNetworkPrior.kind and GENERAL in shipped_priors()
        return [*find_starts(GENERAL, kind), nothing] if usable else [nothing]
    if str(start) == "nothing":
        return [nothing]
    prior = load_prior(start)
    if not isinstance(prior, EvidenceNetworkPrior) or prior.kind != kind:
        raise GraphPriorError(
            f"training cannot start from {start}, a prior of kind {prior.kind!r}: expected one of "
            f"kind {EvidenceNetworkPrior.kind!r}, to train a prior of that kind"
        )
    return [Start(start_name(start), prior)]


def start_name(start: str | Path) -> str:
    """What settings and card call a start. A card travels: it names no folder of this machine."""
    path = Path(start)
    return path.name if path.is_absolute() else path.as_posix()


def trained_card(
    facts: dict[str, Any],
    command: str,
    config: TrainingConfig,
    state: TrainingState,
    graphs: Sequence[Matrix],
) -> dict[str, Any]:
    """The card of what a training has reached: also how sure its validation is."""
    kind, objective = config.objective.kind, config.objective
    card = training_card(kind, facts, command, asdict(config), state.network, state.history)
    _, held_out = split(graphs, config)
    validation = card["validation"]
    validation["held_out"] = len(held_out)
    if state.history[0]["step"] == 0:
        validation["start"] = state.history[0]
    if isinstance(objective, CrossEntropy):
        errors = objective.standard_errors(state.best, held_out, config.seed)
        validation["standard_errors"] = errors
    if state.tried:
        validation["starts_tried"] = state.tried
    if not state.is_done(config):
        card["stopped_at_step"] = state.step
    return card


def fit_prior(
    graphs: str | Path | Iterable[Any],
    config: TrainingConfig | None = None,
    device: str = "cpu",
    progress: Callable[[int, int], None] | None = None,
    *,
    minutes: float | None = None,
    start: str | Path = "auto",
    seed: int = 0,
) -> Prior:
    """Learn a prior from example graphs of any sizes, in 2 minutes unless told otherwise.

    ``graphs`` is a file or folder of graphs, or a collection of adjacency
    matrices or of networkx, igraph or PyTorch Geometric graphs. Training starts
    from the shipped prior `general` or from nothing, whichever promises more; or
    from ``start``: "general", "nothing", the name of another shipped prior or a file.

    With ``minutes`` the number of steps depends on how fast the machine is. With a
    ``config`` that says how many steps, the same seed gives the same prior; training
    then starts from nothing unless ``start`` says otherwise.
    """
    matrices = check_graphs(as_graphs(graphs))
    if config is not None and minutes is not None:
        raise GraphPriorError(
            f"minutes = {minutes:g} and a TrainingConfig with steps = {config.steps}: give one"
        )
    if config is None:
        wanted = TrainingConfig(
            minutes=MINUTES if minutes is None else minutes, seed=seed, batch=usual_batch(matrices)
        )
        planned = plan(matrices, wanted, find_starts(start, wanted.objective.kind), device)
        config, state = planned.config, planned.state
    else:
        (begin,) = find_starts(start, config.objective.kind, choice=False)
        config = begin.settings(config)
        state = begin.state(config, device)
    for _ in train(matrices, config, state):
        if progress is not None:
            progress(state.step, config.steps)
    prior = config.objective.prior(state.best)
    source = Path(graphs).name if isinstance(graphs, str | Path) else "given to fit_prior"
    facts = describe_graphs(matrices, source, {})
    prior.card = trained_card(facts, "graphprior.fit_prior", config, state, matrices)
    return prior
