"""The estimator: observations and what is known in, edge probabilities out."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from graphprior._answers import Answers
from graphprior._parameters import check_parameters, generator, refuse_misplaced
from graphprior.choices import EngineName, LikelihoodName, Missing, PriorWeight, Use
from graphprior.diagnosis.notes import weak_ground
from graphprior.engines.bootstrap import Bootstrap, fix_confident_pairs
from graphprior.engines.langevin import Langevin
from graphprior.engines.posterior import (
    Posterior,
    default_threshold,
    share_interval,
    threshold_estimate,
)
from graphprior.engines.run import Engine, engine_name, engine_of, resolve_engine
from graphprior.errors import GraphPriorError, GraphPriorWarning
from graphprior.evidence.evidence import Evidence, EvidenceFacts, data_evidence, refuse_coupled
from graphprior.evidence.precision import PrecisionEstimate, PrecisionFacts, constrained_mle
from graphprior.io.progress import reporting
from graphprior.observations.series import row_order
from graphprior.priors.average import AveragedPrior, ShiftedPrior
from graphprior.priors.exact import LearnedRate
from graphprior.priors.fit_check import PriorGain, check_priors
from graphprior.priors.load import INDEPENDENT, refuse_too_large, resolve_priors
from graphprior.priors.protocol import EvidencePrior, Prior
from graphprior.problem.problem import Problem
from graphprior.results.diagnostics import Diagnostics
from graphprior.types import Matrix, Progress


class PartialGGM(Answers, BaseEstimator):  # type: ignore[misc]
    """Estimate the graph of a Gaussian graphical model of which part is known.

    Parameters
    ----------
    prior : "auto", None, str, path, prior, or a list of these
        What such graphs look like. "auto" averages the shipped prior `general`, which was trained
        on graphs of many kinds, with independent edges. Otherwise the name of a shipped prior, a
        .safetensors file, or a prior object. None: independent edges, at a rate that is estimated
        together with their strengths. The priors of a list are averaged.
    density : float or None
        Share of the unknown pairs that are edges, where you know it: edges are then independent,
        at that rate.
    engine : "direct", "gibbs", "langevin" or an engine
        How the posterior is found. "direct" gives probabilities and draws nothing, "gibbs" also
        draws graphs, "langevin" is Algorithm 1 of the paper. A name stands for the engine with
        its usual settings; `Gibbs(draws=100)` has others.
    use : "both", "prior" or "data"
        What to follow. The paper calls them LPost, LPr and LL.
    prior_weight : "auto" or "full"
        "auto" averages a prior that was learned from examples with independent edges. Each weighs
        as much as it predicts known pairs, and the data's evidence about pairs, that it is not
        shown. "full" leaves independent edges out unless they are listed.
    unknown_at_random : bool
        Whether edges are unknown no more often than other pairs. If not, the share of edges among
        the unknown pairs is estimated; not by "langevin".
    null_scale : float or None
        Size of the partial correlations of pairs that are no edges: real data have no exact
        zeros. None estimates it from the pairs known to be absent; 0 is the exact model.
    threshold : float or None
        tau: an edge is reported where its probability reaches it. Eq. (11). None takes 0.5, or
        `default_threshold` where a precision matrix is plugged in.
    missing : "refuse", "em" or "pairwise"
        What to do about nan in X (docs/missing-and-beliefs.md).
    time_series : bool
        Rows are in the order of time; they count as fewer the more they depend on each other.
    assume_centered : bool
        Take the variables as having mean zero.
    device : str
        Where the networks run, for example "cpu" or "cuda".
    random_state : int, Generator, RandomState or None
        Same seed, same answer.
    verbose : bool or callable
        True shows a progress bar. A function is called with (steps done, steps in all).

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
        What the prior is worth on this problem, in bits for each pair; of several, the one that
        weighs most beside independent edges.
    prior_gains_ : tuple of PriorGain
        The same of each prior that was averaged, with its weight.
    diagnostics_ : Diagnostics
        Size of the problem, and how the estimate was reached; `to_dict` gives plain values.
    notes_ : list of str
        What a user should know before trusting the result; warned of too.
    prior_card_ : dict or None
        The model card of a prior that was read from its file.
    problem_ : Problem
        What was asked, checked and aligned.
    """

    def __init__(
        self,
        prior: Any = "auto",
        *,  # choices are plain words here, as scikit-learn asks of defaults
        density: float | None = None,
        engine: str | Engine = "direct",
        use: str = "both",
        prior_weight: str = "auto",
        unknown_at_random: bool = False,
        null_scale: float | None = None,
        threshold: float | None = None,
        missing: str = "refuse",
        time_series: bool = False,
        assume_centered: bool = False,
        device: str = "cpu",
        random_state: Any = None,
        verbose: bool | Progress = False,
    ) -> None:
        self.prior = prior
        self.density = density
        self.engine = engine
        self.use = use
        self.prior_weight = prior_weight
        self.unknown_at_random = unknown_at_random
        self.null_scale = null_scale
        self.threshold = threshold
        self.missing = missing
        self.time_series = time_series
        self.assume_centered = assume_centered
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

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
        engine = resolve_engine(self.engine)
        refuse_too_large(checked.shape[1], max(engine.draws, 1))
        table = X if hasattr(X, "columns") else checked
        self.problem_ = Problem.create(
            table, known, beliefs, self.missing, self.time_series, self.assume_centered,
            self.unknown_at_random,
        )  # fmt: skip
        priors = {} if self.use == Use.DATA else resolve_priors(
            self.prior, self.problem_, self.density, self.prior_weight == PriorWeight.AUTO
        )  # fmt: skip
        for prior in priors.values() or [None]:
            refuse_too_large(self.problem_.n, max(engine.draws, 1), prior)
        with reporting(self.verbose) as progress:
            self._estimate(engine, priors, generator(self.random_state), progress)
        for line in self.notes_:
            warnings.warn(line, GraphPriorWarning, stacklevel=2)
        return self

    def _estimate(
        self, engine: Engine, priors: dict[str, Prior], rng: np.random.Generator,
        progress: Progress | None,
    ) -> None:  # fmt: skip
        """Everything that is estimated, once the input is checked."""
        problem, A_boot = self._fix_confident_pairs(engine, rng, progress)
        self.prior_gains_: tuple[PriorGain, ...] = ()
        self.prior_used_, data = None, None
        posterior = Posterior.from_samples(np.nan_to_num(problem.known).astype(np.uint8)[None])
        if problem.U.any():
            data = self._data(engine, problem)
            self.prior_used_ = self._prior(problem, priors, data, rng)
            posterior = engine(
                self._asked(problem), self.prior_used_, data, rng, self.device, progress
            )
            if isinstance(self.prior_used_, LearnedRate) and posterior.evidence is not None:
                self.prior_used_ = LearnedRate(posterior.evidence.slab.rate)
        self.prior_gain_ = _heaviest(self.prior_gains_)
        name = next(iter(priors), None) if self.prior_gain_ is None else self.prior_gain_.name
        self.prior_card_ = getattr(priors.get(name or ""), "card", None)
        self._set_result(engine, problem, posterior, data, A_boot)
        ground = self.evidence_ or data
        self.notes_ = weak_ground(
            self.problem_, ground, self.prior_gains_, tuple(priors), self.prior_card_,
            self.diagnostics_.row_order,
        )  # fmt: skip

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != Missing.REFUSE
        return tags

    def _fix_confident_pairs(
        self, engine: Engine, rng: np.random.Generator, progress: Progress | None
    ) -> tuple[Problem, Matrix | None]:
        problem = self.problem_
        bootstrap = getattr(engine, "bootstrap", None)
        if problem.O.any() or bootstrap is None or not self._is_plugged_in(engine):
            return problem, None
        return fix_confident_pairs(problem, rng, bootstrap, progress)

    def _likelihood(self, engine: Engine) -> LikelihoodName | None:
        """The kind of likelihood that is used."""
        if self.use == Use.PRIOR:
            return None
        return LikelihoodName.PLUG_IN if engine.plugs_in else LikelihoodName.MARGINAL

    def _is_plugged_in(self, engine: Engine) -> bool:
        """Whether the data are followed through one precision matrix."""
        return self._likelihood(engine) is LikelihoodName.PLUG_IN

    def _asked(self, problem: Problem) -> Problem:
        """The problem as the engine gets it: a rate of edges that is given needs no correction."""
        is_given = self.use == Use.DATA or self.density is not None
        return replace(problem, unknown_at_random=True) if is_given else problem

    def _data(self, engine: Engine, problem: Problem) -> Evidence | PrecisionEstimate | None:
        """What the data say, in the form that the engine takes."""
        if self.use == Use.PRIOR:
            return None
        if engine.plugs_in:
            return constrained_mle(problem)
        if isinstance(engine, Langevin):
            refuse_coupled(problem)
        return data_evidence(problem, slack=self.null_scale)

    def _prior(
        self, problem: Problem, priors: dict[str, Prior], data: Any, rng: np.random.Generator
    ) -> Prior | None:
        """The prior to use: one, or several weighed by what they are worth on the problem."""
        evidence = data if isinstance(data, Evidence) else None
        known = {name: self._at_rate(prior, evidence) for name, prior in priors.items()}
        if not known:  # the likelihood alone; its rate of edges is what the data tell
            return None if evidence is None else LearnedRate(evidence.slab.rate)
        asked = {
            name: None if isinstance(prior, LearnedRate) else prior
            for name, prior in known.items()
            if isinstance(prior, EvidencePrior)
        }
        # The rate alone has nothing to predict with; scores alone cannot be asked.
        if not any(asked.values()) or self.density is not None:
            return next(iter(known.values()))
        by_value = not problem.unknown_at_random
        found = check_priors(
            problem.known, asked, evidence, rng.spawn(1)[0], by_value, self.device,
            move=self.prior_weight == PriorWeight.AUTO,
        )  # fmt: skip
        used: list[Any] = list(known.values())
        if found is None:
            weight = 1 / len(used)
            self.prior_gains_ = tuple(PriorGain.unchecked(name, weight) for name in asked)
            return AveragedPrior.of(used, [weight] * len(used))
        self.prior_gains_ = found.gains
        moved = [
            ShiftedPrior.of(prior, gain.offset, gain.excess)
            for prior, gain in zip(used, found.gains, strict=True)
        ]
        return AveragedPrior.of(moved, list(found.weights))

    def _at_rate(self, prior: Prior, evidence: Evidence | None) -> Prior:
        """Independent edges at the rate that the data tell, where they tell it."""
        if isinstance(prior, LearnedRate) and evidence is not None:
            return LearnedRate(evidence.slab.rate)
        return prior

    def _set_result(
        self,
        engine: Engine,
        problem: Problem,
        posterior: Posterior,
        data: Evidence | PrecisionEstimate | None,
        A_boot: Matrix | None,
    ) -> None:
        P, low, high = (
            m.copy() for m in (posterior.edge_probabilities, posterior.low, posterior.high)
        )
        usual = default_threshold(problem) if self._is_plugged_in(engine) else 0.5
        self.threshold_ = usual if self.threshold is None else self.threshold
        A_hat = threshold_estimate(P, self.threshold_)
        bootstrap = getattr(engine, "bootstrap", None)
        if A_boot is not None and bootstrap is not None:
            # The bootstrap's confidence is not certainty: report its share, not 0 or 1.
            bounds = share_interval(A_boot, bootstrap.samples)
            for m, value in zip((P, low, high), (A_boot, *bounds), strict=True):
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
        self.diagnostics_ = Diagnostics(
            observations=self.problem_.observations.facts(),
            unknown_pairs=int(self.problem_.U.sum() // 2),
            believed_pairs=int(self.problem_.believed.sum() // 2),
            fixed_by_bootstrap=0 if A_boot is None else int(problem.O.sum() // 2),
            threshold=float(self.threshold_),
            engine=engine_name(engine),
            likelihood=self._likelihood(engine),
            precision_shrinkage=refit.shrinkage,
            prior_gain=self.prior_gain_,
            prior_gains=self.prior_gains_,
            row_order=None if data is None else row_order(problem.X, problem.names),
            data=None if data is None else self._data_facts(self.evidence_ or data),
            posterior=posterior.diagnostics,
        )

    def _data_facts(self, data: Evidence | PrecisionEstimate) -> EvidenceFacts | PrecisionFacts:
        """What was estimated; the data's own rate of edges is not told where a prior has one."""
        facts = data.facts()
        if isinstance(facts, EvidenceFacts) and not isinstance(self.prior_used_, LearnedRate):
            return replace(facts, edge_rate=None)
        return facts


def _heaviest(gains: tuple[PriorGain, ...]) -> PriorGain | None:
    """Of the priors beside independent edges, the one that weighs most."""
    others = [gain for gain in gains if gain.name != INDEPENDENT and gain.pairs]
    return max(others, key=lambda gain: gain.weight, default=None)


def from_arguments(
    prior: Any, arguments: dict[str, Any], verbose: bool | Progress = False
) -> PartialGGM:
    """The model that run.json tells of: engine by name, its settings beside, as plain values."""
    rest = dict(arguments)
    settings = rest.pop("engine_settings", {})
    if not isinstance(settings, dict):
        raise GraphPriorError(f"engine_settings = {settings!r}: expected settings by name")
    settings = dict(settings)
    name = rest.pop("engine", EngineName.DIRECT)
    if "bootstrap_margin" in settings:
        margin = settings.pop("bootstrap_margin")
        if name != EngineName.LANGEVIN:
            raise GraphPriorError(
                f"bootstrap_margin = {margin!r} does not apply to engine {name!r}; 'langevin' "
                "has it"
            )
        settings["bootstrap"] = None if margin is None else Bootstrap(margin)
    return PartialGGM(prior, engine=engine_of(name, **settings), verbose=verbose, **rest)
