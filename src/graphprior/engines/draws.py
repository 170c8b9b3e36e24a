"""Graphs and precision matrices from the posterior, together."""

from __future__ import annotations

import numpy as np

from graphprior.engines.posterior import Reasons
from graphprior.evidence.chains import Drawn, codes
from graphprior.evidence.evidence import Evidence
from graphprior.priors.exact import LearnedRate
from graphprior.priors.protocol import EvidencePrior
from graphprior.types import Graphs, Matrix

# Sweeps between two draws of one chain, as a share of those that a run keeps; and those that
# strengths need where the graph is given.
APART, GIVEN = 0.1, 20


def draw_together(
    evidence: Evidence,
    prior: EvidencePrior,
    reasons: Reasons,
    samples: Graphs,
    count: int,
    rng: np.random.Generator,
) -> tuple[Graphs, Matrix]:
    """``count`` graphs and precision matrices (count, n, n), these in the units of the variables.

    Where there are ``samples`` each graph is one of them, and its strengths are drawn. Otherwise
    pairs have the prior log-odds that ``reasons`` tell, and the rate of edges is drawn where the
    prior leaves it to the data.
    """
    chains, scale = evidence.chains, np.outer(evidence.units, evidence.units)
    here, drawn = list(chains.states), []
    with_rate = isinstance(prior, LearnedRate)
    log_odds = reasons.belief if with_rate else reasons.prior + reasons.hidden + reasons.belief
    for c in range(count):
        at = c % len(here)
        if len(samples):
            A = samples[rng.integers(len(samples))].astype(np.float64)
            start = Drawn(np.eye(evidence.n), A > 0, here[at].slab)
            one, _ = chains.draw(rng, start, log_odds, False, GIVEN, codes(A))
        else:
            sweeps = max(int(APART * chains.sweeps), 10)
            one, _ = chains.draw(rng, here[at], log_odds, with_rate, sweeps)
        here[at] = one
        drawn.append(one)
    graphs = np.array([one.edges for one in drawn], dtype=np.uint8)
    return graphs, np.array([one.Theta for one in drawn]) * scale
