"""Drawing whole graphs from a prior: Algorithm 1 with nothing known and no data."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import torch

from graphprior.engines.langevin import Progress, sample_graphs
from graphprior.errors import GraphPriorError
from graphprior.graphs import Matrix, nothing_known
from graphprior.noise import Schedule
from graphprior.prior.protocol import Prior
from graphprior.prior.resolve import refuse_too_large

# The paper's schedule starts where the sum of many noisy pairs still tells the density of a graph
# and gives each level a third of its relaxation time: it remembers a start at density one half.
# Drawing from the prior alone starts uninformed and takes longer steps.
GENERATION = Schedule.geometric(L=40, sigma_1=2.0, sigma_L=0.1, T=80, epsilon=5e-4)


def draw_graphs(
    prior: Prior,
    sizes: Sequence[int],
    seed: int = 0,
    schedule: Schedule = GENERATION,
    device: str | torch.device = "cpu",
    progress: Progress | None = None,
) -> list[Matrix]:
    """One graph of each size, smallest first; graphs of one size are one batch."""
    if not len(sizes) or min(sizes) < 2:
        raise GraphPriorError(f"sizes {list(sizes)[:5]}: expected at least one, each from 2 on")
    groups = sorted(set(sizes))
    graphs: list[Matrix] = []
    for g, n in enumerate(groups):
        M = list(sizes).count(n)
        refuse_too_large(n, M, prior)
        report = None if progress is None else partial(_report, progress, g, len(groups))
        rng = np.random.default_rng([seed, n])
        drawn = sample_graphs(nothing_known(n), prior, None, rng, M, schedule, device, report)
        graphs += list(drawn.samples.astype(np.float64))
    return graphs


def _report(progress: Progress, group: int, groups: int, done: int, total: int) -> None:
    progress(group * total + done, groups * total)
