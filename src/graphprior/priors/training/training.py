"""Training a prior's network on example graphs.

`train` is a generator: it yields its state after every step, so that progress,
checkpoints and early stops stay with the caller. All randomness of a step
comes from (seed, step), never from a stream; a run that stops after any step
and goes on from the saved state ends with the same weights. What is learned is
the objective's: `CrossEntropy` (evidence network) or `ScoreMatching` (EDP-GNN).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from torch import nn

from graphprior.errors import GraphPriorError
from graphprior.graphs.matrices import check_adjacency
from graphprior.priors.training.cross_entropy import CrossEntropy
from graphprior.priors.training.score_matching import ScoreMatching
from graphprior.types import Matrix

Objective = CrossEntropy | ScoreMatching
OBJECTIVES: dict[str, type[Objective]] = {o.kind: o for o in (CrossEntropy, ScoreMatching)}


@dataclass(frozen=True)
class TrainingConfig:
    """Everything that, with the graphs, decides the weights.

    Training stops early when ``patience`` validations in a row found nothing better. ``start``
    names the prior whose weights it starts from, None where it starts from nothing. ``minutes`` is
    the time that ``steps`` was chosen for, ``held_out`` how many graphs are for validation, None
    where ``validation_share`` says it.
    """

    steps: int = 10_000
    batch: int = 16
    learning_rate: float = 2e-3
    weight_decay: float = 1e-3
    ema: float = 0.999
    seed: int = 0
    validate_every: int = 500
    validation_share: float = 0.05
    patience: int = 10
    objective: Objective = field(default_factory=CrossEntropy)
    start: str | None = None
    minutes: float | None = None
    held_out: int | None = None

    def __post_init__(self) -> None:
        if min(self.steps, self.batch, self.validate_every, self.patience) < 1:
            raise GraphPriorError(
                f"steps = {self.steps}, batch = {self.batch}, validate_every = "
                f"{self.validate_every}, patience = {self.patience}: each must be at least 1"
            )

    def rate(self, step: int) -> float:
        """One cycle: up over a tenth of the run, then down along a cosine."""
        warm = max(1, self.steps // 10)
        if step < warm:
            return self.learning_rate * (step + 1) / warm
        done = (step - warm) / max(1, self.steps - warm)
        return self.learning_rate * 0.5 * (1 + math.cos(math.pi * min(done, 1.0)))


@runtime_checkable
class Examples(Protocol):
    """Where the graphs of a batch come from: a set, or a source that does not end."""

    def batch(self, rng: np.random.Generator) -> list[Matrix]:
        """Graphs to learn from in one step."""

    def held_out(self, seed: int) -> list[Matrix]:
        """Graphs for validation."""


@dataclass(frozen=True)
class GraphSet:
    """A set of graphs, of which some are held out."""

    graphs: Sequence[Matrix]
    validation: Sequence[Matrix]
    size: int

    def batch(self, rng: np.random.Generator) -> list[Matrix]:
        """Any graphs of the set."""
        return [self.graphs[g] for g in rng.integers(len(self.graphs), size=self.size)]

    def held_out(self, seed: int) -> list[Matrix]:
        """Those held out, whatever the seed."""
        return list(self.validation)


@dataclass
class TrainingState:
    """Where a training stands: all that a checkpoint must hold.

    ``tried`` is the validation loss that each start reached in a trial, where there was one.
    """

    step: int
    network: nn.Module
    average: nn.Module
    best: nn.Module
    optimizer: torch.optim.AdamW
    history: list[dict[str, float]]
    loss: float = math.nan
    tried: dict[str, float] = field(default_factory=dict)

    @property
    def best_loss(self) -> float:
        """Lowest validation loss so far."""
        return min((row["loss"] for row in self.history), default=math.inf)

    def is_done(self, config: TrainingConfig) -> bool:
        """All steps made, or no gain for long."""
        losses = [row["loss"] for row in self.history]
        waited = len(losses) - 1 - losses.index(min(losses)) if losses else 0
        return self.step >= config.steps or waited >= config.patience


def new_state(
    config: TrainingConfig, device: str | torch.device = "cpu", start: nn.Module | None = None
) -> TrainingState:
    """Networks before the first step: untrained, from the seed alone, or all like ``start``."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        network = config.objective.build()
    if start is not None:
        network.load_state_dict(start.state_dict())
    network = network.to(device)
    optimizer = torch.optim.AdamW(
        network.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay
    )
    return TrainingState(
        0, network, copy.deepcopy(network), copy.deepcopy(network), optimizer, history=[]
    )


def check_graphs(graphs: Sequence[object]) -> list[Matrix]:
    """The graphs as matrices; a set that cannot teach a prior is refused."""
    if len(graphs) < 2:
        raise GraphPriorError(
            f"{len(graphs)} training graph(s): a prior needs at least 2, better hundreds"
        )
    checked = [check_adjacency(A, name=f"graph {g}") for g, A in enumerate(graphs)]
    for g, A in enumerate(checked):
        if len(A) < 2:
            raise GraphPriorError(f"graph {g} has {len(A)} node(s): at least 2 are needed")
    return checked


def split(graphs: Sequence[Matrix], config: TrainingConfig) -> tuple[list[Matrix], list[Matrix]]:
    """Training and validation graphs; at least one of each.

    Of a small set a larger share is held out: 3 of 10, 7 of 30, 12 of 100.
    """
    order = np.random.default_rng(config.seed).permutation(len(graphs))
    at_least = min(0.3 * len(graphs), 1.2 * math.sqrt(len(graphs)))
    held = round(max(config.validation_share * len(graphs), at_least, 1))
    held = min(held, 100) if config.held_out is None else config.held_out
    held = min(held, len(graphs) - 1)
    return [graphs[g] for g in order[held:]], [graphs[g] for g in order[:held]]


@torch.no_grad()
def _update_average(state: TrainingState, decay: float) -> None:
    # Early on a long average would remember the untrained weights.
    decay = min(decay, (1 + state.step) / (10 + state.step))
    for mean, value in zip(state.average.parameters(), state.network.parameters(), strict=True):
        mean.lerp_(value, 1 - decay)


def as_examples(graphs: Sequence[Matrix] | Examples, config: TrainingConfig) -> Examples:
    """The graphs as a source of batches, some of them held out."""
    if isinstance(graphs, Examples):
        return graphs
    return GraphSet(*split(check_graphs(graphs), config), config.batch)


def validate(config: TrainingConfig, state: TrainingState, held_out: Sequence[Matrix]) -> None:
    """Add a row to the history, and keep the averaged network if it is the best so far."""
    row = config.objective.validate(state.average, held_out, config.seed)
    if not np.isfinite(row["loss"]):
        raise GraphPriorError(
            f"the loss is {row['loss']} after {state.step} steps: training diverged; "
            f"lower learning_rate (it is {config.learning_rate:g})"
        )
    if row["loss"] < state.best_loss:
        state.best.load_state_dict(state.average.state_dict())
    state.history.append({"step": state.step, **row})


def train(
    graphs: Sequence[Matrix] | Examples, config: TrainingConfig, state: TrainingState | None = None
) -> Iterator[TrainingState]:
    """Yield the state after every step from where it stands until it is done.

    It is one object, updated in place. ``state.best`` is the averaged network
    with the lowest validation loss; the prior that training started from is one of them.
    """
    state = state or new_state(config)
    graphs = as_examples(graphs, config)
    held_out = graphs.held_out(config.seed)
    if config.start is not None and not state.history:
        validate(config, state, held_out)
    while not state.is_done(config):
        for group in state.optimizer.param_groups:
            group["lr"] = config.rate(state.step)
        rng = np.random.default_rng([config.seed, 1, state.step])
        loss = config.objective.loss(state.network, graphs.batch(rng), rng)
        state.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(state.network.parameters(), 1.0)
        state.optimizer.step()
        state.loss = float(loss.detach())
        _update_average(state, config.ema)
        state.step += 1
        if state.step % config.validate_every == 0 or state.step == config.steps:
            validate(config, state, held_out)
        yield state
