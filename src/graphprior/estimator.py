"""The estimator: observations and what is known in, edge probabilities out."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from graphprior._answers import Answers
from graphprior._parameters import check_parameters, generator, refuse_misplaced
from graphprior.diagnosis.notes import weak_ground
from graphprior.engines.bootstrap import fix_confident_pairs
from graphprior.engines.gibbs import Sweeps
from graphprior.engines.posterior import (
    Posterior,
    default_threshold,
    share_interval,
    threshold_estimate,
)
from graphprior.engines.run import Settings, run
from graphprior.errors import GraphPriorWarning
from graphprior.evidence.evidence import Evidence, data_evidence, refuse_coupled
from graphprior.evidence.precision import PrecisionEstimate, constrained_mle
from graphprior.evidence.slab import rate_prior
from graphprior.observations.series import row_facts
from graphprior.priors.exact import LearnedRate
from graphprior.priors.fit_check import PriorGain, check_prior
from graphprior.priors.load import refuse_too_large, resolve_prior
from graphprior.priors.noise import Schedule
from graphprior.priors.protocol import EvidencePrior, Prior
from graphprior.priors.tempered import TemperedPrior
from graphprior.problem.problem import Problem
from graphprior.types import Matrix

Variant = Literal["LPost", "LPr", "LL"]


class PartialGGM(Answers, BaseEstimator):  # type: ignore[misc]
    """Estimate the graph of a Gaussian graphical model of which part is known.

    Parameters
    ----------
    prior : None, str, path or prior
        Name of a shipped prior, a .safetensors file, or a prior object. None:
        independent edges, at a rate that is drawn with the strengths; known pairs count for it
        as 40 pairs at most.
    density : float or None
        Share of the unknown pairs that are edges, where you know it and give no prior.
    engine : "direct", "gibbs" or "langevin"
        A few passes of the prior and nothing drawn, Gibbs, or Algorithm 1.
    likelihood : "marginal", "plug-in" or None
        Strength of an edge integrated out, or as in the paper; only "langevin"
        has the choice, and takes "plug-in" for None.
    variant : "LPost", "LPr" or "LL"
        Follow prior and likelihood, the prior alone, or the likelihood alone.
    hidden : "by value" or "at random"
        Whether the share of edges among the unknown pairs is estimated; not by "langevin".
    temper : bool
        Believe the prior only as far as it predicts pairs that it is not shown.
    slack : float or None
        Size of partial correlations that are no edges: real data have no exact zeros.
        None estimates it from the pairs known to be absent; 0 is the exact model.
    n_samples : int
        Number M of graphs drawn, each by its own chain.
    threshold : float or None
        tau: an edge is reported where its probability reaches it. Eq. (11).
        None takes 0.5, or `default_threshold` with the plug-in likelihood.
    schedule : Schedule or None
        Levels and steps of "langevin". None takes `Schedule.relaxed()`.
    sweeps : Sweeps or None
        Passes and sweeps of "gibbs".
    p_m : float or None
        Nothing known, plug-in likelihood: margin of the bootstrap that fixes
        confident pairs first (Eqs. 30-31). None goes without it.
    lam : float or None
        Penalty of the bootstrap's lasso on the correlation scale; None: sqrt(log n / k).
    n_bootstrap : int
        Number B of bootstrap samples.
    missing : "refuse", "em" or "pairwise"
        What to do about nan in X (docs/missing-and-beliefs.md).
    rows : "independent" or "series"
        Rows of a series, in the order of time, count as fewer the more they depend on each other.
    assume_centered : bool
        Take the variables as having mean zero.
    device : str
        Where the networks run, for example "cpu" or "cuda".
    random_state : int, Generator, RandomState or None
        Same seed, same answer.
    progress : callable or None
        Called with (steps done, steps in all).

    Attributes
    ----------
    edge_probabilities_ : (n, n) array
        Known pairs have their value, 0 or 1. Pairs that the bootstrap fixed have its share.
    edge_intervals_ : (2, n, n) array
        Bounds (95%) of what they would be with endless draws, from those drawn ("direct" draws
        none: the probabilities). They do not know whether prior and likelihood are right.
    adjacency_ : (n, n) array
        The estimated graph, at threshold_; pairs that the bootstrap fixed as it fixed them.
    precision_, covariance_, location_ : arrays
        The Gaussian fitted to the estimated graph, absent pairs at exactly zero.
    Theta_hat_ : (n, n) array or None
        The estimate of all entries that may be free, known non-edges at zero (near it with
        slack): of maximum likelihood (Eq. 9) with the plug-in likelihood, else the posterior mean.
    samples_ : (M, n, n) array
        The graphs drawn; none by "direct".
    trace_ : (M, times) array
        Edges among the pairs drawn, in each chain as it ran.
    reasons_ : Reasons or None
        Why: log-odds of each pair from prior, data, being hidden, and belief.
    prior_gain_ : PriorGain or None
        What the prior is worth on this problem, in bits for each pair.
    diagnostics_ : dict
        Size of the problem, and how the estimate was reached.
    notes_ : list of str
        What a user should know before trusting the result; warned of too.
    prior_card_ : dict or None
        The model card of a prior that was read from its file.
    problem_ : Problem
        What was asked, checked and aligned.
    """

    def __init__(
        self,
        prior: Any = None,
        *,
        density: float | None = None,
        engine: str = "direct",
        likelihood: str | None = None,
        variant: Variant = "LPost",
        hidden: str = "by value",
        temper: bool = False,
        slack: float | None = None,
        n_samples: int = 10,
        threshold: float | None = None,
        schedule: Schedule | None = None,
        sweeps: Sweeps | None = None,
        p_m: float | None = 0.45,
        lam: float | None = None,
        n_bootstrap: int = 50,
        missing: str = "refuse",
        rows: str = "independent",
        assume_centered: bool = False,
        device: str = "cpu",
        random_state: Any = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self.prior = prior
        self.engine = engine
        self.likelihood = likelihood
        self.variant = variant
        self.hidden = hidden
        self.temper = temper
        self.density = density
        self.slack = slack
        self.n_samples = n_samples
        self.threshold = threshold
        self.schedule = schedule
        self.sweeps = sweeps
        self.p_m = p_m
        self.lam = lam
        self.n_bootstrap = n_bootstrap
        self.missing = missing
        self.rows = rows
        self.assume_centered = assume_centered
        self.device = device
        self.random_state = random_state
        self.progress = progress

    def fit(self, X: Any, y: Any = None, known: Any = None, beliefs: Any = None) -> PartialGGM:
        """Estimate the graph behind ``X`` (k, n) given what is ``known`` and believed of it.

        ``known`` is an (n, n) array with 0, 1 and nan, a DataFrame matched by
        name (such a matrix, or an edge table source, target, present), or None.
        ``beliefs`` is such a matrix of probabilities of unknown pairs, with nan
        for none: what an expert knows of a pair beside the data and the rest of
        the graph. An edge table may have them as a column probability, of rows
        whose present is empty. ``y`` is ignored.
        """
        check_parameters(self)
        refuse_misplaced(X, y)
        checked = validate_data(
            self, X, dtype=np.float64, ensure_all_finite=False, ensure_min_samples=2,
            ensure_min_features=2,
        )  # fmt: skip
        refuse_too_large(checked.shape[1], self.n_samples)
        table = X if hasattr(X, "columns") else checked
        self.problem_ = Problem.create(table, known, beliefs, self.missing, self.rows)
        prior = (
            None
            if self.variant == "LL"
            else resolve_prior(self.prior, self.problem_, self.density, self._is_random)
        )
        refuse_too_large(self.problem_.n, self.n_samples, prior)
        self.prior_card_ = getattr(prior, "card", None)
        rng = generator(self.random_state)
        problem, A_boot = self._fix_confident_pairs(rng)
        self.prior_gain_: PriorGain | None = None
        self.prior_used_, data = None, None
        posterior = Posterior.from_samples(np.nan_to_num(problem.known).astype(np.uint8)[None])
        if problem.U.any():
            data = self._data(problem)
            self.prior_used_ = self._prior(problem, prior, data, rng)
            posterior = run(problem, self.prior_used_, data, rng, self._settings())
            if isinstance(self.prior_used_, LearnedRate) and posterior.evidence is not None:
                self.prior_used_ = LearnedRate(posterior.evidence.slab.rate)
        self._set_result(problem, posterior, data, A_boot)
        given = self.prior if self.density is None else prior
        told = self.prior_gain_, self.temper, given, self.prior_card_
        ground = self.evidence_ or data
        self.notes_ = weak_ground(self.problem_, ground, *told, self.diagnostics_.get("row_order"))
        for line in self.notes_:
            warnings.warn(line, GraphPriorWarning, stacklevel=2)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "refuse"
        return tags

    def _fix_confident_pairs(self, rng: np.random.Generator) -> tuple[Problem, Matrix | None]:
        problem = self.problem_
        if problem.O.any() or self.p_m is None or not self._is_plug_in:
            return problem, None
        return fix_confident_pairs(
            problem, rng, self.p_m, self.lam, self.n_bootstrap, self.progress
        )

    @property
    def _is_plug_in(self) -> bool:
        return self._likelihood_used == "plug-in"

    @property
    def _likelihood_used(self) -> str | None:
        if self.variant == "LPr":
            return None
        plug_in = self.engine == "langevin" and self.likelihood in (None, "plug-in")
        return "plug-in" if plug_in else "marginal"

    @property
    def _is_random(self) -> bool:
        """Whether which pairs are unknown says nothing of whether they are edges."""
        return self.hidden == "at random"

    def _data(self, problem: Problem) -> Evidence | PrecisionEstimate | None:
        """What the data say, in the form that the likelihood chosen takes."""
        if self.variant == "LPr":
            return None
        if self._is_plug_in:
            return constrained_mle(problem)
        if self.engine == "langevin":
            refuse_coupled(problem)
        rate = rate_prior(problem.known, self._is_random)
        return data_evidence(problem, slack=self.slack, rate=rate)

    def _prior(
        self, problem: Problem, prior: Prior | None, data: Any, rng: np.random.Generator
    ) -> Prior | None:
        """The prior to use: checked against the problem, and tempered if that is wanted."""
        evidence = data if isinstance(data, Evidence) else None
        # Without a prior, as with the likelihood alone, the rate of edges is what the data tell.
        if evidence is not None and (prior is None or isinstance(prior, LearnedRate)):
            return LearnedRate(evidence.slab.rate)
        # Independent edges have nothing to predict with; scores alone cannot be asked.
        if self.prior is None or not isinstance(prior, EvidencePrior):
            return prior
        gain = check_prior(problem.known, prior, evidence, rng.spawn(1)[0], self.device)
        self.prior_gain_ = gain
        if self.temper and gain is not None:
            return TemperedPrior(prior, gain.temperature, gain.rate)
        return prior

    def _settings(self) -> Settings:
        return Settings(
            self.engine, self.n_samples, self.schedule, self.sweeps,
            # LL's own edge rate, and one that is given, is that of the unknown pairs already.
            self.hidden == "by value" and self.variant != "LL" and self.density is None,
            self.device, self.progress,
        )  # fmt: skip

    def _set_result(
        self,
        problem: Problem,
        posterior: Posterior,
        data: Evidence | PrecisionEstimate | None,
        A_boot: Matrix | None,
    ) -> None:
        P, low, high = (
            m.copy() for m in (posterior.edge_probabilities, posterior.low, posterior.high)
        )
        usual = default_threshold(problem) if self._is_plug_in else 0.5
        self.threshold_ = usual if self.threshold is None else self.threshold
        A_hat = threshold_estimate(P, self.threshold_)
        if A_boot is not None:
            # The bootstrap's confidence is not certainty: report its share, not 0 or 1.
            for m, value in zip(
                (P, low, high), (A_boot, *share_interval(A_boot, self.n_bootstrap)), strict=True
            ):
                m[problem.O] = value[problem.O]
        certain = ~self.problem_.U
        low[certain] = high[certain] = P[certain]
        self.edge_probabilities_, self.edge_intervals_ = P, np.stack([low, high])
        self.adjacency_, self.samples_, self.reasons_ = A_hat, posterior.samples, posterior.reasons
        self.trace_ = posterior.trace
        self.evidence_ = posterior.evidence or (data if isinstance(data, Evidence) else None)
        self.Theta_hat_ = None if data is None else data.Theta
        refit = constrained_mle(self.problem_.with_known(A_hat))
        self.precision_, self.covariance_ = refit.Theta, np.linalg.inv(refit.Theta)
        self.location_ = self.problem_.moments.mean
        self.diagnostics_ = {
            **self.problem_.observations.facts(),
            "unknown_pairs": int(self.problem_.U.sum() // 2),
            "believed_pairs": int(self.problem_.believed.sum() // 2),
            "fixed_by_bootstrap": 0 if A_boot is None else int(problem.O.sum() // 2),
            "threshold": float(self.threshold_),
            "engine": self.engine,
            "likelihood": self._likelihood_used,
            "precision_shrinkage": refit.shrinkage,
            "prior_gain": None if self.prior_gain_ is None else asdict(self.prior_gain_),
            **({} if data is None else row_facts(problem.X, problem.names)),
            **({} if data is None else (self.evidence_ or data).facts()),
            **posterior.diagnostics,
        }
        if not isinstance(self.prior_used_, LearnedRate):
            self.diagnostics_.pop("edge_rate", None)  # of the data alone, before the prior
