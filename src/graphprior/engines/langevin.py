"""Annealed Langevin sampling of graphs: Algorithm 1.

M chains are one batch. Each draws its noise from its own generator, so that a
batch gives what its chains would give alone. The sampler is a generator that
yields after every step; the caller stops it, shows progress, or keeps traces.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from graphprior.choices import LikelihoodName
from graphprior.engines.bootstrap import Bootstrap
from graphprior.engines.facts import LangevinFacts
from graphprior.engines.posterior import Posterior, Trace
from graphprior.errors import GraphPriorError, check_count
from graphprior.evidence.evidence import Evidence
from graphprior.evidence.marginal import MarginalLikelihood
from graphprior.evidence.plug_in import Likelihood, PlugInLikelihood
from graphprior.priors.noise import Schedule
from graphprior.priors.protocol import EvidencePrior, LogOdds, Prior
from graphprior.problem.problem import Problem
from graphprior.types import Matrix, Progress, Score


@dataclass(frozen=True)
class Langevin:
    """Graphs drawn by annealed Langevin dynamics, Algorithm 1 of the paper.

    Parameters
    ----------
    draws : int
        Number M of graphs, each from its own chain.
    likelihood : "plug-in" or "marginal"
        A precision matrix plugged in, as in the paper, or the strengths of edges integrated out.
    schedule : Schedule or None
        Levels of noise and steps; None: `Schedule.relaxed()`.
    bootstrap : Bootstrap or None
        Where nothing is known and a matrix is plugged in it fixes confident pairs first; elsewhere
        it is not used.
    """

    draws: int = 10
    likelihood: str = LikelihoodName.PLUG_IN
    schedule: Schedule | None = None
    bootstrap: Bootstrap | None = Bootstrap()  # noqa: RUF009 (frozen)

    def __post_init__(self) -> None:
        check_count("draws", self.draws)
        LikelihoodName.of("likelihood", self.likelihood)
        for name, kind in (("schedule", Schedule), ("bootstrap", Bootstrap)):
            value = getattr(self, name)
            if value is not None and not isinstance(value, kind):
                raise GraphPriorError(f"{name} = {value!r}: expected {kind.__name__}(...) or None")

    @property
    def plugs_in(self) -> bool:
        """Whether a precision matrix is plugged in."""
        return self.likelihood == LikelihoodName.PLUG_IN

    def __call__(
        self, problem: Problem, prior: Prior | None, data: Any, rng: np.random.Generator,
        device: str = "cpu", progress: Progress | None = None,
    ) -> Posterior:  # fmt: skip
        """The posterior."""
        likelihood: Likelihood | None = None
        if isinstance(data, Evidence):
            likelihood = MarginalLikelihood(data, device)
        elif data is not None:
            likelihood = PlugInLikelihood.create(data.Theta, data.S, data.k, device=device)
        return sample_graphs(
            problem.known, prior, likelihood, rng, self.draws, self.schedule, device, progress,
            problem.belief,
        )  # fmt: skip


class LangevinState(NamedTuple):
    """What a chain carries on: the noisy graphs (M, n, n)."""

    A_tilde: Tensor


class LangevinInfo(NamedTuple):
    """What a step tells beside: its noise level, and the chains with indefinite Theta_tilde."""

    sigma: float
    indefinite: Tensor


def total_score(*scores: Score) -> Score:
    """The score of a product of densities. LPost adds two, LPr and LL are one each. Eq. (24)."""

    def score(A_tilde: Tensor, sigma: float) -> Tensor:
        total = scores[0](A_tilde, sigma)
        for other in scores[1:]:
            total = total + other(A_tilde, sigma)
        return total

    return score


class UnknownPairs(NamedTuple):
    """The unknown pairs as index vectors, both ways round."""

    rows: Tensor
    cols: Tensor

    @classmethod
    def of(cls, known: Tensor) -> UnknownPairs:
        """The pairs whose entry of ``known`` is nan."""
        rows, cols = torch.nonzero(known.isnan().triu(1), as_tuple=True)
        return cls(rows, cols)

    def write(self, A_tilde: Tensor, a: Tensor) -> Tensor:
        """``A_tilde`` (M, n, n) with its unknown entries replaced by ``a`` (M, |U|)."""
        A_tilde = A_tilde.clone()
        A_tilde[:, self.rows, self.cols] = a
        A_tilde[:, self.cols, self.rows] = a
        return A_tilde


def _draw(rngs: Sequence[np.random.Generator], unknown: UnknownPairs) -> Tensor:
    z = np.stack([rng.standard_normal(len(unknown.rows)) for rng in rngs])
    return torch.as_tensor(z, device=unknown.rows.device)


def initial_state(
    known: Tensor, rngs: Sequence[np.random.Generator], sigma_1: float = 0.5
) -> LangevinState:
    """Known entries as they are; unknown ones N(0.5, sigma_1**2), one chain for each rng."""
    unknown = UnknownPairs.of(known)
    A_tilde = torch.nan_to_num(known).expand(len(rngs), -1, -1)
    return LangevinState(unknown.write(A_tilde, 0.5 + sigma_1 * _draw(rngs, unknown)))


def langevin_step(
    state: LangevinState, z: Tensor, score: Score, sigma: float, alpha: float, unknown: UnknownPairs
) -> LangevinState:
    """One step along the score, with noise ``z``; known entries never move. Eqs. (21), (23)."""
    slope = score(state.A_tilde, sigma)[:, unknown.rows, unknown.cols]
    a = state.A_tilde[:, unknown.rows, unknown.cols] + alpha * slope + (2 * alpha) ** 0.5 * z
    return LangevinState(unknown.write(state.A_tilde, a))


def annealed_langevin(
    score: Score,
    known: Tensor,
    schedule: Schedule,
    rngs: Sequence[np.random.Generator],
    likelihood: Likelihood | None = None,
    longest_step: float = float("inf"),
) -> Iterator[tuple[LangevinState, LangevinInfo]]:
    """All steps of Algorithm 1, from noise to nearly clean graphs.

    ``known`` (n, n) has 0, 1 and nan, and decides device and precision.
    ``likelihood`` is only watched, to count indefinite Theta_tilde. Steps are
    cut to ``longest_step``, beyond which a stiff score makes them overshoot.
    """
    unknown = UnknownPairs.of(known)
    state = initial_state(known, rngs, schedule.sigmas[0])
    calm = torch.zeros(len(rngs), dtype=torch.bool, device=known.device)
    for sigma, alpha, steps in schedule.levels(longest_step):
        for _ in range(steps):
            indefinite = likelihood.indefinite(state.A_tilde) if likelihood else calm
            z = _draw(rngs, unknown)
            state = langevin_step(state, z, score, sigma, alpha, unknown)
            yield state, LangevinInfo(sigma, indefinite)
        if not state.A_tilde.isfinite().all():
            raise GraphPriorError(
                f"a chain left all bounds at noise level {sigma:.3f}: "
                "use a smaller epsilon, or a larger floor of the likelihood"
            )


def project(A_tilde: Tensor) -> npt.NDArray[np.uint8]:
    """The nearest graphs: 1 where an entry is at least 0.5."""
    return (A_tilde >= 0.5).to(torch.uint8).cpu().numpy()


def _scores(
    known: Tensor, prior: Prior | None, likelihood: Likelihood | None, belief: Matrix | None
) -> tuple[list[Score], Likelihood | None]:
    """The scores to follow, and the likelihood among them that is to be watched.

    A prior that takes evidence is told the belief, and the data's log Bayes
    factors if there are any. To the score of another the belief adds a constant
    slope: times exp(belief a), an edge under Gaussian noise gains just those odds
    at every noise level, and entries move by belief sigma**2, which vanishes.
    """
    if prior is None and likelihood is None:
        raise GraphPriorError("neither prior nor likelihood was given: there is nothing to follow")
    if belief is None or not belief.any():
        told = None
    elif prior is None:
        raise GraphPriorError(
            "beliefs need a prior to be weighed against, and with use = 'data' and a precision "
            "matrix plugged in there is none: use 'both', or likelihood='marginal'"
        )
    else:
        told = torch.where(known.isnan(), torch.as_tensor(belief).to(known), 0.0)
    if isinstance(prior, EvidencePrior) and isinstance(likelihood, MarginalLikelihood):
        return [prior.score(known, _added(likelihood.log_bf, told))], None
    scores: list[Score] = [] if likelihood is None else [likelihood]
    if isinstance(prior, EvidencePrior):
        scores = [prior.score(known, None if told is None else _added(None, told)), *scores]
    elif prior is not None:
        tilt = [] if told is None else [_constant(told)]
        scores = [prior.score(known), *tilt, *scores]
    return scores, likelihood


def _added(log_odds: LogOdds | None, told: Tensor | None) -> LogOdds:
    """Log-odds at a noisy graph, and what is told of it whatever it is."""

    def both(A_tilde: Tensor) -> Tensor:
        first = torch.zeros_like(A_tilde) if log_odds is None else log_odds(A_tilde)
        return first if told is None else first + told

    return both


def _constant(slope: Tensor) -> Score:
    def score(A_tilde: Tensor, sigma: float) -> Tensor:
        return slope.expand_as(A_tilde)

    return score


def sample_graphs(
    known: Matrix,
    prior: Prior | None,
    likelihood: Likelihood | None,
    rng: np.random.Generator,
    M: int = 10,
    schedule: Schedule | None = None,
    device: str | torch.device = "cpu",
    progress: Progress | None = None,
    belief: Matrix | None = None,
) -> Posterior:
    """M graphs from prior and likelihood (LPost), prior (LPr) or likelihood (LL) alone.

    ``belief`` (n, n) are an expert's log-odds of unknown pairs; it needs a prior.
    """
    schedule = schedule or Schedule.relaxed()
    known_t = torch.tensor(known, dtype=torch.float64, device=resolve_device(device))
    scores, likelihood = _scores(known_t, prior, likelihood, belief)
    curvature = 0.0 if likelihood is None else likelihood.curvature(known_t.isnan())
    longest_step = 1 / curvature if curvature > 0 else float("inf")
    levels = {level.sigma: level for level in schedule.levels(longest_step)}
    ends = list(accumulate(level.steps for level in levels.values()))
    by_level = dict.fromkeys(levels, 0.0)
    at_start, edges = 0.0, []
    chain = annealed_langevin(
        total_score(*scores), known_t, schedule, rng.spawn(M), likelihood, longest_step
    )
    for done, (state, info) in enumerate(chain, start=1):
        share = float(info.indefinite.double().mean())
        at_start = share if done == 1 else at_start
        by_level[info.sigma] += share / levels[info.sigma].steps
        if done in ends:
            edges.append(_unknown_edges(state.A_tilde, known_t))
        if progress is not None:
            progress(done, ends[-1])
    diagnostics = LangevinFacts(
        levels=schedule.L,
        steps=ends[-1],
        epsilon=schedule.epsilon,
        levels_with_shorter_steps=sum(
            schedule.step_size(sigma) > longest_step for sigma in schedule.sigmas
        ),
        indefinite_at_start=at_start,
        indefinite_by_level={f"{sigma:.3f}": share for sigma, share in by_level.items()},
        indefinite_share=float(np.mean(list(by_level.values()))),
    )
    return Posterior.from_samples(project(state.A_tilde), diagnostics, np.stack(edges, axis=1))


def _unknown_edges(A_tilde: Tensor, known: Tensor) -> Trace:
    """Edges among the unknown pairs of each chain's nearest graph."""
    unknown = UnknownPairs.of(known)
    return (A_tilde[:, unknown.rows, unknown.cols] >= 0.5).sum(1).cpu().numpy()


def resolve_device(device: str | torch.device) -> torch.device:
    """A torch device that is really there."""
    try:
        chosen = torch.device(device)
        torch.empty(0, dtype=torch.float64, device=chosen)  # chains need double precision
    except (RuntimeError, AssertionError, TypeError) as error:
        first = str(error).splitlines()[0]
        raise GraphPriorError(f"device {str(device)!r} cannot be used: {first}") from None
    return chosen
