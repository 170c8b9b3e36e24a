"""Training within a time: what to start from, and how many steps.

A step and a validation are timed on weights that are thrown away. Where
there is a choice of what to start from, each start is tried for a tenth of the
time. Then the number of steps is chosen and fixed: what follows is a training
like any other, which the same settings repeat exactly.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from graphprior.errors import GraphPriorError
from graphprior.priors.networks.evidence_network import EvidenceNetworkPrior
from graphprior.priors.training.cross_entropy import VALIDATION, CrossEntropy, validation_repeats
from graphprior.priors.training.training import (
    Examples,
    TrainingConfig,
    TrainingState,
    as_examples,
    new_state,
    split,
    train,
    validate,
)
from graphprior.types import Matrix

Clock = Callable[[], float]

TRIAL = 0.1  # of the time, for each start that is tried
LATEST = 1.5  # times as long as it should: a trial ends early where the machine became slow
TIMING = 0.02  # of the time, at most this many seconds, to see how long a step takes
LONGEST_TIMING = 2.0
VALIDATIONS = (4, 20)  # fewest and most
VALIDATION_TIME = 0.15  # of the time, where the fewest take no more
FEWEST_HELD_OUT = 3
BATCH_PAIRS, BATCHES = 3000, (2, 16)
LONGEST = 1e5  # minutes
PASSES = 90  # of the network, to draw graphs; a third of a step each
DRAWING_TIME = 0.1  # of the time, at most, that is kept for drawing


@dataclass(frozen=True)
class Start:
    """What a training may start from: a prior with its name, or nothing."""

    name: str | None = None
    prior: EvidenceNetworkPrior | None = None

    def settings(self, config: TrainingConfig) -> TrainingConfig:
        """The settings for this start: the network has the size of the prior's."""
        if self.prior is None:
            return config
        assert isinstance(config.objective, CrossEntropy)
        objective = replace(config.objective, network=self.prior.network.config)
        return replace(config, start=self.name, objective=objective)

    def state(self, config: TrainingConfig, device: str) -> TrainingState:
        """Where a training from here begins."""
        return new_state(config, device, None if self.prior is None else self.prior.network)


@dataclass(frozen=True)
class Measured:
    """A start before training: its validation, and seconds of a step and of a validation.

    The validation is on ``held_out`` graphs.
    """

    start: Start
    row: dict[str, float]
    step: float
    validation: float
    held_out: int

    def fit(self, config: TrainingConfig, seconds: float) -> TrainingConfig:
        """As many steps as fit, with some validations among them."""
        fewest, most = VALIDATIONS
        count = int(VALIDATION_TIME * seconds / max(self.validation, 1e-9))
        count = min(max(count, fewest), most)
        steps = max(fewest, int((seconds - count * self.validation) / max(self.step, 1e-9)))
        every = math.ceil(steps / count)
        return replace(config, steps=steps, validate_every=every)


@dataclass(frozen=True)
class Plan:
    """What was chosen: settings, the state before the first step, and what was measured."""

    config: TrainingConfig
    state: TrainingState
    chosen: Measured


def check_minutes(minutes: float) -> float:
    """A time in which something can be learned."""
    if not 0 < minutes <= LONGEST:
        raise GraphPriorError(
            f"minutes = {minutes:g}: expected a number above 0 and up to {LONGEST:g}"
        )
    return minutes


def usual_batch(graphs: Sequence[Matrix]) -> int:
    """Graphs in a step: fewer where they are large, so that steps stay short."""
    mean = sum(len(A) * (len(A) - 1) / 2 for A in graphs) / len(graphs)
    fewest, most = BATCHES
    return min(max(round(BATCH_PAIRS / mean), fewest), most)


def plan(
    graphs: Sequence[Matrix],
    config: TrainingConfig,
    starts: Sequence[Start],
    device: str = "cpu",
    clock: Clock = time.monotonic,
    on_measured: Callable[[list[Measured]], None] | None = None,
    draws: int = 0,
) -> Plan:
    """Choose start and number of steps for ``config.minutes``; ``config`` has the rest.

    ``on_measured`` is called once, within the first seconds. ``draws`` is how many graphs will
    be drawn when training is done: that takes time too.
    """
    began = clock()
    seconds = 60 * check_minutes(config.minutes or 0.0)
    times = [_time_step(graphs, config, start, device, seconds, clock) for start in starts]
    config = hold_out(graphs, config, max(times), seconds)
    examples = as_examples(graphs, config)
    measured = [
        _measure(examples, config, start, device, step, clock)
        for start, step in zip(starts, times, strict=True)
    ]
    if on_measured is not None:
        on_measured(measured)
    chosen, tried = measured[0], dict[str, float]()
    if len(measured) > 1:
        chosen, tried = _try(examples, config, measured, device, seconds, clock)
    drawing = chosen.step / config.batch * PASSES / 3 * draws
    left = seconds - (clock() - began) - min(drawing, DRAWING_TIME * seconds)
    settings = chosen.fit(chosen.start.settings(config), left)
    state = chosen.start.state(settings, device)
    state.tried = tried
    if chosen.start.name is not None:
        state.history.append({"step": 0, **chosen.row})
    return Plan(settings, state, chosen)


def hold_out(
    graphs: Sequence[Matrix], config: TrainingConfig, step: float, seconds: float
) -> TrainingConfig:
    """The settings with fewer graphs held out where validating on them would take too long.

    A pair in a validation takes a third of its time in a step, once for each of its questions.
    """
    _, held = split(graphs, config)
    pairs = [len(A) * (len(A) - 1) / 2 for A in held]
    in_step = config.batch * sum(pairs) / len(pairs)
    one = step * sum(pairs) * validation_repeats(held) * len(VALIDATION) / 3 / in_step
    most = VALIDATION_TIME * seconds / VALIDATIONS[0]
    if one <= most or len(held) <= FEWEST_HELD_OUT:
        return config
    return replace(config, held_out=max(FEWEST_HELD_OUT, int(len(held) * most / one)))


def _time_step(
    graphs: Sequence[Matrix],
    config: TrainingConfig,
    start: Start,
    device: str,
    seconds: float,
    clock: Clock,
) -> float:
    """Seconds of a step, of weights that are thrown away; the first ones are slower.

    The middle one of some steps: a machine that is busy for a moment does not matter.
    """
    config = replace(start.settings(config), steps=10**9, validate_every=10**9)
    state = start.state(config, device)
    state.history.append({"step": 0, "loss": math.inf})  # no validation before the first step
    times, began = [clock()], clock()
    for _ in train(graphs, config, state):
        times.append(clock())
        made, passed = len(times) - 1, times[-1] - began
        if (made >= 3 and passed > LONGEST_TIMING) or (made >= 8 and passed > TIMING * seconds):
            break
    return float(np.median(np.diff(times)[1:]))


def _measure(
    examples: Examples,
    config: TrainingConfig,
    start: Start,
    device: str,
    step: float,
    clock: Clock,
) -> Measured:
    """Validate a start before its first step."""
    config = start.settings(config)
    state, held_out = start.state(config, device), examples.held_out(config.seed)
    began = clock()
    validate(config, state, held_out)
    row = {name: value for name, value in state.history[0].items() if name != "step"}
    return Measured(start, row, step, clock() - began, len(held_out))


def _try(
    examples: Examples,
    config: TrainingConfig,
    measured: Sequence[Measured],
    device: str,
    seconds: float,
    clock: Clock,
) -> tuple[Measured, dict[str, float]]:
    """Train a little from each, nothing first; a prior that is better untrained needs no trial."""
    tried: dict[str, float] = {}
    for one in sorted(measured, key=lambda m: m.start.name is not None):
        name = one.start.name
        loss = one.row["loss"]
        if name is None or loss >= min(tried.values(), default=-math.inf):
            short = one.fit(one.start.settings(config), TRIAL * seconds)
            state = one.start.state(short, device)
            if name is not None:
                state.history.append({"step": 0, **one.row})
            latest = clock() + LATEST * TRIAL * seconds
            for _ in train(examples, short, state):
                if clock() > latest and not state.is_done(short):
                    validate(short, state, examples.held_out(short.seed))
                    break
            loss = state.best_loss
        tried[name or "nothing"] = loss
    best = min(measured, key=lambda m: tried[m.start.name or "nothing"])
    return best, tried
