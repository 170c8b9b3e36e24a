import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from graphprior import plots
from graphprior.errors import GraphPriorError, notes
from graphprior.estimator import PartialGGM
from graphprior.graphs.layout import places
from graphprior.graphs.statistics import degree_histogram, graph_statistics, histogram_distance
from graphprior.plots import layout, picture, plot_degree_histograms
from graphprior.priors.noise import Schedule
from graphprior.results.metrics import reliability
from oracles import engine_with, random_graph, random_problem

A, PROBLEM = random_problem(np.random.default_rng(0), n=9)
PLOTS = {
    "known": plots.plot_known,
    "graph": plots.plot_graph,
    "probabilities": plots.plot_probabilities,
    "certainty": plots.plot_certainty,
    "reasons": plots.plot_reasons,
    "prior and data": plots.plot_prior_and_data,
    "reliability": lambda model, ax=None: plots.plot_reliability(model, A, ax=ax),
    "traces": plots.plot_traces,
    "summary": plots.plot_summary,
}


def fitted(name):
    engine = engine_with(name, draws=45, schedule=Schedule.linear(L=2, T=5))
    return PartialGGM(None, engine=engine, random_state=0).fit(PROBLEM.X, known=PROBLEM.known)


@pytest.fixture(scope="module")
def model():
    return fitted("gibbs")


def axes():
    return Figure().subplots()


@pytest.mark.parametrize("name", PLOTS)
def test_axes_go_in_and_come_out_without_global_state(model, name):
    before, ax = dict(mpl.rcParams), axes()
    assert PLOTS[name](model, ax=ax) is ax
    made = PLOTS[name](model)
    assert made.figure is not ax.figure
    for drawn in (ax, made):
        assert drawn.has_data() or drawn.collections
        drawn.figure.canvas.draw()
    assert dict(mpl.rcParams) == before
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or not pyplot.get_fignums()


def lines(ax):
    return sum(len(part.get_segments()) for part in ax.collections if hasattr(part, "get_segments"))


def test_every_edge_is_a_line(model):
    places = layout(model)
    assert lines(plots.plot_graph(model, places)) == model.adjacency_.sum() // 2
    known = plots.plot_known(model, places)
    assert lines(known) == (np.nansum(PROBLEM.known) + PROBLEM.U.sum()) // 2


def test_the_likeliest_unknown_pairs_come_first(model):
    ax = plots.plot_certainty(model, most=6)
    p = ax.lines[0].get_xdata()[np.argsort(-ax.lines[0].get_ydata())]
    U = np.triu(model.problem_.U)
    assert np.array_equal(p, np.sort(model.edge_probabilities_[U])[::-1][:6])


def test_the_bars_of_a_pair_add_up_to_its_log_odds(model):
    bars = plots.plot_reasons(model, most=200).containers
    total = np.sum([[bar.get_width() for bar in part] for part in bars], axis=0)
    eta = model.reasons_.posterior[np.triu(model.problem_.U)]
    whole = np.abs(np.array(model.reasons_)).max() < 8  # else bars are cut
    assert whole
    np.testing.assert_allclose(np.sort(total), np.sort(eta), atol=1e-9)


def test_every_unknown_pair_is_a_point_of_prior_and_data(model):
    xy = plots.plot_prior_and_data(model).collections[0].get_offsets()
    eta = model.reasons_.posterior[np.triu(model.problem_.U)]
    np.testing.assert_allclose(np.sum(xy, axis=1), eta, atol=1e-9)


def test_the_reliability_diagram_shows_the_bins(model):
    U = np.triu(model.problem_.U)
    expected = reliability(A[U], model.edge_probabilities_[U], 5)
    drawn = plots.plot_reliability(model, A, bins=5).lines[1].get_xydata()
    np.testing.assert_allclose(drawn, [row[:2] for row in expected])


def test_every_chain_is_a_line_and_their_mean_another(model):
    drawn = np.array([line.get_ydata() for line in plots.plot_traces(model).lines])
    np.testing.assert_array_equal(drawn[:-1], model.trace_)
    np.testing.assert_allclose(drawn[-1], model.trace_.mean(0))
    assert len(plots.plot_traces(model, most=3).lines) == 4


def test_intervals_are_those_of_the_summary(model):
    table = model.summary("degree").sort_values("mean", ascending=False, kind="stable")
    ax = plots.plot_summary(model, "degree", most=5)
    ends = [segment[:, 0] for segment in ax.collections[0].get_segments()]
    np.testing.assert_allclose(ends, table[["low", "high"]].head(5))
    assert [label.get_text() for label in ax.get_yticklabels()] == list(table["node"].head(5))


def test_what_an_engine_does_not_have_is_refused(model):
    direct = fitted("direct")
    paper = fitted("langevin")
    for draw, without in (
        (plots.plot_traces, direct), (plots.plot_summary, direct), (plots.plot_reasons, paper),
        (plots.plot_prior_and_data, paper),
    ):  # fmt: skip
        with pytest.raises(GraphPriorError, match=r"(?i)gibbs"):
            draw(without)
    with pytest.raises(GraphPriorError, match="no common scale"):
        plots.plot_summary(model, ["degree", "edges"])
    with pytest.raises(GraphPriorError, match=r"truth has shape \(4, 4\)"):
        plots.plot_reliability(model, np.zeros((4, 4)))


@pytest.mark.parametrize("n", [2, 5, 61, 260])
def test_the_layout_is_finite_apart_and_depends_on_the_graph_alone(n):
    A = random_graph(np.random.default_rng(n), n, 1.5 / n)
    xy = places(A)
    assert np.array_equal(xy, places(A))
    assert np.isfinite(xy).all()
    assert len(np.unique(xy.round(6), axis=0)) == n


@pytest.mark.parametrize("engine", ["direct", "gibbs", "langevin"])
def test_the_picture_has_four_panels(engine):
    page = picture(fitted(engine))
    assert len([ax for ax in page.axes if ax.get_title()]) == 4


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
    ax = plot_degree_histograms(sets)
    assert len(ax.containers) == 2


def test_names_that_look_like_formulas_are_drawn_as_they_are(rng):
    _, problem = random_problem(rng, n=4, k=40)
    X = pd.DataFrame(problem.X, columns=["price_$", "cost_$", "$$x^2$$", "a_b^"])
    with notes():
        model = PartialGGM(None).fit(X, known=problem.known)
    page = picture(model)
    page.canvas.draw()  # a formula that cannot be parsed would fail here
    drawn = {text.get_text().replace("\\", "") for ax in page.axes for text in ax.texts}
    assert set(X.columns) <= drawn


def test_a_named_truth_is_matched_by_name(rng):
    A, problem = random_problem(rng, n=6, k=40)
    names = list("abcdef")
    with notes():
        model = PartialGGM(None).fit(pd.DataFrame(problem.X, columns=names))
    truth = pd.DataFrame(A, names, names)
    mixed = truth.loc[names[::-1], ["c", "a", "f", "b", "e", "d"]]
    drawn = [
        plots.plot_reliability(model, t).containers[0].lines[0].get_ydata() for t in (truth, mixed)
    ]
    np.testing.assert_array_equal(*drawn)
