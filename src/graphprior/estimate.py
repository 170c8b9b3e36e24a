"""The estimator: observations and what is known in, edge probabilities out."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Literal

import networkx as nx
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from graphprior.bootstrap import bootstrapped_glasso, fix_edges
from graphprior.covariance import PrecisionEstimate, constrained_mle
from graphprior.engines.langevin import resolve_device, sample_graphs
from graphprior.engines.posterior import Posterior
from graphprior.errors import GraphPriorError, GraphPriorWarning
from graphprior.ggm import PlugInLikelihood
from graphprior.graphs import Matrix, Problem
from graphprior.linalg import partial_correlations
from graphprior.noise import Schedule
from graphprior.prior.protocol import Prior
from graphprior.prior.resolve import refuse_too_large, resolve_prior

Variant = Literal["LPost", "LPr", "LL"]
ENGINES = ("langevin",)


def threshold_estimate(edge_probabilities: Matrix, tau: float) -> Matrix:
    """A_hat: the edges whose probability reaches tau. Eq. (11)."""
    A_hat = (edge_probabilities >= tau).astype(np.float64)
    np.fill_diagonal(A_hat, 0.0)
    return A_hat


def monte_carlo_error(edge_probabilities: Matrix, M: int) -> Matrix:
    """Standard error of a share of M graphs; never 0, as M graphs cannot prove certainty.

    That of the share with one success and one failure added (Agresti-Coull).
    """
    p = (edge_probabilities * M + 1) / (M + 2)
    error: Matrix = np.sqrt(p * (1 - p) / (M + 2))
    return error


class PartialGGM(BaseEstimator):  # type: ignore[misc]
    """Estimate the graph of a Gaussian graphical model of which part is known.

    Parameters
    ----------
    prior : None, str, path or prior
        Name of a shipped prior, a .safetensors file, or a prior object. None:
        independent edges, at the rate seen among the known pairs.
    engine : "langevin"
        How graphs are drawn.
    variant : "LPost", "LPr" or "LL"
        Follow prior and likelihood, the prior alone, or the likelihood alone.
    n_samples : int
        Number M of graphs drawn, each by its own chain.
    threshold : float
        tau: an edge is reported where its probability reaches it. Eq. (11).
    schedule : Schedule or None
        Noise levels and steps; None takes the paper's.
    p_m : float or None
        When nothing is known: margin of the bootstrap that fixes confident
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
    edge_errors_ : (n, n) array
        Monte Carlo standard error of those; 0 for known pairs.
    adjacency_ : (n, n) array
        The estimated graph.
    precision_, covariance_, location_ : arrays
        The Gaussian fitted to the estimated graph.
    Theta_hat_ : (n, n) array
        The constrained estimate that the likelihood was built on. Eq. (9).
    samples_ : (M, n, n) array
        The graphs drawn.
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
        engine: str = "langevin",
        variant: Variant = "LPost",
        n_samples: int = 10,
        threshold: float = 0.5,
        schedule: Schedule | None = None,
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
        self.variant = variant
        self.n_samples = n_samples
        self.threshold = threshold
        self.schedule = schedule
        self.p_m = p_m
        self.lam = lam
        self.n_bootstrap = n_bootstrap
        self.assume_centered = assume_centered
        self.device = device
        self.random_state = random_state
        self.progress = progress

    def fit(self, X: Any, y: Any = None, known: Any = None) -> PartialGGM:
        """Estimate the graph behind ``X`` (k, n) given ``known`` (n, n) with 0, 1 and nan.

        DataFrames are matched by name. ``y`` is ignored.
        """
        self._check_parameters()
        checked = validate_data(
            self, X, dtype=np.float64, ensure_all_finite=False, ensure_min_samples=2,
            ensure_min_features=2,
        )  # fmt: skip
        self.problem_ = Problem.create(X if hasattr(X, "columns") else checked, known)
        rng = _generator(self.random_state)
        if not self.problem_.U.any():
            return self._keep_known()
        prior = None if self.variant == "LL" else resolve_prior(self.prior, self.problem_)
        if prior is not None:
            refuse_too_large(prior, self.problem_.n, self.n_samples)
        problem, A_boot = self._fix_confident_pairs(rng)
        estimate = constrained_mle(problem, self.assume_centered)
        posterior = self._sample(problem, prior, estimate, rng)
        self._set_result(problem, posterior, estimate, A_boot)
        return self

    def _check_parameters(self) -> None:
        if self.engine not in ENGINES:
            raise GraphPriorError(f"engine = {self.engine!r}: expected one of {ENGINES}")
        if self.variant not in ("LPost", "LPr", "LL"):
            raise GraphPriorError(f"variant = {self.variant!r}: expected 'LPost', 'LPr' or 'LL'")
        if int(self.n_samples) < 1:
            raise GraphPriorError(f"n_samples = {self.n_samples}: at least 1 graph must be drawn")
        if not 0 < self.threshold <= 1:
            raise GraphPriorError(f"threshold = {self.threshold}: expected a value in (0, 1]")
        resolve_device(self.device)

    def _keep_known(self) -> PartialGGM:
        """Nothing to estimate: give back what is known, with a notice."""
        warnings.warn(
            "nothing is unknown: every pair of `known` is 0 or 1, so it is returned as it is",
            GraphPriorWarning,
            stacklevel=3,
        )
        A = self.problem_.known.astype(np.uint8)
        estimate = constrained_mle(self.problem_, self.assume_centered)
        self._set_result(self.problem_, Posterior.from_samples(A[None]), estimate, None)
        return self

    def _fix_confident_pairs(self, rng: np.random.Generator) -> tuple[Problem, Matrix | None]:
        problem = self.problem_
        if problem.O.any() or self.p_m is None:
            return problem, None
        A_boot = bootstrapped_glasso(problem.X, rng, self.lam, self.n_bootstrap)
        return Problem(problem.X, fix_edges(A_boot, self.p_m), problem.names), A_boot

    def _sample(
        self,
        problem: Problem,
        prior: Prior | None,
        estimate: PrecisionEstimate,
        rng: np.random.Generator,
    ) -> Posterior:
        likelihood = None
        if self.variant != "LPr":
            likelihood = PlugInLikelihood.create(
                estimate.Theta, estimate.S, problem.k, device=self.device
            )
        return sample_graphs(
            problem.known,
            prior,
            likelihood,
            rng,
            M=self.n_samples,
            schedule=self.schedule,
            device=self.device,
            progress=self.progress,
        )

    def _set_result(
        self,
        problem: Problem,
        posterior: Posterior,
        estimate: PrecisionEstimate,
        A_boot: Matrix | None,
    ) -> None:
        P = posterior.edge_probabilities.copy()
        errors = np.where(self.problem_.U, monte_carlo_error(P, len(posterior.samples)), 0.0)
        if A_boot is not None:
            # The bootstrap's confidence is not certainty: report its share, not 0 or 1.
            fixed = problem.O
            P[fixed] = A_boot[fixed]
            errors[fixed] = monte_carlo_error(A_boot, self.n_bootstrap)[fixed]
        self.edge_probabilities_ = P
        self.edge_errors_ = errors
        self.adjacency_ = threshold_estimate(P, self.threshold)
        self.samples_ = posterior.samples
        self.Theta_hat_ = estimate.Theta
        graph = Problem(self.problem_.X, self.adjacency_, self.problem_.names)
        refit = constrained_mle(graph, self.assume_centered)
        self.precision_ = refit.Theta
        self.covariance_ = np.linalg.inv(refit.Theta)
        n = self.problem_.n
        self.location_ = np.zeros(n) if self.assume_centered else self.problem_.X.mean(axis=0)
        self.diagnostics_ = {
            "n": n,
            "k": self.problem_.k,
            "unknown_pairs": int(self.problem_.U.sum() // 2),
            "fixed_by_bootstrap": 0 if A_boot is None else int(problem.O.sum() // 2),
            "mle_exists": estimate.exists,
            "shrinkage": estimate.shrinkage,
            "kkt_residual": estimate.kkt_residual,
            **posterior.diagnostics,
        }
        self._warn_of_weak_ground(estimate)

    def _warn_of_weak_ground(self, estimate: PrecisionEstimate) -> None:
        if not estimate.exists:
            warnings.warn(
                f"k = {self.problem_.k} observations are too few for the unknown pairs: the "
                "maximum likelihood estimate does not exist; the covariance was shrunk to its "
                f"diagonal by {estimate.shrinkage:.2f} (Ledoit-Wolf), and the data say less than "
                "the probabilities may suggest",
                GraphPriorWarning,
                stacklevel=4,
            )

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


def _generator(random_state: Any) -> np.random.Generator:
    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**31 - 1))
    return np.random.default_rng(random_state)
