import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.covariance import graphical_lasso

from graphprior.diagnosis.notes import dependent_names
from graphprior.errors import GraphPriorError, GraphPriorWarning
from graphprior.evidence.precision import constrained_mle, dependent_columns, penalty_matrix, shrink
from graphprior.gaussian.glasso import (
    PATIENCE,
    kkt_residual,
    optimum_exists,
    solve,
    weighted_glasso,
)
from graphprior.gaussian.linalg import is_definite
from graphprior.gaussian.simulate import simulate_observations
from graphprior.graphs.matrices import hide
from graphprior.observations.moments import sample_covariance
from graphprior.paper.baselines.lasso import supports
from graphprior.problem.problem import Problem
from oracles import random_graph, random_precision, random_problem, relabel


def scalar_penalty(n, lam):
    Lambda = np.full((n, n), lam)
    np.fill_diagonal(Lambda, 0)
    return Lambda


problems = st.tuples(
    st.integers(2, 15),
    st.integers(2, 60),
    st.floats(0, 1),
    st.floats(0.05, 0.9),
    st.integers(0, 999),
)


@pytest.mark.slow
@given(problems)
def test_constrained_mle_is_optimal_or_says_that_it_is_not_there(parameters):
    n, k, share, density, seed = parameters
    _, problem = random_problem(np.random.default_rng(seed), n, k, density, share)
    fit = constrained_mle(problem)
    known_zero = (problem.known == 0) & ~np.eye(n, dtype=bool)
    assert kkt_residual(fit.Theta, fit.S, np.where(known_zero, np.inf, 0.0)) <= 1e-6
    assert not fit.Theta[known_zero].any()
    assert is_definite(fit.Theta)
    assert (fit.shrinkage > 0) == (not fit.exists)


@given(problems, st.floats(0.05, 0.8))
def test_weighted_lasso_is_optimal(parameters, lam):
    n, k, share, density, seed = parameters
    _, problem = random_problem(np.random.default_rng(seed), n, k, density, share)
    S = shrink(sample_covariance(problem.X), 0.05)
    Lambda = penalty_matrix(problem, lam)
    Theta = weighted_glasso(S, Lambda)
    assert kkt_residual(Theta, S, Lambda) <= 1e-6
    assert not Theta[np.isinf(Lambda)].any()


@given(st.integers(3, 12), st.floats(0.02, 0.5), st.integers(0, 999))
def test_scalar_penalty_equals_scikit_learn(n, lam, seed):
    _, problem = random_problem(np.random.default_rng(seed), n, 5 * n)
    S = sample_covariance(problem.X)
    _, expected = graphical_lasso(S, lam, tol=1e-9, enet_tol=1e-9, max_iter=2000)
    Theta = weighted_glasso(S, scalar_penalty(n, lam), tol=1e-9)
    np.testing.assert_allclose(Theta, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_matrix_penalty_equals_skglm_and_gglasso(seed):
    skglm = pytest.importorskip("skglm.covariance")
    gglasso = pytest.importorskip("gglasso.solver.single_admm_solver")
    _, problem = random_problem(np.random.default_rng(seed), n=12, k=80)
    S = sample_covariance(problem.X)
    S = S / np.sqrt(np.outer(np.diag(S), np.diag(S)))
    Lambda = penalty_matrix(problem, 0.1)
    ours = weighted_glasso(S, Lambda, tol=1e-9)
    # On the correlation scale a penalty of 2 is the hard constraint; inf breaks these solvers.
    finite = np.where(np.isinf(Lambda), 2.0, Lambda)
    model = skglm.GraphicalLasso(alpha=1.0, weights=finite, algo="dual", max_iter=1000, tol=1e-9)
    model.inner_tol = 1e-10
    theirs = model.fit(S, mode="precomputed").precision_
    np.testing.assert_allclose(ours, theirs, atol=1e-4)
    admm, _ = gglasso.ADMM_SGL(
        S, 1.0, np.eye(12), lambda1_mask=finite, tol=1e-9, rtol=1e-9, max_iter=5000, verbose=False
    )
    np.testing.assert_allclose(ours, admm["Theta"], atol=1e-4)


def test_weights_and_penalty_trade_off(rng):
    """Doubling the units halves the penalty's meaning: only Lambda_ij / (d_i d_j) counts."""
    _, problem = random_problem(rng, n=8)
    S, Lambda = sample_covariance(problem.X), scalar_penalty(8, 0.2)
    d = rng.uniform(0.01, 100, 8)
    units = np.outer(d, d)
    np.testing.assert_allclose(
        weighted_glasso(S * units, Lambda * units) * units, weighted_glasso(S, Lambda), atol=1e-5
    )


def test_relabelling_nodes_relabels_the_estimate(rng):
    _, problem = random_problem(rng, n=9, k=30)
    order = rng.permutation(9)
    moved = Problem.create(problem.X[:, order], relabel(problem.known, order))
    here, there = constrained_mle(problem), constrained_mle(moved)
    np.testing.assert_allclose(there.Theta, relabel(here.Theta, order), atol=1e-4)


def test_everything_known_to_be_absent_gives_the_inverse_variances(rng):
    X = rng.standard_normal((20, 4)) * [1, 10, 100, 0.1]
    fit = constrained_mle(Problem.create(X, np.zeros((4, 4))))
    np.testing.assert_allclose(fit.Theta, np.diag(1 / X.var(axis=0)))


def test_everything_unknown_gives_the_inverse_covariance(rng):
    X = rng.standard_normal((40, 5))
    fit = constrained_mle(Problem.create(X))
    np.testing.assert_allclose(fit.Theta, np.linalg.inv(np.cov(X.T, ddof=0)), rtol=1e-4, atol=1e-4)
    assert fit.exists


def test_nothing_known_and_fewer_observations_than_variables_has_no_maximum(rng):
    for k in (2, 5, 10):
        fit = constrained_mle(Problem.create(rng.standard_normal((k, 11))))
        assert not fit.exists
        assert fit.shrinkage > 0
        assert np.isfinite(fit.Theta).all()


def test_a_tree_has_a_maximum_from_two_centred_dimensions_on(rng):
    """Known non-edges make up for observations: a tree's cliques are pairs, so k = 3 is enough."""
    path = np.diag(np.ones(19), 1)
    A = path + path.T
    assert constrained_mle(Problem.create(rng.standard_normal((3, 20)), A)).exists
    assert not constrained_mle(Problem.create(rng.standard_normal((2, 20)), A)).exists


@pytest.mark.slow
def test_existence_agrees_with_a_search_for_a_definite_completion(rng):
    """Certificate against an oracle: the determinant over all completions by convex optimisation.

    A maximum exists just when some completion of S on the free pairs is definite; the largest
    smallest eigenvalue over completions decides.
    """
    cases = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        _, problem = random_problem(rng, n=6, k=int(rng.integers(2, 6)), share=0.5)
        fit = constrained_mle(problem)
        best = largest_smallest_eigenvalue(problem)
        if abs(best) > 1e-3:
            cases.append((fit.exists, best > 0))
    assert len(cases) > 20
    assert {expected for _, expected in cases} == {True, False}
    assert all(found == expected for found, expected in cases)


def largest_smallest_eigenvalue(problem, steps=3000):
    """Subgradient ascent on lambda_min over the entries that S does not fix."""
    S = sample_covariance(problem.X)
    W = S / np.sqrt(np.outer(np.diag(S), np.diag(S)))
    held = problem.known != 0
    np.fill_diagonal(held, True)
    W, best = np.where(held, W, 0.0), -np.inf
    for step in range(steps):
        values, vectors = np.linalg.eigh(W)
        best = max(best, values[0])
        W = (
            W
            + np.where(held, 0.0, np.outer(vectors[:, 0], vectors[:, 0])) * 0.5 / (1 + step) ** 0.7
        )
    return best


@pytest.mark.parametrize("noise", [1, 0.1, 0.03, 0.01, 3e-3, 1e-3])
def test_nearly_dependent_columns_are_solved(rng, noise):
    """The maximum is inv(S), however badly conditioned; slow convergence is not non-existence."""
    X = rng.standard_normal((50, 5))
    X[:, 4] = 2 * X[:, 1] + noise * rng.standard_normal(50)
    fit = constrained_mle(Problem.create(X))
    assert fit.exists
    assert fit.shrinkage == 0
    np.testing.assert_allclose(fit.Theta @ sample_covariance(X), np.eye(5), atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 3])
def test_columns_with_common_factors_are_solved(seed):
    """Pairs that leave zero together drive each other back: the penalty is lowered in stages."""
    rng = np.random.default_rng(seed)
    factors = 3 * rng.standard_normal((33, 3)) @ rng.standard_normal((3, 18))
    noise = 0.3 * rng.standard_normal((33, 18)) * rng.uniform(0.1, 1, 18)
    S = sample_covariance(factors + noise)
    Lambda = scalar_penalty(18, 0.02)
    Theta, residual, steps = solve(S, Lambda, None, 1e-5, 2000)
    assert steps > PATIENCE
    assert residual <= 1e-5
    assert kkt_residual(Theta, S, Lambda) <= 1e-5


def test_dependent_columns_have_no_maximum_and_are_named(rng):
    X = rng.standard_normal((50, 5))
    X[:, 4] = 2 * X[:, 1]
    fit = constrained_mle(Problem.create(X))
    assert not fit.exists
    assert np.isfinite(fit.Theta).all()
    assert dependent_columns(sample_covariance(X)) == [1, 4]
    assert dependent_columns(np.eye(3)) == []
    X = np.column_stack([X, X[:, 0] - X[:, 2]])
    assert dependent_columns(sample_covariance(X)) == [0, 1, 2, 4, 5]


@pytest.mark.slow
@pytest.mark.parametrize(("k", "share"), [(31, 0.0), (32, 0.0), (80, 0.3)])
def test_noise_is_not_called_dependent(k, share):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((k, 30))
        X[rng.random(X.shape) < share] = np.nan
        for missing in ("em", "pairwise") if share else ("refuse",):
            assert dependent_names(Problem.create(X, missing=missing)) is None


@pytest.mark.parametrize(("n", "k", "lam"), [(12, 5, 0.01), (20, 10, 0.02), (8, 2, 0.05)])
def test_few_observations_and_a_small_penalty_are_solved(rng, n, k, lam):
    S = sample_covariance(rng.standard_normal((k, n)))
    S = S / np.sqrt(np.outer(np.diag(S), np.diag(S)))
    Lambda = scalar_penalty(n, lam)
    assert kkt_residual(weighted_glasso(S, Lambda), S, Lambda) <= 1e-6


def test_no_penalty_and_too_few_observations_is_told(rng):
    S = sample_covariance(rng.standard_normal((4, 8)))
    with pytest.warns(GraphPriorWarning, match="has no minimum"):
        weighted_glasso(S, np.zeros((8, 8)))


@pytest.mark.parametrize(
    ("S", "message"),
    [
        (np.diag([1.0, 0.0]), r"S\[1, 1\] = 0: variances must be positive"),
        (np.array([[1.0, np.nan], [np.nan, 1.0]]), "finite"),
        (np.array([[1.0, 0.2], [0.3, 1.0]]), "not symmetric"),
        (np.ones((2, 3)), "square"),
    ],
)
def test_what_is_no_covariance_is_refused(S, message):
    with pytest.raises(GraphPriorError, match=message):
        weighted_glasso(S, np.zeros((len(S), len(S))))


def test_consistency_of_the_constrained_estimate(rng):
    """Lemma 1: the error falls as 1 / sqrt(k)."""
    A = random_graph(rng, 6)
    Theta_0 = random_precision(rng, A)
    known = np.where(A == 0, 0.0, np.nan)
    np.fill_diagonal(known, 0)

    def error(k):
        fits = [
            constrained_mle(Problem.create(simulate_observations(Theta_0, k, rng), known)).Theta
            for _ in range(10)
        ]
        return np.mean([np.abs(Theta - Theta_0).max() for Theta in fits])

    ratio = error(200) / error(20_000)
    assert 5 < ratio < 20  # 10 in theory


@given(st.floats(0.01, 0.3), st.integers(0, 99))
def test_dual_feasibility(lam, seed):
    """|inv(Theta) - S| <= Lambda on every pair."""
    _, problem = random_problem(np.random.default_rng(seed), n=8, k=40)
    S = sample_covariance(problem.X)
    assume(is_definite(S))
    gap = np.abs(np.linalg.inv(weighted_glasso(S, scalar_penalty(8, lam))) - S)
    assert (gap <= lam + 1e-5 * np.diag(S).max() + np.eye(8)).all()


def test_a_penalty_that_is_none_is_refused():
    for bad in (-np.ones((2, 2)), np.array([[0, 1], [2, 0.0]]), np.full((2, 2), np.inf)):
        with pytest.raises(GraphPriorError, match="Lambda"):
            weighted_glasso(np.eye(2), bad)
    with pytest.raises(GraphPriorError, match="shape"):
        weighted_glasso(np.eye(2), np.zeros((3, 3)))


def test_an_early_stop_is_told(rng):
    S = sample_covariance(rng.standard_normal((30, 8)))
    with pytest.warns(GraphPriorWarning, match="stopped at optimality residual"):
        weighted_glasso(S, scalar_penalty(8, 0.01), max_iter=1, tol=1e-12)


@pytest.mark.parametrize("uses_known", [True, False])
def test_supports_along_a_path_of_penalties_are_those_of_each_alone(rng, uses_known):
    _, problem = random_problem(rng, 10, 40, 0.3, 0.5)
    lams = [0.02, 0.3, 0.1]
    together = supports(problem, lams, uses_known)
    alone = [supports(problem, [lam], uses_known)[0] for lam in lams]
    np.testing.assert_array_equal(together, alone)
    assert len({int(s.sum()) for s in together}) > 1


@pytest.mark.slow
def test_a_maximum_that_is_not_there_is_given_up_early(rng):
    """Half of the pairs free, k far below n: Newton's method would run off for 2000 steps."""
    known = hide(random_graph(rng, 30, 0.08), rng, share=0.5)
    problem = Problem.create(rng.standard_normal((8, 30)), known)
    S = sample_covariance(problem.X)
    Theta, _, steps = solve(S, penalty_matrix(problem, 0.0), None, 1e-6, 2000)
    assert steps == PATIENCE
    assert not optimum_exists(Theta, S, penalty_matrix(problem, 0.0))
    assert not constrained_mle(problem).exists


def test_a_maximum_that_is_hard_to_reach_is_not_given_up(rng):
    """k > n: S is definite, so it exists, however ill-conditioned."""
    for _ in range(20):
        X = rng.standard_normal((19, 9)) * 10.0 ** rng.uniform(-1, 4, 9)
        X += 100 * rng.standard_normal((19, 1))
        known = hide(random_graph(rng, 9, 0.5), rng, share=0.3)
        assert constrained_mle(Problem.create(X, known)).exists
