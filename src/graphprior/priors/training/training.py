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
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import nn

from graphprior.errors import GraphPriorError
from graphprior.graphs.matrices import check_adjacency
from graphprior.io.graph_sets import as_graphs
from graphprior.priors.card import describe_graphs, training_card
from graphprior.priors.protocol import Prior
from graphprior.priors.training.cross_entropy import CrossEntropy
from graphprior.priors.training.score_matching import ScoreMatching
from graphprior.types import Matrix

Objective = CrossEntropy | ScoreMatching
OBJECTIVES: dict[str, type[Objective]] = {o.kind: o for o in (CrossEntropy, ScoreMatching)}


@dataclass(frozen=True)
class TrainingConfig:
    """Everything that, with the graphs, decides the weights.

    Training stops early when ``patience`` validations in a row found nothing better.
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
    """Where a training stands: all that a checkpoint must hold."""

    step: int
    network: nn.Module
    average: nn.Module
    best: nn.Module
    optimizer: torch.optim.AdamW
    history: list[dict[str, float]]
    loss: float = math.nan

    @property
    def best_loss(self) -> float:
        """Lowest validation loss so far."""
        return min((row["loss"] for row in self.history), default=math.inf)

    def is_done(self, config: TrainingConfig) -> bool:
        """All steps made, or no gain for long."""
        losses = [row["loss"] for row in self.history]
        waited = len(losses) - 1 - losses.index(min(losses)) if losses else 0
        return self.step >= config.steps or waited >= config.patience


def new_state(config: TrainingConfig, device: str | torch.device = "cpu") -> TrainingState:
    """Untrained networks; their weights depend on the seed alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        network = config.objective.build().to(device)
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
    """Training and validation graphs; at least one of each."""
    order = np.random.default_rng(config.seed).permutation(len(graphs))
    held = min(max(1, round(config.validation_share * len(graphs))), 100, len(graphs) - 1)
    return [graphs[g] for g in order[held:]], [graphs[g] for g in order[:held]]


@torch.no_grad()
def _update_average(state: TrainingState, decay: float) -> None:
    # Early on a long average would remember the untrained weights.
    decay = min(decay, (1 + state.step) / (10 + state.step))
    for mean, value in zip(state.average.parameters(), state.network.parameters(), strict=True):
        mean.lerp_(value, 1 - decay)


def train(
    graphs: Sequence[Matrix] | Examples, config: TrainingConfig, state: TrainingState | None = None
) -> Iterator[TrainingState]:
    """Yield the state after every step from where it stands until it is done.

    It is one object, updated in place. ``state.best`` is the averaged network
    with the lowest validation loss.
    """
    state = state or new_state(config)
    if not isinstance(graphs, Examples):
        graphs = GraphSet(*split(check_graphs(graphs), config), config.batch)
    held_out = graphs.held_out(config.seed)
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
            row = config.objective.validate(state.average, held_out, config.seed)
            if not np.isfinite(row["loss"]):
                raise GraphPriorError(
                    f"the loss is {row['loss']} after {state.step} steps: training diverged; "
                    f"lower learning_rate (it is {config.learning_rate:g})"
                )
            if row["loss"] < state.best_loss:
                state.best.load_state_dict(state.average.state_dict())
            state.history.append({"step": state.step, **row})
        yield state


def fit_prior(
    graphs: str | Path | Iterable[Any],
    config: TrainingConfig | None = None,
    device: str | torch.device = "cpu",
    progress: Callable[[int, int], None] | None = None,
) -> Prior:
    """Learn a prior from example graphs of any sizes.

    ``graphs`` is a file or folder of graphs, or a collection of adjacency
    matrices or of networkx, igraph or PyTorch Geometric graphs.
    """
    config = config or TrainingConfig()
    matrices = check_graphs(as_graphs(graphs))
    state = new_state(config, device)
    for _ in train(matrices, config, state):
        if progress is not None:
            progress(state.step, config.steps)
    prior = config.objective.prior(state.best)
    source = Path(graphs).name if isinstance(graphs, str | Path) else "given to fit_prior"
    facts = describe_graphs(matrices, source, {})
    prior.card = training_card(
        config.objective.kind, facts, "graphprior.fit_prior", asdict(config), state.network,
        state.history,
    )  # fmt: skip
    return prior
