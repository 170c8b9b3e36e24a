"""The estimator: observations and what is known in, edge probabilities out."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Literal

import networkx as nx
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from graphprior.bootstrap import bootstrapped_glasso, fix_edges
from graphprior.covariance import PrecisionEstimate, constrained_mle, weakness
from graphprior.engines.gibbs import Sweeps
from graphprior.engines.langevin import resolve_device
from graphprior.engines.posterior import Posterior, share_interval
from graphprior.engines.run import ENGINES, Settings, run
from graphprior.errors import GraphPriorError, GraphPriorWarning
from graphprior.evidence import Evidence, data_evidence
from graphprior.explain import Explanation, explain_pair
from graphprior.fit_check import PriorGain, check_prior
from graphprior.graphs import Matrix, Problem
from graphprior.linalg import partial_correlations
from graphprior.noise import Schedule
from graphprior.prior.exact import IndependentEdges
from graphprior.prior.protocol import EvidencePrior, Prior
from graphprior.prior.resolve import refuse_too_large, resolve_prior
from graphprior.prior.tempered import TemperedPrior
from graphprior.thresholds import default_threshold, threshold_estimate

Variant = Literal["LPost", "LPr", "LL"]


class PartialGGM(BaseEstimator):  # type: ignore[misc]
    """Estimate the graph of a Gaussian graphical model of which part is known.

    Parameters
    ----------
    prior : None, str, path or prior
        Name of a shipped prior, a .safetensors file, or a prior object. None:
        independent edges, at the rate seen among the known pairs.
    engine : "direct", "gibbs" or "langevin"
        "direct" computes edge probabilities in a few passes of the prior and
        draws nothing; "gibbs" draws whole graphs; "langevin" is Algorithm 1.
    likelihood : "marginal", "plug-in" or None
        How the data speak: with the strength of an edge integrated out, or as
        in the paper. None takes "plug-in" for "langevin", which alone has the
        choice, and "marginal" for the others.
    variant : "LPost", "LPr" or "LL"
        Follow prior and likelihood, the prior alone, or the likelihood alone.
    hidden : "by value" or "at random"
        Whether edges may be hidden more often than non-edges: the share of
        edges among the unknown pairs is then estimated.
    temper : bool
        Believe the prior only as far as it predicts pairs that it is not shown.
    n_samples : int
        Number M of graphs drawn, each by its own chain.
    threshold : float or None
        tau: an edge is reported where its probability reaches it. Eq. (11).
        None takes 0.5, or `default_threshold` with the plug-in likelihood.
    schedule : Schedule or None
        Noise levels and steps of "langevin"; None takes the paper's.
    sweeps : Sweeps or None
        Passes and sweeps of "gibbs".
    p_m : float or None
        With the plug-in likelihood when nothing is known: margin of the bootstrap that fixes confident
        pairs first (Eqs. 30-31). None goes without it.
    lam : float or None
        Penalty of the bootstrap's graphical lasso on the correlation scale;
        None takes sqrt(log n / k).
    n_bootstrap : int
        Number B of bootstrap samples.
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
        Known pairs have their value, 0 or 1. Pairs that the bootstrap fixed
        have its share.
    edge_intervals_ : (2, n, n) array
        Bounds (95%) of what they would be with endless draws. They do not know
        whether prior and likelihood are right.
    adjacency_ : (n, n) array
        The estimated graph, at threshold_.
    precision_, covariance_, location_ : arrays
        The Gaussian fitted to the estimated graph.
    Theta_hat_ : (n, n) array
        The constrained estimate that the likelihood was built on. Eq. (9).
    samples_ : (M, n, n) array
        The graphs drawn; none by "direct".
    reasons_ : Reasons or None
        Why: log-odds of each pair from prior, data, and being hidden.
    prior_gain_ : PriorGain or None
        What the prior is worth on this problem, in bits for each pair.
    diagnostics_ : dict
        How the estimate was reached: whether the MLE exists, shrinkage,
        indefinite Theta_tilde.
    problem_ : Problem
        What was asked, checked and aligned.
    """

    def __init__(
        self,
        prior: Any = None,
        *,
        engine: str = "direct",
        likelihood: str | None = None,
        variant: Variant = "LPost",
        hidden: str = "by value",
        temper: bool = False,
        n_samples: int = 10,
        threshold: float | None = None,
        schedule: Schedule | None = None,
        sweeps: Sweeps | None = None,
        p_m: float | None = 0.45,
        lam: float | None = None,
        n_bootstrap: int = 50,
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
        self.n_samples = n_samples
        self.threshold = threshold
        self.schedule = schedule
        self.sweeps = sweeps
        self.p_m = p_m
        self.lam = lam
        self.n_bootstrap = n_bootstrap
        self.assume_centered = assume_centered
        self.device = device
        self.random_state = random_state
        self.progress = progress

    def fit(self, X: Any, y: Any = None, known: Any = None) -> PartialGGM:
        """Estimate the graph behind ``X`` (k, n) given what is ``known`` of it.

        ``known`` is an (n, n) array with 0, 1 and nan, a DataFrame matched by
        name (such a matrix, or an edge table source, target, present), or None.
        ``y`` is ignored.
        """
        self._check_parameters()
        _refuse_misplaced(y)
        _refuse_words(X)
        checked = validate_data(
            self, X, dtype=np.float64, ensure_all_finite=False, ensure_min_samples=2,
            ensure_min_features=2,
        )  # fmt: skip
        refuse_too_large(checked.shape[1], self.n_samples)
        self.problem_ = Problem.create(X if hasattr(X, "columns") else checked, known)
        prior = None if self.variant == "LL" else resolve_prior(self.prior, self.problem_)
        refuse_too_large(self.problem_.n, self.n_samples, prior)
        rng = _generator(self.random_state)
        problem, A_boot = self._fix_confident_pairs(rng)
        estimate = constrained_mle(problem, self.assume_centered)
        if problem.U.any():
            posterior = self._infer(problem, prior, estimate, rng)
        else:
            self.prior_gain_, self.prior_used_, self.evidence_ = None, None, None
            posterior = Posterior.from_samples(problem.known.astype(np.uint8)[None])
        self._set_result(problem, posterior, estimate, A_boot)
        self._warn_of_weak_ground(estimate)
        return self

    def _check_parameters(self) -> None:
        if self.engine not in ENGINES:
            raise GraphPriorError(f"engine = {self.engine!r}: expected one of {list(ENGINES)}")
        allowed = (None, "marginal", *(["plug-in"] if self.engine == "langevin" else []))
        if self.likelihood not in allowed:
            raise GraphPriorError(
                f"likelihood = {self.likelihood!r} with engine {self.engine!r}: expected one of "
                f"{list(allowed)}"
            )
        if self.hidden not in ("by value", "at random"):
            raise GraphPriorError(f"hidden = {self.hidden!r}: expected 'by value' or 'at random'")
        if self.variant not in ("LPost", "LPr", "LL"):
            raise GraphPriorError(f"variant = {self.variant!r}: expected 'LPost', 'LPr' or 'LL'")
        for name in ("n_samples", "n_bootstrap"):
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or value < 1:
                raise GraphPriorError(f"{name} = {value!r}: expected a whole number from 1 on")
        if self.threshold is not None and not 0 < self.threshold <= 1:
            raise GraphPriorError(f"threshold = {self.threshold}: expected a value in (0, 1]")
        if self.p_m is not None and not 0 <= self.p_m <= 0.5:
            raise GraphPriorError(f"p_m = {self.p_m}: the margin must lie between 0 and 0.5")
        if not isinstance(self.schedule, Schedule | None):
            raise GraphPriorError(f"schedule = {self.schedule!r}: expected a Schedule or None")
        if not isinstance(self.sweeps, Sweeps | None):
            raise GraphPriorError(f"sweeps = {self.sweeps!r}: expected Sweeps or None")
        resolve_device(self.device)

    def _fix_confident_pairs(self, rng: np.random.Generator) -> tuple[Problem, Matrix | None]:
        problem = self.problem_
        if problem.O.any() or self.p_m is None or not self._is_plug_in:
            return problem, None
        A_boot = bootstrapped_glasso(problem.X, rng, self.lam, self.n_bootstrap, self.progress)
        return Problem(problem.X, fix_edges(A_boot, self.p_m), problem.names), A_boot

    @property
    def _is_plug_in(self) -> bool:
        return self.engine == "langevin" and self.likelihood in (None, "plug-in")

    def _infer(
        self,
        problem: Problem,
        prior: Prior | None,
        estimate: PrecisionEstimate,
        rng: np.random.Generator,
    ) -> Posterior:
        data: Evidence | PrecisionEstimate | None = None
        if self.variant != "LPr":
            data = estimate if self._is_plug_in else data_evidence(problem, self.assume_centered)
        self.evidence_ = data if isinstance(data, Evidence) else None
        if prior is None and self.engine != "langevin":
            prior = IndependentEdges(self.evidence_.slab.rate)  # type: ignore[union-attr]
        self.prior_gain_ = self._check_prior(problem, prior, rng)
        if self.temper and self.prior_gain_ is not None:
            assert isinstance(prior, EvidencePrior)
            prior = TemperedPrior(prior, self.prior_gain_.temperature, self.prior_gain_.rate)
        self.prior_used_ = prior
        settings = Settings(
            self.engine, self.n_samples, self.schedule, self.sweeps,
            self.hidden == "by value", self.device, self.progress,
        )  # fmt: skip
        return run(problem, prior, data, rng, settings)

    def _check_prior(
        self, problem: Problem, prior: Prior | None, rng: np.random.Generator
    ) -> PriorGain | None:
        """What a prior of the user's is worth; scores alone cannot be checked."""
        if self.prior is None or not isinstance(prior, EvidencePrior):
            return None
        return check_prior(problem.known, prior, self.evidence_, rng.spawn(1)[0], self.device)

    def _set_result(
        self,
        problem: Problem,
        posterior: Posterior,
        estimate: PrecisionEstimate,
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
            fixed = problem.O
            for m, value in zip(
                (P, low, high), (A_boot, *share_interval(A_boot, self.n_bootstrap)), strict=True
            ):
                m[fixed] = value[fixed]
        certain = ~self.problem_.U
        low[certain] = high[certain] = P[certain]
        self.edge_probabilities_, self.edge_intervals_ = P, np.stack([low, high])
        self.adjacency_, self.samples_, self.reasons_ = A_hat, posterior.samples, posterior.reasons
        self.Theta_hat_ = estimate.Theta
        refit = constrained_mle(
            Problem(self.problem_.X, A_hat, self.problem_.names), self.assume_centered
        )
        self.precision_, self.covariance_ = refit.Theta, np.linalg.inv(refit.Theta)
        n = self.problem_.n
        self.location_ = np.zeros(n) if self.assume_centered else self.problem_.X.mean(axis=0)
        self.diagnostics_ = {
            "n": n,
            "k": self.problem_.k,
            "unknown_pairs": int(self.problem_.U.sum() // 2),
            "fixed_by_bootstrap": 0 if A_boot is None else int(problem.O.sum() // 2),
            "threshold": float(self.threshold_),
            "mle_exists": estimate.exists,
            "shrinkage": estimate.shrinkage,
            "kkt_residual": estimate.kkt_residual,
            "precision_shrinkage": refit.shrinkage,
            "indefinite_share": 0.0,
            "prior_gain": None if self.prior_gain_ is None else asdict(self.prior_gain_),
            **posterior.diagnostics,
        }

    def _warn_of_weak_ground(self, estimate: PrecisionEstimate) -> None:
        """Say what a user should know before trusting the result."""
        if not self.problem_.U.any():
            _warn("nothing is unknown: every pair of `known` is 0 or 1, so it is returned as it is")
            return
        # Evidence is defined for any number of observations; the plug-in likelihood is not.
        if self._is_plug_in and self.variant != "LPr" and (words := weakness(self.problem_, estimate)):
            _warn(words)
        if self.prior_gain_ is not None and (words := self.prior_gain_.misfit()):
            _warn(words)

    def explain(self, source: Any, target: Any, changes: int = 5) -> Explanation:
        """Why the pair of two variables, by name or position, has its probability."""
        check_is_fitted(self)
        i, j = (_position(node, self.problem_.names) for node in (source, target))
        return explain_pair(
            self.problem_, self.prior_used_, self.evidence_, self.reasons_,
            self.edge_probabilities_, (i, j), changes,
        )  # fmt: skip

    def to_networkx(self) -> nx.Graph:
        """The estimated graph; edges carry probability and partial correlation."""
        check_is_fitted(self)
        graph = nx.Graph()
        graph.add_nodes_from(self.problem_.names)
        rho = partial_correlations(self.precision_)
        for i, j in np.argwhere(np.triu(self.adjacency_, 1) == 1):
            graph.add_edge(
                self.problem_.names[i],
                self.problem_.names[j],
                probability=float(self.edge_probabilities_[i, j]),
                partial_correlation=float(rho[i, j]),
                known=bool(self.problem_.O[i, j]),
            )
        return graph


def _position(node: Any, names: tuple[str, ...]) -> int:
    if str(node) in names:
        return names.index(str(node))
    if isinstance(node, int | np.integer) and 0 <= node < len(names):
        return int(node)
    raise GraphPriorError(f"{node!r} is no variable: expected a name such as {names[0]!r}")


def _warn(words: str) -> None:
    warnings.warn(words, GraphPriorWarning, stacklevel=4)


def _refuse_misplaced(y: Any) -> None:
    """A square second argument is meant as ``known``."""
    if y is not None and (hasattr(y, "columns") or (np.ndim(y) == 2 and np.shape(y)[1] > 1)):
        raise GraphPriorError("the second argument of fit is y, which is ignored: pass known=...")


def _refuse_words(X: Any) -> None:
    """Name the column of a DataFrame that holds no numbers."""
    for name in getattr(X, "columns", ()):
        try:
            np.asarray(X[name], dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise GraphPriorError(f"column {str(name)!r} of X is not numeric: {error}") from None


def _generator(random_state: Any) -> np.random.Generator:
    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**31 - 1))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise GraphPriorError(f"random_state = {random_state!r}: {error}") from None
