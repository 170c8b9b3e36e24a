"""Drawing whole graphs from a prior: nothing known, no data.

A prior that answers evidence reveals a graph a few pairs at a time; one that
gives scores runs Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch

from graphprior.engines.gibbs import ONE_BY_ONE, Sweeps, sample
from graphprior.engines.langevin import sample_graphs
from graphprior.engines.posterior import Posterior
from graphprior.errors import GraphPriorError
from graphprior.graphs.matrices import nothing_known
from graphprior.priors.load import refuse_too_large
from graphprior.priors.noise import Schedule
from graphprior.priors.protocol import EvidencePrior, Prior
from graphprior.priors.store import load_prior
from graphprior.types import Matrix, Progress

# The paper's schedule starts where the sum of many noisy pairs still tells the density of a graph
# and gives each level a third of its relaxation time: it remembers a start at density one half.
# Drawing from the prior alone starts uninformed and takes longer steps.
GENERATION = Schedule.geometric(L=40, sigma_1=2.0, sigma_L=0.1, T=80, epsilon=5e-4)

# Early pairs are drawn with little to go by; one sweep sets them right by the later ones.
REVEAL = Sweeps(reveal=60, burn_in=0, keep=1, blocks=30)


def draw_graphs(
    prior: Prior | str | Path,
    sizes: Sequence[int],
    seed: int = 0,
    schedule: Schedule | None = None,
    device: str | torch.device = "cpu",
    progress: Progress | None = None,
) -> list[Matrix]:
    """One graph of each size, smallest first; graphs of one size are one batch.

    ``prior`` may be a name or file. ``schedule`` makes it Algorithm 1 for any prior.
    """
    if isinstance(prior, str | Path):
        prior = load_prior(prior)
    if not len(sizes) or min(sizes) < 2:
        raise GraphPriorError(f"sizes {list(sizes)[:5]}: expected at least one, each from 2 on")
    groups = sorted(set(sizes))
    nodes = getattr(prior, "nodes", None)
    if nodes is not None and groups != [nodes]:
        raise GraphPriorError(f"the prior is about {nodes} nodes, not {groups[:5]}")
    graphs: list[Matrix] = []
    for g, n in enumerate(groups):
        M = list(sizes).count(n)
        refuse_too_large(n, M, prior)
        report = None if progress is None else partial(_report, progress, g, len(groups))
        rng = np.random.default_rng([seed, n])
        drawn = _draw(prior, n, M, rng, schedule, device, report)
        graphs += list(drawn.samples.astype(np.float64))
    return graphs


def _draw(
    prior: Prior,
    n: int,
    M: int,
    rng: np.random.Generator,
    schedule: Schedule | None,
    device: str | torch.device,
    report: Progress | None,
) -> Posterior:
    if isinstance(prior, EvidencePrior) and schedule is None:
        sweeps = REVEAL if prior.allows_all_graphs else ONE_BY_ONE
        return sample(nothing_known(n), prior, None, rng, M, sweeps, False, str(device), report)
    schedule = schedule or GENERATION
    return sample_graphs(nothing_known(n), prior, None, rng, M, schedule, device, report)


def _report(progress: Progress, group: int, groups: int, done: int, total: int) -> None:
    progress(group * total + done, groups * total)
