import numpy as np
import pytest
from scipy.stats import norm

from graphprior.engines.bootstrap import correlation
from graphprior.errors import GraphPriorError
from graphprior.evidence.precision import standardise
from graphprior.gaussian.simulate import simulate_observations
from graphprior.graphs.matrices import hide, vech
from graphprior.paper.baselines.tiger import square_root_lasso, tiger, tiger_graph, tiger_penalty
from graphprior.problem.problem import Problem
from oracles import random_graph, random_precision, relabel


def observations(rng, n, k, density=0.2):
    return simulate_observations(random_precision(rng, random_graph(rng, n, density)), k, rng)


def dependent(rng, n, k):
    """Every variable a mixture of all: the support grows, shrinks and grows again."""
    return rng.standard_normal((k, n)) @ rng.standard_normal((n, n))


def repeated(rng, n, k):
    X = dependent(rng, n, k)
    X[:, -1] = X[:, 0]
    return X


def signs(rng, n, k):
    """Two values: many correlations are equal to the last bit."""
    X = np.sign(dependent(rng, n, k))
    return X[:, np.ptp(X, axis=0) > 0]


def residuals(X, j, lam):
    """The coefficients of variable j and what they leave of it."""
    Z = standardise(X)
    beta = square_root_lasso(correlation(X), j, lam)
    return Z, beta, Z[:, j] - Z @ beta


@pytest.mark.parametrize("make", [observations, dependent, repeated, signs])
@pytest.mark.parametrize(("n", "k"), [(12, 200), (30, 40), (30, 12), (30, 5), (6, 3), (2, 9)])
def test_each_regression_is_optimal(rng, make, n, k):
    """Correlations with the residuals are lam sigma where a variable is used, at most that else."""
    X = make(rng, n, k)
    lam = tiger_penalty(X.shape[1], k)
    for j in range(X.shape[1]):
        Z, beta, left = residuals(X, j, lam)
        limit = lam * np.sqrt(np.mean(left**2))
        slope = np.delete(Z.T @ left / k, j)
        others = np.delete(beta, j)
        assert beta[j] == 0
        assert (np.abs(slope) <= limit + 1e-7).all()
        np.testing.assert_allclose(
            slope[others != 0], limit * np.sign(others[others != 0]), atol=1e-7
        )


@pytest.mark.parametrize("make", [dependent, repeated])
@pytest.mark.parametrize("k", [4, 6, 20])
def test_no_other_coefficients_do_better(rng, make, k):
    """Also where no residual is left and the optimality conditions say little."""
    X = make(rng, 25, k)
    lam = tiger_penalty(25, k)

    def objective(Z, j, beta):
        return np.sqrt(np.mean((Z[:, j] - Z @ beta) ** 2)) + lam * np.abs(beta).sum()

    exact = 0
    for j in range(25):
        Z, beta, left = residuals(X, j, lam)
        exact += np.sqrt(np.mean(left**2)) < 1e-6
        best = objective(Z, j, beta)
        for scale in (1e-4, 1e-2, 1.0):
            step = scale * rng.standard_normal((40, 25)) * (rng.random((40, 25)) < 0.2)
            step[:, j] = 0.0
            assert min(objective(Z, j, beta + d) for d in step) >= best - 1e-9
    assert exact or k == 20


def test_a_variable_that_the_others_determine_is_no_obstacle(rng):
    X = rng.standard_normal((9, 5))
    X[:, 4] = X[:, :4] @ [1.0, -2.0, 0.5, 3.0]
    assert np.isfinite(tiger_graph(X)).all()


def test_a_coefficient_that_a_tie_lets_in_is_zero_nevertheless(rng):
    """The mean of two variables, with noise, has nothing to add once both are in."""
    for _ in range(50):
        a, b = rng.uniform(0.4, 0.7, 2)
        R = np.eye(4)  # the target, one variable, the mean, the other variable
        R[0, 1:] = a, (a + b) / 2, b
        R[1, 2] = R[2, 3] = 0.5
        beta = square_root_lasso(np.triu(R) + np.triu(R, 1).T, 0, 0.2)
        np.testing.assert_array_equal(beta != 0, [False, True, False, True])


def joined_or_refused(X, i, j):
    try:
        return tiger_graph(X)[i, j] == 1
    except GraphPriorError as error:
        return "dependent" in str(error)


def test_nearly_equal_columns_end_in_an_edge_or_a_reason(rng):
    for noise in 10.0 ** -np.arange(2, 16):
        X = dependent(rng, 11, 15)
        X[:, -1] = X[:, 0] + noise * rng.standard_normal(15)
        assert joined_or_refused(X, 0, -1), noise


@pytest.mark.parametrize("k", [10, 100])
def test_units_do_not_matter(rng, k):
    X = observations(rng, 20, k)
    scaled = X * 10 ** rng.uniform(-3, 3, 20) + rng.normal(0, 50, 20)
    np.testing.assert_array_equal(tiger_graph(X), tiger_graph(scaled))


@pytest.mark.parametrize("k", [10, 100])
def test_relabelling_relabels(rng, k):
    X = observations(rng, 20, k)
    order = rng.permutation(20)
    np.testing.assert_array_equal(tiger_graph(X[:, order]), relabel(tiger_graph(X), order))


def test_independent_variables_have_the_false_edges_that_the_penalty_allows(rng):
    """A correlation is N(0, 1/k), so lam = sqrt(log n / k) lets this share of them pass."""
    n, k, repeats = 30, 300, 12
    share = np.mean([vech(tiger_graph(rng.standard_normal((k, n)))).mean() for _ in range(repeats)])
    expected = 2 * norm.sf(np.sqrt(np.log(n)))
    error = np.sqrt(expected / (repeats * n * (n - 1) / 2))
    assert expected / 2 < share < expected + 3 * error


def test_the_largest_penalty_of_the_paper_leaves_independent_variables_without_edges(rng):
    assert not tiger_graph(rng.standard_normal((300, 30)), zeta=1.0).any()


def test_a_chain_is_found(rng):
    """With many observations all edges at any zeta, and nothing else at zeta = 1."""
    n = 15
    A = np.eye(n, k=1) + np.eye(n, k=-1)
    X = simulate_observations(np.eye(n) + 0.4 * A, 5000, rng)
    np.testing.assert_array_equal(tiger_graph(X, zeta=1.0), A)
    assert (tiger_graph(X)[A == 1] == 1).all()


def test_the_graph_is_the_support_of_the_symmetrised_precision_matrix(rng):
    """The paper's Theta: columns (1, -beta) / sigma^2, and the smaller of two estimates."""
    X = observations(rng, 15, 30)
    Theta = np.zeros((15, 15))
    for j in range(15):
        _, beta, left = residuals(X, j, tiger_penalty(15, 30))
        Theta[:, j] = (np.eye(15)[j] - beta) / np.mean(left**2)
    smaller = np.where(np.abs(Theta) < np.abs(Theta.T), Theta, Theta.T)
    np.testing.assert_array_equal(vech(smaller) != 0, vech(tiger_graph(X)) == 1)


def test_scores_are_the_graph_on_the_unknown_pairs_and_known_ones_change_nothing(rng):
    A = random_graph(rng, 12)
    X = observations(rng, 12, 40)
    problem = Problem.create(X, hide(A, rng, share=0.4))
    everything = tiger(Problem.create(X), rng)
    np.testing.assert_array_equal(tiger(problem, rng), everything[vech(problem.U)])
    assert set(everything) == {0.0, 1.0}
