"""scikit-learn's cross-validated graphical lasso, which is what most people run today.

It cannot be told what is known of the graph.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.covariance import GraphicalLassoCV
from sklearn.exceptions import ConvergenceWarning

from graphprior.errors import GraphPriorError
from graphprior.evidence.precision import standardise
from graphprior.gaussian.linalg import partial_correlations
from graphprior.paper.baselines.protocol import Factory
from graphprior.problem.problem import Problem
from graphprior.results.metrics import on_unknown
from graphprior.types import Matrix, Vector


def cross_validated_precision(X: Matrix) -> Matrix:
    """Theta of the standardised variables, at the penalty that predicts left-out rows best."""
    with warnings.catch_warnings():
        # Penalties too small for the folds are tried and rejected; only the final fit matters.
        warnings.simplefilter("ignore")
        warnings.simplefilter("default", ConvergenceWarning)
        try:
            Theta: Matrix = GraphicalLassoCV().fit(standardise(X)).precision_
        except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
            raise GraphPriorError(
                f"scikit-learn's GraphicalLassoCV failed on k = {len(X)} observations: {error} "
                "It needs five observations at least, and no repeated columns"
            ) from error
    if not np.isfinite(Theta).all() or (np.diag(Theta) <= 0).any():
        raise GraphPriorError(
            f"scikit-learn's GraphicalLassoCV found no precision matrix in k = {len(X)} "
            "observations: use a method that shrinks"
        )
    return Theta


def glasso_cv(problem: Problem, rng: np.random.Generator) -> Vector:
    """Size of the partial correlation, 0 for no edge; ``known`` and ``rng`` play no part."""
    sizes = np.abs(partial_correlations(cross_validated_precision(problem.X)))
    return on_unknown(np.minimum(sizes, 1.0), problem.U)


METHODS: dict[str, Factory] = {"GLassoCV": lambda setting: glasso_cv}
