from itertools import pairwise

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy.sparse.csgraph import connected_components

import graphprior as gp
from enumeration import evidence_of, exact_posterior, random_prior
from graphprior.choices import LikelihoodName
from graphprior.engines.gibbs import ONE_BY_ONE, sample
from graphprior.errors import GraphPriorError, GraphPriorWarning
from graphprior.graphs.matrices import nothing_known, unvech, vech
from graphprior.graphs.quantities import GROUPS, QUANTITIES
from graphprior.observations.observations import ObservationFacts
from graphprior.priors.noise import Schedule
from graphprior.results.diagnostics import Diagnostics
from graphprior.results.folder import write_result
from graphprior.results.result import Result
from graphprior.results.summaries import (
    COLUMNS,
    co_membership,
    default_answers,
    expected_degrees,
    posterior_summary,
)
from oracles import random_graph, random_problem, relabel

BY_NODE = ["degree", "clustering", "betweenness", "closeness", "eigenvector"]
FEW = pytest.warns(GraphPriorWarning, match="too few")


def result_of(samples, known=None, names=None, **facts):
    """A result whose samples are the source of its probabilities."""
    samples = np.asarray(samples)
    n = samples.shape[-1]
    known = nothing_known(n) if known is None else known
    P = samples.mean(0)
    return Result(
        names or tuple(f"x{i}" for i in range(n)), known, P, np.stack([P, P]),
        (P >= 0.5).astype(float), np.eye(n), samples.astype(np.uint8), None,
        Diagnostics(ObservationFacts(n, 2 * n), 0, 0.5, "gibbs", LikelihoodName.MARGINAL, **facts),
    )  # fmt: skip


def drawn_result(rng, n=7, M=50, density=0.4):
    return result_of(np.stack([random_graph(rng, n, density) for _ in range(M)]))


def column(table, name, by="mean"):
    return table[table["quantity"] == name].set_index("node")[by]


def cliques(*sizes):
    A = np.zeros((sum(sizes), sum(sizes)))
    for start, size in zip(np.cumsum((0, *sizes)), sizes, strict=False):
        A[start : start + size, start : start + size] = 1 - np.eye(size)
    return A


# What is asked


def test_graphs_that_are_all_the_same_have_that_graphs_values_and_no_width(rng):
    for density in (0.0, 0.2, 0.6, 1.0):
        A = random_graph(rng, 8, density)
        table = posterior_summary(result_of([A] * 60), list(QUANTITIES))
        assert list(table.columns) == list(COLUMNS)
        for by in ("median", "low", "high"):
            np.testing.assert_allclose(table[by], table["mean"], atol=1e-12, err_msg=by)
        np.testing.assert_allclose(table["sd"], 0, atol=1e-12)
        d, triangles = A.sum(0), np.diag(A @ A @ A)
        np.testing.assert_array_equal(column(table, "degree"), d)
        clustering = np.where(d > 1, triangles / np.maximum(d * (d - 1), 1), 0)
        np.testing.assert_allclose(column(table, "clustering"), clustering)
        whole = table[table["node"].isna()].set_index("quantity")["mean"]
        assert whole["edges"] == A.sum() / 2
        assert whole["density"] == pytest.approx(vech(A).mean())
        assert whole["average_clustering"] == pytest.approx(clustering.mean())
        count, labels = connected_components(A)
        assert whole["components"] == count
        assert whole["largest_component"] == np.bincount(labels).max()


def test_eigenvector_centrality_is_where_power_iteration_ends(rng):
    for A in (random_graph(rng, 9, 0.5), cliques(4, 2), cliques(3, 3), cliques(1, 1), cliques(4)):
        x = np.ones(len(A))
        for _ in range(5000):
            x = x + A @ x
            x /= np.linalg.norm(x)
        found = posterior_summary(result_of([A] * 60), "eigenvector")["mean"]
        np.testing.assert_allclose(found, x, atol=1e-3 if len(A) == 9 else 1e-9)


def test_communities_of_cliques_are_the_cliques():
    table = posterior_summary(result_of([cliques(5, 4, 6)] * 60), ["communities", "modularity"])
    share = np.array([10, 6, 15]) / 31
    assert table["mean"].tolist() == pytest.approx([3, 1 - (share**2).sum()])


def test_the_mean_degree_is_the_sum_of_probabilities_that_samples_are_the_source_of(rng):
    _, problem = random_problem(rng, n=6)
    model = gp.PartialGGM(
        engine=gp.Langevin(draws=40, schedule=Schedule.linear(L=3, T=20)), random_state=0
    ).fit(problem.X, known=problem.known)
    table = model.summary(["degree", "edges"])
    P = model.edge_probabilities_
    np.testing.assert_allclose(column(table, "degree"), P.sum(0))
    np.testing.assert_allclose(table["mean"], expected_degrees(model)["mean"])
    assert (table["draws"] == 40).all()


def test_expected_degrees_need_no_draws(rng):
    _, problem = random_problem(rng, n=6)
    model = gp.PartialGGM(None).fit(problem.X, known=problem.known)
    table = expected_degrees(model)
    assert list(table["node"][:-1]) == list(model.problem_.names)
    np.testing.assert_allclose(table["mean"][:-1], model.edge_probabilities_.sum(0))
    assert table["mean"].iloc[-1] == pytest.approx(vech(model.edge_probabilities_).sum())


def test_relabelling_nodes_relabels_rows(rng):
    """But for communities, whose search depends on the order of nodes."""
    result, order = drawn_result(rng), rng.permutation(7)
    other = result_of(
        np.stack([relabel(A, order) for A in result.samples]),
        names=tuple(result.names[i] for i in order),
    )
    what = [name for name in QUANTITIES if name not in ("communities", "modularity")]
    a, b = (
        posterior_summary(r, what).sort_values(["quantity", "node"], ignore_index=True)
        for r in (result, other)
    )
    pd.testing.assert_frame_equal(a, b)


def test_the_order_of_draws_changes_nothing(rng):
    result = drawn_result(rng)
    other = result_of(result.samples[rng.permutation(50)])
    a, b = (posterior_summary(r, list(QUANTITIES)) for r in (result, other))
    pd.testing.assert_frame_equal(a, b)


def test_any_function_of_a_graph_can_be_asked(rng):
    result = drawn_result(rng)

    def triangles(graph):
        return sum(nx.triangles(graph).values()) / 3

    table = posterior_summary(
        result,
        {"t": triangles, "d": "degree", "connected": nx.is_connected, "core": nx.core_number},
    )
    A = result.samples.astype(float)
    each = np.trace(A @ A @ A, axis1=1, axis2=2) / 6
    row = table[table["quantity"] == "t"].iloc[0]
    assert [row["mean"], row["median"], row["sd"]] == pytest.approx(
        [each.mean(), np.median(each), each.std(ddof=1)]
    )
    np.testing.assert_array_equal(column(table, "d"), column(posterior_summary(result), "degree"))
    whole = [connected_components(a)[0] == 1 for a in A]
    assert column(table, "connected").iloc[0] == np.mean(whole)
    assert column(table, "core").index.tolist() == list(result.names)
    assert posterior_summary(result, triangles)["quantity"].tolist() == ["triangles"]


def test_draws_on_which_a_quantity_is_undefined_are_left_out_and_said():
    result = result_of([cliques(3, 2)] * 15 + [cliques(5)] * 45)

    def distance(graph):
        return nx.average_shortest_path_length(graph) if nx.is_connected(graph) else np.nan

    with pytest.warns(GraphPriorWarning, match="'distance' is nan in 15 of 60"):
        (row,) = posterior_summary(result, distance).to_dict("records")
    assert row["draws"] == 45
    assert row["mean"] == 1
    with pytest.warns(GraphPriorWarning, match="nan in 60 of 60"):
        (row,) = posterior_summary(result, {"never": lambda _: np.nan}).to_dict("records")
    assert row["draws"] == 0
    assert np.isnan(row["mean"])


# Intervals


def test_a_wider_level_contains_a_narrower_one(rng):
    result = drawn_result(rng, M=200)
    tables = [posterior_summary(result, BY_NODE, level) for level in (0.3, 0.8, 0.95, 0.98)]
    for a, b in pairwise(tables):
        assert (b["low"] <= a["low"]).all()
        assert (a["high"] <= b["high"]).all()
        assert (a["low"] <= a["median"]).all()
        assert (a["median"] <= a["high"]).all()
    for table, level in zip(tables, (0.3, 0.8, 0.95, 0.98), strict=True):
        assert ((table["level"] >= level - 1e-12) & (table["level"] < level + 2 / 201)).all()


def test_an_interval_of_continuous_draws_holds_one_draw_more_exactly_at_its_level(rng):
    """Numbers that have nothing to do with the graph: the rank of one more is uniform."""
    M, level, repeats = 59, 0.9, 500
    graphs = np.unique(rng.integers(2, size=(200, 15)), axis=0)[:M]
    result = result_of(np.stack([unvech(bits) for bits in graphs]))
    inside = []
    for _ in range(repeats):
        row = posterior_summary(result, {"a": lambda _: rng.standard_normal()}, level).iloc[0]
        inside.append(row["low"] <= rng.standard_normal() <= row["high"])
    assert row["level"] == pytest.approx(0.9)
    assert abs(np.mean(inside) - 0.9) < 4 * np.sqrt(0.09 / repeats)


@pytest.mark.parametrize(("by_gibbs", "M", "problems"), [(False, 59, 150), (True, 39, 30)])
def test_intervals_hold_the_truth_at_their_level(by_gibbs, M, problems):
    """Truth from the prior, data from the truth, draws from the posterior, n = 4."""
    rng = np.random.default_rng(1)
    prior = random_prior(rng)
    cases = [drawn(rng, prior, M, by_gibbs) for _ in range(problems)]
    for level in (0.8, 0.95):
        share = np.mean([covered(*case, level) for case in cases], axis=0)
        error = np.sqrt(level * (1 - level) / problems)
        assert (share >= level - 4 * error).all()
        assert share.mean() >= level - 2 * error


def drawn(rng, prior, M, by_gibbs):
    """A graph from the prior, and M graphs from the posterior given data of that graph."""
    known, m = nothing_known(4), 6
    graphs, p = exact_posterior(known, prior)
    A = graphs[rng.choice(len(p), p=p)]
    C = np.cov(rng.standard_normal((m, 4 * m))) * 0.05
    theta = rng.multivariate_normal(np.zeros(m), C + 0.1 * np.diag(vech(A)))
    F = np.linalg.inv(C)
    evidence = evidence_of(known, F, F @ theta)
    if by_gibbs:
        return A, sample(known, prior, evidence, rng, M, ONE_BY_ONE, by_value=False).samples
    graphs, p = exact_posterior(known, prior, evidence)
    return A, graphs[rng.choice(len(p), size=M, p=p)]


def covered(A, samples, level):
    what = ["degree", "clustering", "edges", "components", "modularity"]
    table = posterior_summary(result_of(samples), what, level)
    truth = posterior_summary(result_of([A] * 60), what, level)["mean"]
    return (table["low"] <= truth + 1e-9) & (truth - 1e-9 <= table["high"])


@pytest.mark.parametrize(("M", "level", "needed"), [(38, 0.95, 39), (10, 0.9, 19), (98, 0.98, 99)])
def test_too_few_draws_are_said_and_the_level_that_they_hold(rng, M, level, needed):
    result = drawn_result(rng, M=M)
    with pytest.warns(GraphPriorWarning, match=f"too few .* which take {needed}"):
        table = posterior_summary(result, level=level)
    assert table["level"].to_numpy() == pytest.approx((M - 1) / (M + 1))
    np.testing.assert_array_equal(table["low"], result.samples.sum(1).min(0))
    np.testing.assert_array_equal(table["high"], result.samples.sum(1).max(0))
    posterior_summary(drawn_result(rng, M=needed), level=level)  # warnings are errors


def test_what_is_all_known_is_certain(rng):
    A, problem = random_problem(rng, n=5)
    with pytest.warns(GraphPriorWarning, match="nothing is unknown"):
        model = gp.PartialGGM(None).fit(problem.X, known=A)
    table = model.summary(["degree", "edges"])
    assert (table["level"] == 1).all()
    assert (table["sd"] == 0).all()
    np.testing.assert_array_equal(column(table, "degree"), A.sum(0))


def test_pairs_that_the_bootstrap_fixed_are_said(rng):
    with pytest.warns(GraphPriorWarning, match="bootstrap fixed 3 pairs"):
        posterior_summary(result_of([cliques(3, 2)] * 60, fixed_by_bootstrap=3))


# Groups


def test_co_membership_is_the_share_of_draws_in_one_group():
    result = result_of([cliques(5, 4)] * 45 + [cliques(9)] * 15)
    for groups in GROUPS:
        together = co_membership(result, groups)
        assert list(together.index) == list(together.columns) == list(result.names)
        expected = np.where(cliques(5, 4) + np.eye(9), 1.0, 0.25)
        np.testing.assert_allclose(together, expected)
    by_degree = co_membership(result, lambda graph: [[v] for v in graph])
    np.testing.assert_array_equal(by_degree, np.eye(9))


# Refusals


def changing(graph):
    graph.remove_node("x0")
    return 1


@pytest.mark.parametrize(
    ("what", "word"),
    [
        ("degrees", "'degrees' is nothing to ask"),
        (3, "nothing to ask"),
        ([], "asks nothing"),
        (["degree", "degree"], "'degree' twice"),
        ([lambda g: 1, lambda g: 2], "twice"),
        ({"a": "b"}, "'b' is nothing to ask"),
        ({"a": lambda g: "many"}, "gave 'many'"),
        ({"a": lambda g: np.inf}, "gave inf"),
        ({"a": lambda g: [1, 2]}, r"gave \[1, 2\]"),
        ({"a": lambda g: {"x0": 1}}, "not the nodes"),
        ({"a": lambda g: {**dict(g.degree()), "z": 1}}, r"not the nodes \(z\)"),
        ({"a": lambda g: 1 / 0}, "ZeroDivisionError"),
        ({"a": changing}, "failed on a graph"),
        ({"a": lambda g: 1 if g.size() > 8 else dict(g.degree())}, "dict for others"),
    ],
)
def test_what_cannot_be_asked_is_refused(rng, what, word):
    with pytest.raises(GraphPriorError, match=word):
        posterior_summary(drawn_result(rng), what)


@pytest.mark.parametrize("level", [0, 1, -0.1, 95, np.nan])
def test_a_level_that_is_no_share_is_refused(rng, level):
    with pytest.raises(GraphPriorError, match="level"):
        posterior_summary(drawn_result(rng), level=level)


def test_an_engine_that_draws_nothing_is_refused_and_told_what_to_do(rng):
    _, problem = random_problem(rng, n=5)
    model = gp.PartialGGM(None).fit(problem.X, known=problem.known)
    for ask in (model.summary, lambda: co_membership(model)):
        with pytest.raises(GraphPriorError, match=r"engine=Gibbs\(draws="):
            ask()
    assert default_answers(Result.of(model)) == []


def test_groups_that_are_none_are_refused(rng):
    with pytest.raises(GraphPriorError, match="components"):
        co_membership(drawn_result(rng), "cliques")


# On disk


def test_the_result_folder_has_the_default_answers_when_graphs_were_drawn(tmp_path, rng):
    result = drawn_result(rng, M=5)
    write_result(tmp_path, result)
    answers = pd.read_csv(tmp_path / "answers.csv")
    with FEW:
        expected = posterior_summary(
            result, [name for _, t in default_answers(result) for name in t["quantity"].unique()]
        )
    pd.testing.assert_frame_equal(answers, expected, check_dtype=False, rtol=1e-5)


def test_the_result_folder_has_no_answers_when_nothing_was_drawn(tmp_path, rng):
    _, problem = random_problem(rng, n=5)
    write_result(tmp_path, Result.of(gp.PartialGGM(None).fit(problem.X, known=problem.known)))
    assert not (tmp_path / "answers.csv").exists()
