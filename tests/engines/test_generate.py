import numpy as np
import pytest

from graphprior.engines.generate import GENERATION, draw_graphs
from graphprior.errors import GraphPriorError
from graphprior.graphs.matrices import check_adjacency, vech
from graphprior.priors.exact import FiniteGraphs, IndependentEdges, all_graphs, ergm_log_weight
from graphprior.priors.noise import Schedule


def test_graphs_drawn_from_a_listed_prior_have_its_distribution():
    graphs = all_graphs(4)
    log_prior = ergm_log_weight(graphs, (0.7, -1.0), 0.8)
    p = np.exp(log_prior - log_prior.max())
    p = p / p.sum()
    M = 800
    drawn = draw_graphs(FiniteGraphs(list(graphs), log_prior), [4] * M)
    index = (vech(np.stack(drawn)) @ (1 << np.arange(6))).astype(int)
    q = np.bincount(index, minlength=64) / M
    noise = 0.5 * np.sqrt(2 * p * (1 - p) / (np.pi * M)).sum()
    assert 0.5 * np.abs(p - q).sum() < noise + 0.04


def test_density_is_that_of_the_prior_whatever_the_start():
    graphs = draw_graphs(IndependentEdges(0.1), [12] * 20)
    density = np.mean([vech(A).mean() for A in graphs])
    assert abs(density - 0.1) < 4 * np.sqrt(0.1 * 0.9 / (20 * 66))


def test_sizes_are_those_asked_for_and_every_graph_is_one():
    graphs = draw_graphs(IndependentEdges(0.5), [5, 3, 5], schedule=Schedule.linear(L=2, T=2))
    assert [len(A) for A in graphs] == [3, 5, 5]
    for A in graphs:
        check_adjacency(A)


def test_same_seed_same_graphs():
    draw = lambda seed: np.stack(  # noqa: E731
        draw_graphs(IndependentEdges(0.5), [6] * 4, seed, Schedule.linear(L=2, T=3))
    )
    assert np.array_equal(draw(1), draw(1))
    assert not np.array_equal(draw(1), draw(2))


def test_progress_runs_once_to_the_end():
    seen = []
    schedule = Schedule.linear(L=2, T=3)
    draw_graphs(IndependentEdges(0.5), [3, 4], 0, schedule, progress=lambda *a: seen.append(a))
    assert seen == [(step, 12) for step in range(1, 13)]


def test_the_schedule_starts_where_a_density_cannot_be_told():
    """At sigma_1 the noise of a mean over 200 pairs must exceed the spread of densities, 0.1."""
    assert GENERATION.sigmas[0] / np.sqrt(200) > 0.1


@pytest.mark.parametrize("sizes", [[], [1], [4, 0]])
def test_impossible_sizes_are_refused(sizes):
    with pytest.raises(GraphPriorError, match="sizes"):
        draw_graphs(IndependentEdges(0.5), sizes)


def test_priors_are_drawn_from_by_name_and_at_their_own_size():
    (A,) = draw_graphs("egonets", [6])
    assert A.shape == (6, 6)
    with pytest.raises(GraphPriorError, match="about 4 nodes"):
        draw_graphs(FiniteGraphs(all_graphs(4)), [5])
