"""Gibbs sampling of whole graphs from prior conditionals and data.

A chain starts from a graph that the data tell together with what the prior says of each
pair (chains.py). It is drawn anew a few pairs at a time, each given all drawn so far. Then
sweeps redraw the pairs in random blocks: from what the prior says with the rest known, and
from the data given the strengths of all other pairs, which are drawn along. Blocks of one
pair are exact; in larger ones the prior is asked once for the whole block, which saves passes
of the prior. M chains are one batch; each has its own generator.

Where pairs tell each other nothing but how common edges are, the prior need not be asked:
the rate is drawn too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from arviz_stats.base.array import array_stats

from graphprior.engines.direct import hidden_log_odds, reason
from graphprior.engines.facts import GibbsFacts
from graphprior.engines.posterior import Posterior, Reasons, Trace, chains_interval
from graphprior.errors import GraphPriorError, check_count
from graphprior.evidence.chains import Drawn
from graphprior.evidence.columns import ABSENT, EDGE, UNKNOWN
from graphprior.evidence.evidence import Evidence
from graphprior.graphs.matrices import pairs, unknown_mask
from graphprior.priors.average import AveragedPrior
from graphprior.priors.exact import LearnedRate
from graphprior.priors.protocol import EvidencePrior, Prior, certain_log_odds, needs_evidence_prior
from graphprior.problem.problem import Problem
from graphprior.types import Matrix, Progress, Vector

States = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Sweeps:
    """How long a chain runs.

    ``reveal`` passes draw its first graph, then ``burn_in`` sweeps are thrown
    away and ``keep`` are kept, each in ``blocks`` passes. None draws one pair at
    a time: exact, and slow.
    """

    reveal: int | None = 8
    burn_in: int = 1
    keep: int = 4
    blocks: int | None = 4

    def __post_init__(self) -> None:
        given = [count for count in (self.reveal, self.blocks) if count is not None]
        if min(*given, self.keep, self.burn_in + 1, 1) < 1:
            raise GraphPriorError(f"{self}: expected at least one pass, block and kept sweep")

    def passes(self, m: int) -> int:
        """Passes of the prior for m unknown pairs, those of `reason` aside."""
        reveal, blocks = (min(count or m, m) for count in (self.reveal, self.blocks))
        return reveal + (self.burn_in + self.keep) * blocks


@dataclass(frozen=True)
class Gibbs:
    """Graphs drawn from the posterior, each by a chain of its own.

    Parameters
    ----------
    draws : int
        Number M of graphs.
    sweeps : Sweeps or None
        How long each chain runs. None: the usual, and one pair at a time where the prior forbids
        some graphs.
    """

    draws: int = 10
    sweeps: Sweeps | None = None
    plugs_in: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_count("draws", self.draws)
        if not isinstance(self.sweeps, Sweeps | None):
            raise GraphPriorError(f"sweeps = {self.sweeps!r}: expected Sweeps(...) or None")

    def __call__(
        self, problem: Problem, prior: Prior | None, data: Any, rng: np.random.Generator,
        device: str = "cpu", progress: Progress | None = None,
    ) -> Posterior:  # fmt: skip
        """The posterior."""
        return sample(
            problem.known, needs_evidence_prior(prior, "gibbs"), data, rng, self.draws,
            self.sweeps, not problem.unknown_at_random, device, progress, problem.belief,
        )  # fmt: skip


ONE_BY_ONE = Sweeps(reveal=None, blocks=None)
TOLD_FROM = 10  # sweeps kept
# Sweeps over strengths for each block, and where the prior is not asked.
STRENGTH_SWEEPS, FREE_SWEEPS = 5, 25
STARTS_APART = 8  # starts are this share of a run of the evidence's chains apart


class _Chains:
    """M graphs that share what is known, and the draws that change them."""

    def __init__(
        self,
        known: Matrix,
        prior: EvidencePrior,
        evidence: Evidence | None,
        told: Matrix,
        rngs: list[np.random.Generator],
        sweeps: Sweeps | None,
        device: str | torch.device,
    ) -> None:
        n = len(known)
        self.sweeps = sweeps or (Sweeps() if prior.allows_all_graphs else ONE_BY_ONE)
        rows, cols = pairs(n)
        unknown = unknown_mask(known)[rows, cols]
        self.rows, self.cols = rows[unknown], cols[unknown]
        self.certain = certain_log_odds(known)
        self.prior, self.evidence, self.rngs, self.device = prior, evidence, rngs, device
        self.told = told[self.rows, self.cols]
        self.a: States = np.zeros((len(rngs), len(self.rows)), dtype=bool)
        self.drawn: list[Drawn] = []

    @property
    def with_rate(self) -> bool:
        """Whether the rate of edges is drawn instead of asking the prior."""
        return isinstance(self.prior, LearnedRate) and self.evidence is not None

    @property
    def passes(self) -> int:
        """Passes of the prior."""
        return 0 if self.with_rate else self.sweeps.passes(len(self.rows))

    def reveal(self, chosen: States, is_known: States) -> None:
        """Draw the ``chosen`` pairs (M, m) given those known and what the data say of the rest."""
        log_bf = self._conditional()
        self._change(chosen, self._ask(is_known, self.told + log_bf), log_bf)

    def redraw(self, block: States) -> Vector:
        """Draw the pairs of a block (M, m) given the rest; their probabilities (M, m)."""
        log_bf = self._conditional()
        return self._change(block, self._ask(~block, self.told + log_bf), log_bf)

    def _change(self, block: States, eta: Vector, log_bf: Vector) -> Vector:
        """Draw a block whose pairs have log-odds ``eta``, of which the data's are ``log_bf``."""
        if self.evidence is not None:
            return self._sweep(block, eta - log_bf, STRENGTH_SWEEPS)
        p: Vector = 1 / (1 + np.exp(-np.clip(eta, -40, 40)))
        u = np.stack([rng.random(len(self.rows)) for rng in self.rngs])
        self.a = np.where(block, u < p, self.a)
        return p

    def start(self, reasons: Reasons) -> None:
        """Strengths, and graphs, from where the chains of the evidence come by, sweeps apart.

        Those take pairs as independent given what the prior says of each.
        """
        if self.evidence is None:
            return
        chains, here = self.evidence.chains, list(self.evidence.chains.states)
        log_odds = reasons.belief if self.with_rate else reasons.posterior - reasons.data
        for m, rng in enumerate(self.rngs):
            at = m % len(here)
            sweeps = max(chains.sweeps // STARTS_APART, 1)
            here[at], _ = chains.draw(rng, here[at], log_odds, self.with_rate, sweeps)
            self.drawn.append(here[at])
        self.a = np.stack([drawn.edges[self.rows, self.cols] for drawn in self.drawn])

    def freely(self) -> Vector:
        """Sweeps over all pairs with the rate of edges; their probabilities (M, m)."""
        assert self.evidence is not None
        belief, p = self._matrix(self.told), np.zeros(self.a.shape)
        for m, rng in enumerate(self.rngs):
            self.drawn[m], draws = self.evidence.chains.draw(
                rng, self.drawn[m], belief, True, FREE_SWEEPS
            )
            p[m] = draws.probabilities[self.rows, self.cols]
            self.a[m] = self.drawn[m].edges[self.rows, self.cols]
        return p

    def _sweep(self, block: States, log_odds: Vector, sweeps: int) -> Vector:
        """Draw strengths, and the pairs of a block with these prior log-odds (M, m)."""
        assert self.evidence is not None
        chains, p = self.evidence.chains, np.zeros(self.a.shape)
        for m, rng in enumerate(self.rngs):
            free = chains.free.copy()
            code = np.where(block[m], UNKNOWN, np.where(self.a[m], EDGE, ABSENT))
            free[self.rows, self.cols] = free[self.cols, self.rows] = code
            told = self._matrix(log_odds[m])
            self.drawn[m], draws = chains.draw(rng, self.drawn[m], told, False, sweeps, free)
            p[m] = draws.probabilities[self.rows, self.cols]
            self.a[m] = self.drawn[m].edges[self.rows, self.cols]
        return p

    def _ask(self, is_known: States, own: Vector) -> Vector:
        """Posterior log-odds (M, m) by the prior, from what each pair's own evidence is."""
        ell = np.where(is_known, np.where(self.a, np.inf, -np.inf), own)
        full = np.repeat(self.certain[None], len(self.a), axis=0)
        full[:, self.rows, self.cols] = full[:, self.cols, self.rows] = ell
        tensor = torch.as_tensor(full, dtype=torch.float64, device=self.device)
        eta: Vector = self.prior.posterior_logits(tensor).cpu().numpy()[:, self.rows, self.cols]
        # A known pair's log-odds are endless: only those of the others are of use.
        return np.where(is_known, 0.0, eta)

    def _matrix(self, values: Vector) -> Matrix:
        """Values of the unknown pairs (m,) as an (n, n) matrix."""
        A = np.zeros_like(self.certain)
        A[self.rows, self.cols] = A[self.cols, self.rows] = values
        return A

    def blocks(self, count: int) -> list[States]:
        """Every chain's pairs in random order, cut into ``count`` parts."""
        m = len(self.rows)
        order = np.stack([rng.permutation(m) for rng in self.rngs])
        masks = []
        for part in np.array_split(np.arange(m), min(count, m)) if m else []:
            mask = np.zeros(self.a.shape, dtype=bool)
            np.put_along_axis(mask, order[:, part], True, axis=1)
            masks.append(mask)
        return masks

    def _conditional(self) -> Vector:
        """The data's log Bayes factors of all pairs given each chain's other pairs (M, m)."""
        if self.evidence is None:
            return np.zeros(self.a.shape)
        chains = self.evidence.chains
        each = [chains.conditional_log_bf(drawn)[self.rows, self.cols] for drawn in self.drawn]
        return np.stack(each)


def sample(
    known: Matrix,
    prior: EvidencePrior,
    evidence: Evidence | None,
    rng: np.random.Generator,
    M: int = 10,
    sweeps: Sweeps | None = None,
    by_value: bool = True,
    device: str | torch.device = "cpu",
    progress: Progress | None = None,
    belief: Matrix | None = None,
) -> Posterior:
    """M graphs, and edge probabilities averaged over all kept draws."""
    reasons, evidence, asked = reason(
        known, prior, evidence, by_value=by_value, device=device, belief=belief
    )
    # Each chain follows one prior: where several are averaged they share the chains.
    shares = prior.share_out(M) if isinstance(prior, AveragedPrior) else [M]
    rngs, groups, weights = rng.spawn(M), [], []
    for each, weight, hidden, count in zip(
        asked.priors, asked.weights, asked.hidden, shares, strict=True
    ):
        if count:
            weights.append(weight)
            told = np.where(unknown_mask(known), hidden, 0.0) + reasons.belief
            own, rngs = rngs[:count], rngs[count:]
            groups.append(_Chains(known, each, evidence, told, own, sweeps, device))
    drawn_with, trace = _run_all(groups, reasons, progress)
    parts = np.split(drawn_with, np.cumsum([len(chains.a) for chains in groups])[:-1])
    mean, by_chain = _weighed(parts, weights)
    P = _fill(known, mean)
    low, high = (_fill(known, bound) for bound in chains_interval(by_chain))
    drawn = [a for chains in groups for a in chains.a]
    samples = np.stack([_fill(known, a.astype(float)) for a in drawn]).astype(np.uint8)
    r_hat, ess = _worst([convergence(part) for part in parts])
    diagnostics = GibbsFacts(
        passes=max(chains.passes for chains in groups),
        kept_sweeps=groups[0].sweeps.keep,
        hidden_log_odds=hidden_log_odds(reasons, unknown_mask(known)),
        r_hat=r_hat,
        ess=ess,
    )
    return Posterior(P, low, high, samples, diagnostics, reasons, evidence, trace)


def _weighed(
    parts: list[npt.NDArray[np.float64]], weights: list[float]
) -> tuple[Vector, npt.NDArray[np.float64]]:
    """The mean of the groups of chains by the weights of their priors (m,), and of chains (M, m).

    Chains differ from the mean by what they differ from their own group, whose priors say different
    things; where each is a group of its own that cannot be told, and they differ by both.
    """
    if len(parts) == 1:
        return parts[0].mean((0, 1)), parts[0].mean(1)
    share = np.array(weights) / sum(weights)
    groups = np.stack([part.mean((0, 1)) for part in parts])
    mean: Vector = share @ groups
    if all(len(part) < 2 for part in parts):
        return mean, mean + (groups - groups.mean(0))
    each = [part.mean(1) - own + mean for part, own in zip(parts, groups, strict=True)]
    return mean, np.concatenate(each)


def _worst(
    found: list[tuple[float | None, float | None]],
) -> tuple[float | None, float | None]:
    """R-hat of the group of chains that agrees least, and independent draws of all together."""
    r_hats = [r_hat for r_hat, _ in found if r_hat is not None]
    sizes = [size for _, size in found if size is not None]
    return max(r_hats, default=None), sum(sizes) if sizes else None


def _run_all(
    groups: list[_Chains], reasons: Reasons, progress: Progress | None
) -> tuple[npt.NDArray[np.float64], Trace]:
    """Probabilities with which each pair was last drawn (M, kept sweeps, m), and the trace."""
    steps = [chains.passes or chains.sweeps.burn_in + chains.sweeps.keep for chains in groups]
    done, found = 0, []

    def tell() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, sum(steps))

    for chains in groups:
        found.append(_run(chains, reasons, tell))
    drawn_with, trace = zip(*found, strict=True)
    return np.concatenate(drawn_with), np.concatenate(trace)


def _run(
    chains: _Chains, reasons: Reasons, tell: Callable[[], None]
) -> tuple[npt.NDArray[np.float64], Trace]:
    """The same of chains that follow one prior."""
    m, sweeps = len(chains.rows), chains.sweeps
    chains.start(reasons)
    if not chains.with_rate:
        is_known = np.zeros_like(chains.a)
        for block in chains.blocks(sweeps.reveal or m):
            chains.reveal(block, is_known)
            is_known |= block
            tell()
    kept, edges = [], [chains.a.sum(1)]
    for sweep in range(sweeps.burn_in + sweeps.keep):
        drawn_with = np.zeros(chains.a.shape)
        if chains.with_rate:
            drawn_with = chains.freely()
            tell()
        else:
            for block in chains.blocks(sweeps.blocks or m):
                drawn_with = np.where(block, chains.redraw(block), drawn_with)
                tell()
        edges.append(chains.a.sum(1))
        if sweep >= sweeps.burn_in:
            kept.append(drawn_with)
    return np.stack(kept, axis=1), np.stack(edges, axis=1)


def _fill(known: Matrix, values: Vector) -> Matrix:
    """``known`` with the unknown pairs given values."""
    rows, cols = pairs(len(known))
    unknown = np.isnan(known[rows, cols])
    A = np.nan_to_num(known)
    A[rows[unknown], cols[unknown]] = A[cols[unknown], rows[unknown]] = values
    return A


def convergence(trace: npt.NDArray[np.float64]) -> tuple[float | None, float | None]:
    """R-hat and effective sample size of the expected number of edges, over chains and sweeps.

    None where there are too few chains or sweeps to tell, or nothing varies. Of the few sweeps
    that the default keeps, R-hat says how they are alike, not whether chains agree.
    """
    edges = trace.sum(-1)
    if edges.shape[0] < 2 or edges.shape[1] < TOLD_FROM or np.ptp(edges) <= 1e-6:
        return None, None
    r_hat = float(array_stats.rhat(edges, chain_axis=0, draw_axis=1))
    return r_hat, float(array_stats.ess(edges, chain_axis=0, draw_axis=1))
