import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from graphprior.estimate import PartialGGM
from graphprior.noise import Schedule
from graphprior.plots import (
    layout,
    picture,
    plot_certainty,
    plot_degree_histograms,
    plot_found,
    plot_known,
    plot_probabilities,
)
from graphprior.statistics import degree_histogram, graph_statistics, histogram_distance
from oracles import random_graph, random_problem


@pytest.fixture(scope="module")
def model():
    _, problem = random_problem(np.random.default_rng(0), n=9)
    fitted = PartialGGM(n_samples=4, schedule=Schedule.linear(L=2, T=5), random_state=0)
    return fitted.fit(problem.X, known=problem.known)


def axes():
    return Figure().subplots()


def test_axes_go_in_and_come_out_without_global_state(model):
    before = dict(mpl.rcParams)
    places = layout(model.adjacency_, model.problem_.names)
    for draw in (
        lambda ax: plot_known(ax, model.problem_.known, model.problem_.names, places),
        lambda ax: plot_found(ax, model, places),
        lambda ax: plot_probabilities(ax, model),
        lambda ax: plot_certainty(ax, model),
    ):
        ax = axes()
        assert draw(ax) is ax
        assert ax.get_title()
    assert dict(mpl.rcParams) == before


def test_every_found_edge_is_a_line(model):
    places = layout(model.adjacency_, model.problem_.names)
    ax = plot_found(axes(), model, places)
    assert len(ax.lines) == model.adjacency_.sum() // 2


def test_the_likeliest_unknown_pairs_come_first(model):
    ax = plot_certainty(axes(), model, most=6)
    p = ax.lines[0].get_xdata()[np.argsort(-ax.lines[0].get_ydata())]
    U = np.triu(model.problem_.U)
    assert np.array_equal(p, np.sort(model.edge_probabilities_[U])[::-1][:6])


def test_the_layout_depends_on_the_graph_alone(model):
    a, b = (layout(model.adjacency_, model.problem_.names) for _ in range(2))
    assert all(np.array_equal(a[name], b[name]) for name in a)


def test_the_picture_has_four_panels(model):
    assert len([ax for ax in picture(model).axes if ax.get_title()]) == 4


def test_statistics_of_known_graphs():
    triangle, empty = np.ones((3, 3)) - np.eye(3), np.zeros((4, 4))
    facts = graph_statistics([triangle, empty])
    assert facts["density"] == 0.5
    assert facts["clustering"] == 0.5
    assert facts["triangles"] == 0.5
    assert facts["highest_degree"] == 1.0
    assert facts["degree_histogram"] == [0.5, 0.0, 0.5, 0.0]


def test_histograms_sum_to_one_and_their_distance_is_a_metric(rng):
    a, b = (degree_histogram([random_graph(rng, n) for n in (4, 9)]) for _ in range(2))
    assert sum(a) == pytest.approx(1)
    assert histogram_distance(a, a) == 0
    assert histogram_distance(a, b) == pytest.approx(histogram_distance(b, a))
    assert histogram_distance([1.0], [0.0, 0.0, 1.0]) == 1


def test_degree_histograms_are_drawn_next_to_each_other(rng):
    sets = {name: graph_statistics([random_graph(rng, 6)]) for name in ("drawn", "given")}
    (ax,) = plot_degree_histograms(sets).axes
    assert len(ax.containers) == 2
