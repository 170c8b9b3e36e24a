import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import helmert
from scipy.optimize import minimize
from scipy.special import gammaln, logit
from scipy.stats import multivariate_normal, norm, qmc

from calibration import slope, worst_bin
from graphprior.evidence.evidence import data_evidence
from graphprior.evidence.quadratic import integrate_out, linearise
from graphprior.evidence.slab import Slab, rate_prior
from graphprior.gaussian.linalg import to_unit_diagonal
from graphprior.gaussian.simulate import log_likelihood, simulate_observations, simulate_precision
from graphprior.graphs.matrices import hide, unvech, vech
from graphprior.observations.moments import sample_covariance
from graphprior.problem.problem import Problem
from oracles import is_falling, random_graph, random_precision, random_problem, relabel


def simulated(rng, n, k, share, density=0.2, **options):
    """A graph, its precision as in the paper, and the problem of finding a share of it."""
    A = random_graph(rng, n, density)
    Theta = simulate_precision(A, rng, tries=5000)
    return (
        A,
        Theta,
        Problem.create(simulate_observations(Theta, k, rng), hide(A, rng, share=share, **options)),
    )


# The likelihood as a Gaussian.


def at_entries(rows, cols, values, n):
    Theta = np.zeros((n, n))
    Theta[rows, cols] = Theta[cols, rows] = values
    return Theta


def test_linearise_touches_the_likelihood(rng):
    """F is minus the Hessian and b - F theta the slope, diagonal entries and pairs alike."""
    n, k = 4, 30
    Theta = random_precision(rng, random_graph(rng, n, 0.6))
    S = sample_covariance(rng.standard_normal((k, n)))
    rows, cols = np.triu_indices(n)
    theta, m = Theta[rows, cols], len(rows)
    found = linearise(Theta, S, k, rows, cols)

    def value(x):
        return log_likelihood(at_entries(rows, cols, x, n), S, k)

    steps = 1e-3 * np.eye(m)
    slope = [(value(theta + h) - value(theta - h)) / 2e-3 for h in steps]
    np.testing.assert_allclose(found.b - found.F @ theta, slope, rtol=1e-3, atol=1e-3)
    hessian = [
        [
            value(theta + g + h)
            - value(theta + g - h)
            - value(theta - g + h)
            + value(theta - g - h)
            for g in steps
        ]
        for h in steps
    ]
    np.testing.assert_allclose(found.F, -np.array(hessian) / 4e-6, rtol=1e-3, atol=1e-3 * k)


@given(st.integers(2, 8), st.integers(0, 999))
def test_integrating_out_is_gaussian_marginalisation(m, seed):
    """Marginal covariance and mean of exp(b theta - theta F theta / 2) times the prior."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((2 * m, m))
    F, b = Z.T @ Z, rng.standard_normal(m)
    nuisance = np.arange(m) < rng.integers(1, m)
    rng.shuffle(nuisance)
    precision = rng.choice([0.0, 2.0], int(nuisance.sum()))
    prior = np.zeros(m)
    prior[nuisance] = precision
    cov = np.linalg.inv(F + np.diag(prior))
    mean = cov @ b
    rest, shift, slope, at_zero, _ = integrate_out(F, b, nuisance, precision)
    np.testing.assert_allclose(np.linalg.inv(rest), cov[np.ix_(~nuisance, ~nuisance)], atol=1e-8)
    np.testing.assert_allclose(np.linalg.solve(rest, shift), mean[~nuisance], atol=1e-8)
    # The conditional mean, at the mean and along the regression on the others.
    np.testing.assert_allclose(slope @ mean[~nuisance] + at_zero, mean[nuisance], atol=1e-8)
    across = cov[np.ix_(nuisance, ~nuisance)]
    np.testing.assert_allclose(slope, across @ rest, atol=1e-8)


# What does not matter.


def test_relabelling_relabels_the_evidence(rng):
    for k in (5, 40):
        _, _, problem = simulated(rng, 8, k, 0.5)
        order = rng.permutation(8)
        moved = Problem.create(problem.X[:, order], relabel(problem.known, order))
        here, there = data_evidence(problem), data_evidence(moved)
        np.testing.assert_allclose(there.log_bf, relabel(here.log_bf, order), atol=1e-6)
        assert there.slab == pytest.approx(here.slab, abs=1e-8)


def test_units_and_origins_do_not_matter(rng):
    for k in (4, 40):
        _, _, problem = simulated(rng, 8, k, 0.5)
        X = problem.X * 10.0 ** rng.uniform(-3, 3, 8)
        moved = Problem.create(X + rng.normal(0, 10, 8) * X.std(axis=0), problem.known)
        here, there = data_evidence(problem), data_evidence(moved)
        np.testing.assert_allclose(there.log_bf, here.log_bf, atol=1e-6)


def test_an_estimated_mean_costs_one_observation(rng):
    """Contrasts of k rows are k - 1 independent rows with mean zero and the same scatter."""
    _, _, problem = simulated(rng, 6, 12, 0.5)
    contrasts = Problem.create(helmert(12) @ problem.X, problem.known, assume_centered=True)
    here, there = data_evidence(problem), data_evidence(contrasts)
    np.testing.assert_allclose(there.log_bf, here.log_bf, atol=1e-6)


@pytest.mark.parametrize("k", [2, 3, 5, 100])
@pytest.mark.parametrize("n", [2, 3, 12])
@pytest.mark.parametrize("unknown", ["all", "half", "one"])
def test_any_shape_of_problem_has_evidence(n, k, unknown):
    rng = np.random.default_rng(n + k)
    A, _, problem = simulated(rng, n, k, 0.5 if n > 2 else 1.0)
    known = {"all": None, "half": problem.known, "one": A.copy()}[unknown]
    if unknown == "one":
        known[0, 1] = known[1, 0] = np.nan
    problem = Problem.create(problem.X, known)
    found = data_evidence(problem)
    assert np.isfinite(found.log_bf).all()
    assert np.array_equal(found.log_bf, found.log_bf.T)
    assert not found.log_bf[~problem.U].any()
    assert found.beliefs.converged
    F = found.coupled().F
    assert np.linalg.eigvalsh(F)[0] > -1e-8 * np.abs(F).max()
    assert 0 < found.slab.variance <= 0.25
    assert 0 < found.slab.rate < 1
    if k <= 3:  # two centred observations cannot tell much
        assert np.abs(found.log_bf).max() < 3


@pytest.mark.parametrize("known", [None, np.zeros((2, 2))])
def test_uncorrelated_columns_are_no_obstacle(known):
    X = np.array([[1.0, 1], [1, -1], [-1, 1], [-1, -1]])
    found = data_evidence(Problem.create(X, known))
    assert (found.log_bf <= 0).all()


# The truth.


def test_many_observations_tell_the_truth(record_property):
    """For a gap log BF is -log(1 + k s2) / 2 + chi2 / 2, above -2 about once in forty times."""
    on, off = [], []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        A = random_graph(rng, 6, 0.4)
        X = simulate_observations(random_precision(rng, A, 0.5), 100_000, rng)
        problem = Problem.create(X, hide(A, rng, share=[0.5, 1.0][seed % 2]))
        found = data_evidence(problem)
        truth = A[found.rows, found.cols] == 1
        on += list(found.beliefs.log_bf[truth])
        off += list(found.beliefs.log_bf[~truth])
    record_property("least_for_an_edge", min(on))
    record_property("most_for_a_gap", max(off))
    record_property("mean_for_a_gap", np.mean(off))
    assert len(on) > 20
    assert len(off) > 20
    assert min(on) > 5
    assert max(off) < -1
    assert np.mean(np.array(off) > -2) < 1 / 40 + 4 * np.sqrt(1 / 40 / len(off))
    assert np.mean(off) < -3


@pytest.mark.slow
def test_more_observations_say_more():
    """The mean log score of the hidden pairs falls with k."""
    scores = []
    for k in (5, 20, 80, 320):
        losses = []
        for seed in range(12):
            rng = np.random.default_rng(seed)
            A, _, problem = simulated(rng, 7, k, 0.5, density=0.3)
            found = data_evidence(problem)
            z = np.where(A[found.rows, found.cols] == 1, 1, -1) * (
                found.beliefs.log_bf + logit(0.3)
            )
            losses.append(np.logaddexp(0, -z).mean())
        scores.append(np.mean(losses))
    assert is_falling(scores)
    assert scores[-1] < 0.6 * scores[0]


# The exact Bayes factor, by integration.


def log_integral(S, k, s2, free, points=2**12):
    """log p(X | free pairs) with Theta = D^(1/2) P D^(1/2).

    P_ij ~ N(0, s2) at free pairs and 0 elsewhere, log D flat; likelihood zero where P is not
    definite. Importance sampling about the mode with a Sobol sequence.
    """
    n = len(S)
    rows, cols = np.array(free, dtype=int).reshape(-1, 2).T

    def log_density(x):
        d, P = np.exp(x[:, :n] / 2), np.tile(np.eye(n), (len(x), 1, 1))
        P[:, rows, cols] = P[:, cols, rows] = x[:, n:]
        definite = np.linalg.eigvalsh(P)[:, 0] > 0
        log_det = np.linalg.slogdet(P)[1] + x[:, :n].sum(1)
        fit = k / 2 * (log_det - np.einsum("ij,ti,tj,tij->t", S, d, d, P))
        prior = norm.logpdf(x[:, n:], scale=np.sqrt(s2)).sum(1)
        return np.where(definite, fit + prior, -np.inf)

    def loss(x):
        return min(-log_density(x[None])[0], 1e9)

    start = np.concatenate([-np.log(np.diag(S)), np.zeros(len(rows))])
    mode, h = minimize(loss, start, method="BFGS", options={"gtol": 1e-3}).x, 1e-3
    steps = h * np.eye(len(mode))
    hessian = [
        [loss(mode + a + b) - loss(mode + a - b) - loss(mode - a + b) + loss(mode - a - b)]
        for a in steps
        for b in steps
    ]
    H = np.reshape(hessian, (len(mode), len(mode))) / (4 * h**2)
    wide = multivariate_normal(mode, 1.5 * np.linalg.inv(H))
    u = qmc.Sobol(len(mode), seed=0).random(points)
    x = mode + norm.ppf(u) @ np.linalg.cholesky(wide.cov).T
    log_w = log_density(x) - wide.logpdf(x)
    return np.log(np.exp(log_w - log_w.max()).mean()) + log_w.max()


def test_the_integral_is_exact_for_independent_variables(rng):
    """The oracle itself: without edges the integral over log D is a product of gammas."""
    for k in (5, 50):
        S = np.diag(rng.uniform(0.5, 2, 3))
        expected = (gammaln(k / 2) - k / 2 * np.log(k / 2 * np.diag(S))).sum()
        assert log_integral(S, k, 0.1, []) == pytest.approx(expected, abs=2e-3)


def gap_to_integration(rng, k, strength, edges):
    """(log BF of pair (0, 1), exact) for n = 3, the other pairs known, the slab given."""
    P = np.eye(3)
    for (i, j), value in edges.items():
        P[i, j] = P[j, i] = value
    P[0, 1] = P[1, 0] = strength
    known = np.where(np.eye(3) == 1, 0.0, (P != 0).astype(float))
    known[0, 1] = known[1, 0] = np.nan
    X = simulate_observations(P, k, rng)
    slab = Slab(0.1, 0.3)
    found = data_evidence(Problem.create(X, known, assume_centered=True), fixed=slab)
    S, _ = to_unit_diagonal(sample_covariance(X, assume_centered=True))
    s2, free = slab.variance, list(edges)
    exact = log_integral(S, k, s2, [(0, 1), *free]) - log_integral(S, k, s2, free)
    return found.log_bf[0, 1], exact


@pytest.mark.parametrize("k", [20, 100, 500, 2500])
def test_evidence_is_near_the_integral_where_it_matters(k, record_property):
    """One unknown pair, about as strong as k observations can just see; two strong known edges.

    The integral takes strengths for partial correlations, the chains for entries of Theta on
    a scale on which its diagonal is 1 on average: with few rows that is not quite the same.
    """
    found, exact = np.transpose([
        gap_to_integration(
            np.random.default_rng(seed), k, c / np.sqrt(k), {(0, 2): 0.5, (1, 2): -0.45}
        )
        for seed, c in enumerate([0, 1, -1, 0.5, -1.5, 0])
    ])  # fmt: skip
    gap = np.abs(found - exact)
    record_property("mean_gap", gap.mean())
    record_property("largest_gap", gap.max())
    assert np.abs(exact).max() > 0.5
    assert gap.max() < {20: 0.5, 100: 0.2, 500: 0.15, 2500: 0.15}[k]


def test_evidence_for_a_strong_edge_is_that_of_the_integral(record_property):
    ratios = []
    for seed, k in enumerate([80, 80, 320, 320]):
        edges = {(0, 2): 0.3} if seed % 2 else {}
        found, exact = gap_to_integration(np.random.default_rng(seed), k, 0.35, edges)
        assert found > 2
        ratios.append(found / exact)
    record_property("least_ratio", min(ratios))
    assert min(ratios) > 0.8
    assert max(ratios) < 1.1


# Rates, slabs, calibration.


@pytest.fixture(scope="module")
def pooled():
    """log Bayes factors of hidden pairs and whether they are edges, of 150 problems for each k."""
    pool = {}
    for k in (40, 200):
        log_bf, truth = [], []
        for seed in range(150):
            A, _, problem = simulated(np.random.default_rng(seed), 8, k, 1 / 3)
            found = data_evidence(problem)
            log_bf.append(found.beliefs.log_bf)
            truth.append(A[found.rows, found.cols])
        pool[k] = np.concatenate(log_bf), np.concatenate(truth)
    return pool


@pytest.mark.slow
@pytest.mark.parametrize("k", [40, 200])
def test_probabilities_are_frequencies(pooled, k, record_property):
    """Within 4 standard errors and 0.02, in bins of log-odds."""
    bins = [(-99, -2), (-2, -1.5), (-1.5, -1), (-1, 0), (0, 2), (2, 99)]
    assert worst_bin(*pooled[k], bins, 20, record_property) < 4


@pytest.mark.parametrize("k", [40, 200])
def test_log_odds_have_the_right_scale(pooled, k, record_property):
    """The slope of a logistic regression of the truth on the log Bayes factor is 1."""
    found, error = slope(*pooled[k], record_property)
    assert abs(found - 1) < 0.2 + 4 * error < 0.8


def test_evidence_given_its_own_rate_is_itself(record_property):
    """Up to the error of drawing: a run at the mean rate against one that draws the rate."""
    gaps = []
    for seed in range(10):
        _, _, problem = simulated(np.random.default_rng(seed), 8, 40, 0.6)
        slab = Slab(0.08, 0.3)
        here = data_evidence(problem, fixed=slab)
        there = here.given(np.full((8, 8), logit(slab.rate)))
        gaps.append(np.abs(there.beliefs.p - here.beliefs.p).max())
        assert there.slab == pytest.approx(here.slab)
    record_property("largest_gap", max(gaps))
    assert max(gaps) < 0.08
    assert np.mean(gaps) < 0.04


def test_told_odds_change_the_answer_for_their_pair_and_hardly_the_evidence(rng):
    _, _, problem = simulated(rng, 8, 60, 0.6)
    here = data_evidence(problem)
    told = np.full((8, 8), logit(here.slab.rate))
    i, j = here.rows[0], here.cols[0]
    told[i, j] = told[j, i] = 3.0
    there = here.given(told)
    assert there.beliefs.p[0] > here.beliefs.p[0] + 0.1
    assert there.log_bf[i, j] == pytest.approx(here.log_bf[i, j], abs=0.4)


@pytest.mark.parametrize("kind", ["gaussian", "never weak", "of one sign"])
def test_the_shape_of_strengths_is_found_where_edges_are_known(kind, record_property):
    """Size within a fifth and 4 standard errors, and whether there are humps, and signs."""
    ratios, shapes, signs = [], [], []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        A = random_graph(rng, 20, 0.15)
        t = {
            "gaussian": rng.normal(0, 0.2, A.shape),
            "never weak": rng.uniform(0.2, 0.3, A.shape) * rng.choice([-1, 1], A.shape),
            "of one sign": -np.abs(rng.normal(0, 0.2, A.shape)),
        }[kind]
        V = np.triu(A * t, 1)
        Theta = np.eye(20) + V + V.T
        if np.linalg.eigvalsh(Theta)[0] < 0.1:
            continue
        known = hide(A, rng, share=0.3)
        found = data_evidence(Problem.create(simulate_observations(Theta, 1500, rng), known))
        ratios.append(found.slab.variance / (V[V != 0] ** 2).mean())
        shapes.append(found.slab.hump)
        signs.append(found.slab.positive)
    assert len(ratios) > 3
    record_property("mean_ratio", np.mean(ratios))
    record_property("mean_hump", np.mean(shapes))
    error = 4 * np.std(ratios) / np.sqrt(len(ratios))
    assert abs(np.mean(ratios) - 1) < 0.2 + error < 0.6
    if kind == "never weak":
        assert min(shapes) > 0.85
    if kind == "gaussian":
        assert np.mean(shapes) < 0.5
    if kind == "of one sign":
        assert max(signs) < 0.15


def test_the_rate_is_that_of_the_hidden_pairs(record_property):
    """However few edges are known: nearly all of the graph's edges are hidden here, among as
    many gaps. The estimate leans to the known pairs, by 40 of them at most."""
    errors = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        a = vech(random_graph(rng, 12, 0.2))
        A = unvech(a)
        X = simulate_observations(simulate_precision(A, rng, tries=5000), 2000, rng)
        gaps = rng.permutation(np.flatnonzero(a == 0))[: int(a.sum())]
        known = a.copy()
        known[gaps] = known[np.flatnonzero(a == 1)[1:]] = np.nan
        problem = Problem.create(X, unvech(known))
        before = rate_prior(problem.known)
        found = data_evidence(problem)
        hidden = problem.U[np.triu_indices(12, 1)]
        expected = (a[hidden].sum() + before.edges) / (hidden.sum() + sum(before))
        assert before.mean < 0.1
        errors.append(found.slab.rate - expected)
    record_property("mean_error", np.mean(errors))
    record_property("largest_error", np.abs(errors).max())
    assert abs(np.mean(errors)) < 0.03 + 4 * np.std(errors) / np.sqrt(8)
    assert np.abs(errors).max() < 0.2


@pytest.mark.slow
def test_random_problems_of_another_kind_are_no_harder():
    """Diagonally dominant precisions, other strengths: certain answers are right."""
    right = []
    for seed in range(20):
        A, problem = random_problem(np.random.default_rng(seed), 8, 1000, share=0.7)
        found = data_evidence(problem)
        certain = np.abs(found.beliefs.log_bf + logit(found.slab.rate)) > 4
        right += list(
            (found.beliefs.p[certain] > 0.5) == A[found.rows[certain], found.cols[certain]]
        )
    assert len(right) > 30
    assert np.mean(right) > 0.98 - 4 * np.sqrt(0.02 / len(right))
