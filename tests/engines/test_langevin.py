import numpy as np
import pytest
import torch

from graphprior.engines.langevin import (
    UnknownPairs,
    annealed_langevin,
    initial_state,
    langevin_step,
    project,
    resolve_device,
    sample_graphs,
    total_score,
)
from graphprior.errors import GraphPriorError
from graphprior.evidence.plug_in import PlugInLikelihood
from graphprior.evidence.precision import constrained_mle
from graphprior.gaussian.simulate import simulate_observations
from graphprior.graphs.matrices import hide, nothing_known, unknown_mask, vech
from graphprior.priors.exact import FiniteGraphs, IndependentEdges, all_graphs, ergm_log_weight
from graphprior.priors.noise import Schedule
from graphprior.problem.problem import Problem
from oracles import approximate_posterior, random_graph, random_precision, random_problem

SHORT = Schedule.linear(L=3, T=5)
# What a user gets who asks for nothing else.
MIXING = Schedule.relaxed()


def generators(seed, M):
    return np.random.default_rng(seed).spawn(M)


def last(chain):
    for state, _ in chain:
        final = state
    return final.A_tilde


@pytest.mark.parametrize("relative_step", [0.05, 0.5, 1.0])
def test_a_gaussian_target_has_its_discretisation_variance(relative_step):
    """Langevin on N(m, s**2) with step alpha settles at variance s**2 / (1 - alpha / (2 s**2))."""
    s, m, n, M = 0.3, 0.2, 30, 30
    schedule = Schedule((s,), T=int(20 / relative_step), epsilon=relative_step * s**2)
    known = torch.as_tensor(nothing_known(n))
    chain = annealed_langevin(lambda A, sigma: (m - A) / s**2, known, schedule, generators(0, M))
    a = vech(last(chain).numpy()).ravel()
    variance = s**2 / (1 - relative_step / 2)
    assert abs(a.mean() - m) < 4 * np.sqrt(variance / len(a))
    assert abs(a.var() - variance) < 4 * variance * np.sqrt(2 / len(a))


def test_without_noise_a_step_is_the_drift(rng):
    known = torch.as_tensor(nothing_known(4))
    state = initial_state(known, generators(0, 2))
    unknown = UnknownPairs.of(known)
    z = torch.zeros(2, 6, dtype=torch.float64)
    moved = langevin_step(state, z, lambda A, sigma: torch.ones_like(A), 0.5, 0.01, unknown)
    np.testing.assert_allclose(vech((moved.A_tilde - state.A_tilde).numpy()), 0.01)


def test_the_chain_starts_around_one_half_with_standard_deviation_one_half():
    A = initial_state(torch.as_tensor(nothing_known(30)), generators(0, 20)).A_tilde
    a = vech(A.numpy()).ravel()
    assert abs(a.mean() - 0.5) < 4 * 0.5 / np.sqrt(len(a))
    assert abs(a.std() - 0.5) < 4 * 0.5 / np.sqrt(2 * len(a))


def small_problem(seed, k):
    """Four nodes with four unknown pairs, and correlations weak enough to mix."""
    rng = np.random.default_rng(seed)
    A = random_graph(rng, 4, 0.5)
    X = simulate_observations(random_precision(rng, A, 0.35), k, rng)
    return Problem.create(X, hide(A, rng, count=4))


def total_variation_from_enumeration(seed, k, M=1500):
    problem, graphs = small_problem(seed, k), all_graphs(4)
    log_prior = ergm_log_weight(graphs, (0.4, -0.6), 1.5)
    fit = constrained_mle(problem)
    graphs, p = approximate_posterior(problem.known, fit.Theta, fit.S, k, log_prior)
    prior = FiniteGraphs(list(all_graphs(4)), log_prior)
    likelihood = PlugInLikelihood.create(fit.Theta, fit.S, k)
    rng = np.random.default_rng(seed)
    samples = sample_graphs(problem.known, prior, likelihood, rng, M, MIXING).samples
    q = np.array([(samples == A).all((1, 2)).mean() for A in graphs])
    noise = 0.5 * np.sqrt(2 * p * (1 - p) / (np.pi * M)).sum()  # of M independent draws
    return 0.5 * np.abs(p - q).sum(), noise


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "k"), [(2, 40), (7, 40), (9, 40)])
def test_posterior_samples_match_exact_enumeration(seed, k, record_property):
    """Twice the likelihood score, as Eq. (27) is printed, would be off by 0.23 or more."""
    distance, noise = total_variation_from_enumeration(seed, k)
    record_property("total_variation", distance)
    assert distance < noise + 0.05


@pytest.mark.slow
def test_prior_samples_match_exact_enumeration():
    """LPr alone on a parity-like prior: all graphs on four nodes, some pairs known."""
    graphs = all_graphs(4)
    log_prior = ergm_log_weight(graphs, (0.7, -1.0), 0.8)
    known = nothing_known(4)
    known[0, 1] = known[1, 0] = 1.0
    agree = graphs[:, 0, 1] == 1
    p = np.exp(log_prior[agree] - log_prior[agree].max())
    p = p / p.sum()
    M = 1500
    prior = FiniteGraphs(list(graphs), log_prior)
    samples = sample_graphs(known, prior, None, np.random.default_rng(0), M, MIXING).samples
    q = np.array([(samples == A).all((1, 2)).mean() for A in graphs[agree]])
    noise = 0.5 * np.sqrt(2 * p * (1 - p) / (np.pi * M)).sum()
    assert 0.5 * np.abs(p - q).sum() < noise + 0.03


def fitted(problem):
    fit = constrained_mle(problem)
    return PlugInLikelihood.create(fit.Theta, fit.S, problem.k)


def test_known_entries_never_move(rng):
    _, problem = random_problem(rng, n=7)
    known = torch.tensor(problem.known)
    score = total_score(IndependentEdges(0.2).score(known), fitted(problem))
    O = torch.as_tensor(problem.O)  # noqa: E741
    for state, _ in annealed_langevin(score, known, SHORT, generators(0, 3)):
        assert torch.equal(state.A_tilde[:, O], known[O].expand(3, -1))
        assert torch.equal(state.A_tilde, state.A_tilde.mT)
        assert not state.A_tilde.diagonal(dim1=1, dim2=2).any()


def test_same_seed_same_bytes_and_another_seed_other_graphs(rng):
    _, problem = random_problem(rng, n=8, share=1.0)
    runs = [
        sample_graphs(
            problem.known,
            IndependentEdges(0.3),
            fitted(problem),
            np.random.default_rng(s),
            5,
            SHORT,
        ).samples.tobytes()
        for s in (1, 1, 2)
    ]
    assert runs[0] == runs[1] != runs[2]


def test_a_batch_of_chains_equals_its_parts(rng):
    _, problem = random_problem(rng, n=6)
    known = torch.tensor(problem.known)
    score = total_score(IndependentEdges(0.3).score(known), fitted(problem))
    batch = last(annealed_langevin(score, known, SHORT, generators(0, 4)))
    for m in range(4):
        alone = last(annealed_langevin(score, known, SHORT, generators(0, 4)[m : m + 1]))
        torch.testing.assert_close(alone[0], batch[m])


def test_relabelling_nodes_relabels_the_likelihood_score_of_a_chain(rng):
    _, problem = random_problem(rng, n=5, k=30, share=1.0)
    order = np.array([3, 0, 4, 1, 2])
    known = torch.tensor(problem.known)
    here = initial_state(known, generators(0, 2)).A_tilde
    there = here[:, order][:, :, order]
    moved = Problem.create(problem.X[:, order], problem.known[np.ix_(order, order)])
    a, b = fitted(problem)(here, 0.5), fitted(moved)(there, 0.5)
    torch.testing.assert_close(b, a[:, order][:, :, order], rtol=1e-4, atol=1e-4)


def test_the_variants_are_sums_of_scores(rng):
    A = torch.as_tensor(np.stack([random_graph(rng, 5)]))
    one = lambda A, sigma: A * sigma  # noqa: E731
    two = lambda A, sigma: A + 1  # noqa: E731
    torch.testing.assert_close(total_score(one, two)(A, 0.3), A * 0.3 + A + 1)
    torch.testing.assert_close(total_score(one)(A, 0.3), A * 0.3)


def test_indefinite_starts_are_counted(rng):
    """Known strong edges and noisy others: most starts are indefinite, and the count says so."""
    _, problem = random_problem(rng, n=10, k=15, density=0.6, share=1.0)
    likelihood = fitted(problem)
    known = torch.tensor(problem.known)
    starts = initial_state(known, generators(3, 8)).A_tilde
    expected = np.mean(
        [
            np.linalg.eigvalsh((likelihood.Theta_hat * (A + torch.eye(10))).numpy())[0] <= 0
            for A in starts
        ]
    )
    rng = np.random.default_rng(3)
    posterior = sample_graphs(problem.known, None, likelihood, rng, 8, SHORT)
    assert 0 < expected
    assert posterior.diagnostics.indefinite_at_start == expected
    assert set(posterior.diagnostics.indefinite_by_level) == {"0.500", "0.265", "0.030"}


def test_steps_are_cut_where_the_likelihood_is_stiff(rng):
    """Beyond the inverse of the curvature a step overshoots, and large k would never settle."""
    A = random_graph(rng, 6, 0.4)
    X = simulate_observations(random_precision(rng, A, 0.8), 200_000, rng)
    problem = Problem.create(X)
    posterior = sample_graphs(problem.known, None, fitted(problem), rng, 8, Schedule.linear(T=50))
    assert posterior.diagnostics.levels_with_shorter_steps > 0
    assert posterior.diagnostics.indefinite_share < 0.02
    assert (posterior.edge_probabilities[A == 1] == 1).all()


@pytest.mark.slow
@pytest.mark.parametrize("k", [20, 200_000])
def test_the_schedule_unless_given_is_the_relaxed_one(rng, k):
    """Stretched where the likelihood is stiff, and traced at the end of every level."""
    A = random_graph(rng, 5, 0.4)
    X = simulate_observations(random_precision(rng, A, 0.8), k, rng)
    problem = Problem.create(X)

    def draw(schedule):
        chains = np.random.default_rng(0)
        return sample_graphs(problem.known, None, fitted(problem), chains, 4, schedule)

    own, relaxed = draw(None), draw(Schedule.relaxed())
    assert np.array_equal(own.samples, relaxed.samples)
    shortened = own.diagnostics.levels_with_shorter_steps
    assert (shortened > 0) == (k > 20)
    fewest, most = (800, 800) if k == 20 else (801, 3200)
    assert fewest <= own.diagnostics.steps <= most
    assert own.trace.shape == (4, 20)


def test_projection_is_at_one_half():
    assert project(torch.tensor([[0.49, 0.5, 1.7, -3.0]])).tolist() == [[0, 1, 1, 0]]


def test_a_chain_that_leaves_all_bounds_is_an_error():
    known = torch.as_tensor(nothing_known(3))
    runaway = annealed_langevin(lambda A, sigma: A * 1e300 * A, known, SHORT, generators(0, 1))
    with pytest.raises(GraphPriorError, match="left all bounds"):
        last(runaway)


def test_nothing_to_follow_is_refused(rng):
    with pytest.raises(GraphPriorError, match="neither prior nor likelihood"):
        sample_graphs(nothing_known(3), None, None, rng)


def test_an_unknown_device_is_refused():
    with pytest.raises(GraphPriorError, match="cannot be used"):
        resolve_device("no-such-device")


def test_progress_is_reported_for_every_step(rng):
    seen = []
    sample_graphs(
        nothing_known(3),
        IndependentEdges(0.5),
        None,
        rng,
        2,
        SHORT,
        progress=lambda *a: seen.append(a),
    )
    assert seen == [(step, 15) for step in range(1, 16)]


def test_everything_unknown_moves(rng):
    posterior = sample_graphs(nothing_known(6), IndependentEdges(0.5), None, rng, 40, MIXING)
    U = unknown_mask(nothing_known(6))
    share = posterior.edge_probabilities[U]
    assert (share > 0).all()
    assert (share < 1).all()
    assert abs(share.mean() - 0.5) < 4 * 0.5 / np.sqrt(15 * 40)


def test_the_trace_counts_the_edges_of_each_chain_at_the_end_of_each_level(rng):
    known = hide(random_graph(rng, 6, density=0.5), rng, count=9)
    prior, known_t = IndependentEdges(0.5), torch.tensor(known)
    found = sample_graphs(known, prior, None, np.random.default_rng(4), 3, SHORT)
    chain = annealed_langevin(prior.score(known_t), known_t, SHORT, generators(4, 3))
    ends = [project(state.A_tilde) for state, _ in chain][SHORT.T - 1 :: SHORT.T]
    expected = [vech(A)[:, np.isnan(vech(known))].sum(1) for A in ends]
    assert np.array_equal(found.trace, np.transpose(expected))
