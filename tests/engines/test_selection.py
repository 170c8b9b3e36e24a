import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphprior.engines.direct import posterior_probabilities
from graphprior.engines.selection import LARGEST, PSEUDO_PAIRS, selection_log_odds
from graphprior.evidence.evidence import data_evidence
from graphprior.gaussian.simulate import simulate_observations, simulate_precision
from graphprior.graphs.matrices import nothing_known, unvech, vech
from graphprior.priors.exact import IndependentEdges
from graphprior.problem.problem import Problem
from oracles import random_graph


def counted(edges, gaps, n):
    """``known`` of n nodes with so many known edges and gaps."""
    a = np.full(n * (n - 1) // 2, np.nan)
    a[:edges], a[edges : edges + gaps] = 1, 0
    return unvech(a)


def hidden_by_value(A, rng, of_edges, of_gaps):
    """Every edge is hidden with one chance, every gap with another."""
    a = vech(A).astype(float)
    return unvech(np.where(rng.random(len(a)) < np.where(a == 1, of_edges, of_gaps), np.nan, a))


@given(st.integers(0, 20), st.integers(0, 20))
def test_hidden_pairs_like_the_known_ones_say_nothing(edges, gaps):
    """Up to no error at all: the pairs that are added are hidden like the rest."""
    known = counted(edges, gaps, 10)
    if edges + gaps:
        expected = (45 - edges - gaps) * edges / (edges + gaps)
        assert selection_log_odds(known, expected) == pytest.approx(0, abs=1e-9)


@given(st.integers(0, 40), st.integers(0, 40), st.floats(0, 1), st.floats(0, 1))
def test_more_hidden_edges_give_more_log_odds_within_bounds(edges, gaps, low, high):
    known = counted(edges, gaps, 14)
    unknown = 91 - edges - gaps
    low, high = sorted((low * unknown, high * unknown))
    less, more = selection_log_odds(known, low), selection_log_odds(known, high)
    assert -LARGEST <= less <= more <= LARGEST
    if edges + gaps and high - low > 1:
        assert less < more


def test_the_bounds_are_reached():
    """A thousand known gaps and no gap hidden: nobody is that sure of the ratio."""
    assert selection_log_odds(counted(0, 1000, 46), 35.0) == LARGEST
    assert selection_log_odds(counted(1000, 0, 46), 0.0) == -LARGEST


@pytest.mark.parametrize("known", [nothing_known(6), random_graph(np.random.default_rng(0), 6)])
def test_where_nothing_or_all_is_known_it_cannot_be_told(known):
    assert selection_log_odds(known, 7.0) == 0.0


@given(st.integers(1, 20), st.integers(1, 20), st.floats(0, 1))
def test_the_added_pairs_only_pull_towards_nothing(edges, gaps, share):
    known = counted(edges, gaps, 10)
    unknown = 45 - edges - gaps
    hidden = share * unknown
    found = selection_log_odds(known, hidden)
    with np.errstate(divide="ignore"):
        of_edges, of_gaps = (
            hidden / (hidden + edges),
            (unknown - hidden) / (unknown - hidden + gaps),
        )
        plain = np.log(of_edges) - np.log(of_gaps)
    assert abs(found) <= abs(plain) + 1e-9
    assert found * plain >= -1e-9


@pytest.mark.parametrize("ratio", [1.0, 5.0, 0.2])
def test_a_true_ratio_is_recovered_on_large_graphs(rng, ratio):
    chance = np.array([0.5, 0.5 / ratio]) if ratio > 1 else np.array([0.5 * ratio, 0.5])
    errors, noise = [], []
    for _ in range(5):
        A = random_graph(rng, 150, 0.1)
        known = hidden_by_value(A, rng, *chance)
        hidden = float(vech(A)[np.isnan(vech(known))].sum())
        errors.append(selection_log_odds(known, hidden) - np.log(ratio))
        counts = np.array([vech(A).sum(), (1 - vech(A)).sum()])
        noise.append(np.sqrt(((1 - chance) / (chance * counts)).sum()))
    shrinkage = PSEUDO_PAIRS / (0.1 * 150 * 149 / 2) * abs(np.log(ratio))
    assert np.abs(errors).max() < 4 * max(noise) + 2 * shrinkage
    assert max(noise) < 0.1


def test_where_edges_are_hidden_more_often_their_number_is_better_told(record_property):
    """The prior is the rate among known pairs: without the estimate it expects too few edges."""
    errors = {True: [], False: []}
    for seed in range(12):
        rng = np.random.default_rng(seed)
        A = random_graph(rng, 14, 0.2)
        X = simulate_observations(simulate_precision(A, rng, tries=20000), 400, rng)
        problem = Problem.create(X, hidden_by_value(A, rng, 0.75, 0.15))
        seen = vech(problem.known)[~np.isnan(vech(problem.known))]
        prior = IndependentEdges((seen.sum() + 0.5) / (len(seen) + 1))
        found = data_evidence(problem)
        for by_value, error in errors.items():
            P = posterior_probabilities(problem.known, prior, found, by_value=by_value)
            error.append((P.edge_probabilities - A)[problem.U].sum() / 2)
    for by_value, error in errors.items():
        record_property(f"mean_error_{'by_value' if by_value else 'at_random'}", np.mean(error))
        record_property(
            f"absolute_error_{'by_value' if by_value else 'at_random'}", np.abs(error).mean()
        )
    less = np.abs(errors[False]) - np.abs(errors[True])
    assert less.mean() > 2 * less.std(ddof=1) / np.sqrt(len(less))
    assert np.mean(errors[False]) < np.mean(errors[True])
