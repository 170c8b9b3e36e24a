"""The worked examples: generators keep their laws, and the comparison runs on data made here."""

import json
import sys
from dataclasses import replace

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import compare
import contenders
import danube
import genes
import moral_graphs
import proteins
import rivers
import shapes
import stocks
import summaries
from graph_files import data_file
from graphprior.errors import GraphPriorError
from graphprior.gaussian.simulate import simulate_observations
from graphprior.graphs.matrices import nothing_known, unvech, vech
from graphprior.io.graph_sets import read_npz, write_npz
from graphprior.priors.protocol import EvidencePrior
from graphprior.priors.store import load_prior
from graphprior.problem.problem import Problem
from graphprior.results.folder import read_result
from oracles import random_graph, random_precision, random_problem


@pytest.fixture
def rng():
    return np.random.default_rng(7)


# Generators


@pytest.mark.parametrize("n", [2, 3, 20, 40])
def test_rivers_are_trees(rng, n):
    for _ in range(5):
        A = rivers.river(rng, n)
        assert len(A) == n
        assert nx.is_tree(nx.from_numpy_array(A))


def test_all_water_leaves_by_the_outlet(rng):
    order, downstream = rivers.drainage(rng, side=6)
    area = rivers.catchments(order, downstream)
    assert area[order[0]] == 36
    for cell in range(36):
        above = order[1:][downstream[order[1:]] == cell]
        assert area[cell] == 1 + area[above].sum()


def test_stations_are_joined_along_the_flow():
    """A river in which every cell is a station is the drainage itself."""
    A = rivers.river(np.random.default_rng(3), 25, side=5)
    order, downstream = rivers.drainage(np.random.default_rng(3), side=5)
    whole = nx.Graph((int(c), int(downstream[c])) for c in order[1:])
    assert nx.is_isomorphic(nx.from_numpy_array(A), whole)


@pytest.mark.parametrize("draw", [rivers.rivers, moral_graphs.moral_graphs])
def test_same_seed_same_graphs_of_the_sizes_asked(draw):
    one, two = (draw(6, np.random.default_rng(5), sizes=(8, 12)) for _ in range(2))
    assert all(np.array_equal(A, B) for A, B in zip(one, two, strict=True))
    assert {len(A) for A in one} <= set(range(8, 13))


def test_causal_networks_have_no_cycle_and_their_moral_graph_is_networkx_s(rng):
    for _ in range(10):
        W = moral_graphs.causal_network(rng, 15)
        directed = nx.from_numpy_array(W, create_using=nx.DiGraph)
        assert nx.is_directed_acyclic_graph(directed)
        expected = nx.to_numpy_array(nx.moral_graph(directed), nodelist=range(15), weight=None)
        assert np.array_equal(moral_graphs.moral_graph(W), expected)


# Thresholds that never see what is hidden


def test_only_known_pairs_are_hidden_more(rng):
    _, problem = random_problem(rng, n=12, share=0.4)
    shown, more = contenders.hide_more(problem, rng)
    a, less = vech(problem.known), vech(shown.known)
    assert not np.isnan(a[more]).any()
    assert (a[more] == 1).any()
    assert np.isnan(less[more]).all()
    rest = np.delete(np.arange(len(a)), more)
    assert np.array_equal(less[rest], a[rest], equal_nan=True)


def test_nothing_known_is_no_ground_to_choose_on(rng):
    X = rng.standard_normal((20, 5))
    with pytest.raises(GraphPriorError, match="nothing is known"):
        contenders.hide_more(Problem.create(X, nothing_known(5)), rng)


def test_pairs_that_were_hidden_more_are_found_among_the_unknown(rng):
    """Scores that are the truth pick out the truth of exactly those pairs."""
    A, problem = random_problem(rng, n=10, share=0.3)
    shown, more = contenders.hide_more(problem, rng)
    truth, where = contenders._asked(problem, shown, more)
    assert np.array_equal(vech(A)[vech(shown.U)][where], truth)


@pytest.mark.parametrize("uses_known", [True, False])
def test_clear_data_choose_a_penalty_that_finds_the_graph(rng, uses_known):
    A = unvech(np.r_[1.0, np.zeros(4), 1.0, np.zeros(3), 1.0, 0, 0, 1.0, 0, 1.0])
    X = simulate_observations(random_precision(rng, A, strength=3.0), 20_000, rng)
    X = X / X.std(axis=0)
    known = A.copy()
    known[0, 1] = known[1, 0] = known[0, 5] = known[5, 0] = np.nan
    answer = contenders.lasso("WGL" if uses_known else "GL")(Problem.create(X, known), None, rng)
    assert np.array_equal(answer.scores, [1.0, 0.0])


def test_a_prior_that_is_not_there_is_told_how_to_train():
    with pytest.raises(GraphPriorError, match="train it"):
        contenders.prior_file("no-such-prior")


def test_priors_of_the_examples_can_be_read():
    found = sorted(contenders.FOLDERS[0].glob("*.safetensors"))
    assert found
    for path in found:
        assert path.stat().st_size < 1_000_000
        assert isinstance(load_prior(path), EvidencePrior)
        assert path.with_suffix(".json").is_file()


# Metrics


def solved(truth, scores, **more):
    unit = {"method": "direct", "k": 10, "share": 0.5, "g": 0, "error": None, "seconds": 1.0}
    unit |= {"threshold": 0.5, "gain": [0.25, 0.1, 0.75], "truth": truth, "scores": scores}
    return unit | more


def test_metrics_of_a_perfect_and_of_a_reversed_answer():
    best = summaries.values(solved("0110", [0.1, 0.9, 0.8, 0.2]))
    assert (best["f1"], best["auc"], best["gain"], best["weight"]) == (1.0, 1.0, 0.25, 0.75)
    assert (best["false"], best["missed"]) == (0, 0)
    worst = summaries.values(solved("0110", [0.9, 0.1, 0.2, 0.8]))
    assert (worst["f1"], worst["auc"]) == (0.0, 0.0)
    assert (worst["false"], worst["missed"]) == (2, 2)
    half = summaries.values(solved("0110", [0.9, 0.9, 0.8, 0.8]))
    assert (half["false"], half["missed"]) == (2, 0)


def test_bits_are_those_of_the_truth_and_only_of_probabilities():
    fair = summaries.values(solved("0110", [0.5] * 4))
    assert fair["bits"] == pytest.approx(1)
    sure = summaries.values(solved("01", [0.25, 1.0]))
    assert sure["bits"] == pytest.approx(-np.log2(0.75) / 2)
    wrong = summaries.values(solved("0", [1.0]))
    assert wrong["bits"] == pytest.approx(-np.log2(summaries.LEAST))
    assert np.isnan(summaries.values(solved("01", [0.0, 1.0], method="GL"))["bits"])
    ours = contenders.contenders("moral", "grids", believes=True).keys() - contenders.OTHERS.keys()
    assert all(summaries.is_probable(name) for name in ours)


def test_f1_means_nothing_where_no_edge_is_hidden():
    none = summaries.values(solved("0000", [0.1, 0.9, 0.8, 0.2]))
    assert np.isnan(none["f1"])
    assert np.isnan(none["auc"])


def test_summary_has_mean_and_standard_error_and_counts_failures():
    results = [solved("01", [0.1, 0.9], g=0), solved("01", [0.9, 0.1], g=1)]
    results.append({"method": "direct", "k": 10, "share": 0.5, "g": 2, "error": "E: no"})
    point = summaries.summary_of(results, ["direct"]).iloc[0]
    assert (point["repeats"], point["failed"]) == (2, 1)
    assert point["f1"] == 0.5
    assert point["f1_se"] == pytest.approx(0.5)  # sd 0.7071 over root 2
    assert point["calibration_error"] == pytest.approx(0.4)
    # Both hidings alike would be off by .1 or .9, one of each by .4: weights 1/4, 1/4, 1/2.
    expected = np.std([0.1, 0.9, 0.4, 0.4])
    assert point["calibration_error_se"] == pytest.approx(expected, abs=4 * 0.3 / np.sqrt(200))
    rows = summaries.rows_of("case", results)
    assert len(rows) == 3 * len(summaries.METRICS)
    assert rows[rows["repeat"] == 2]["value"].isna().all()
    assert "failed on 1" in summaries.table(
        "title", "prior", summaries.summary_of(results, ["direct"])
    )


# The comparison


def draw(k, g, rng):
    fixed = np.random.default_rng(g)
    A = random_graph(fixed, 7, 0.4)
    X = simulate_observations(random_precision(fixed, A), k, rng)
    return compare.Sample(A, pd.DataFrame(X).add_prefix("x"))


TINY = compare.Case(
    name="tiny", title="Tiny", draw=draw, ks=(20, 40), shares=(0.5,), prior="molecules",
    wrong="egonets", repeats=3, budgets={"gibbs": 1}, without=("BDgraph",),
)  # fmt: skip


def told(out):
    rows = pd.read_csv(out / "rows.csv.gz")
    return rows[rows["metric"] != "seconds"].sort_values(["method", "k", "repeat", "metric"])


def test_what_is_hidden_depends_neither_on_k_nor_on_the_method():
    problems = [TINY.problem(k, 0.5, 1)[1] for k in TINY.ks]
    assert np.array_equal(problems[0].known, problems[1].known, equal_nan=True)
    assert not np.array_equal(problems[0].known, TINY.problem(20, 0.5, 2)[1].known, equal_nan=True)
    again = replace(TINY, without=("gibbs", "WGL")).problem(20, 0.5, 1)[1]
    assert np.array_equal(again.X, problems[0].X)
    assert np.allclose(problems[0].X.mean(0), 0)
    assert np.allclose(problems[0].X.std(0), 1)


@pytest.mark.slow
def test_a_run_writes_every_row_and_one_that_was_stopped_goes_on(tmp_path):
    out = tmp_path / "whole"
    words = compare.run(TINY, out)
    rows = pd.read_csv(out / "rows.csv.gz")
    assert rows["error"].isna().all()
    counts = rows.groupby("method")["repeat"].nunique()
    assert counts["gibbs"] == 1
    assert set(counts.drop("gibbs")) == {3}
    assert set(counts.index) == set(TINY.methods)
    assert words == (out / "table.md").read_text()
    assert (out / "figure.png").read_bytes()[1:4] == b"PNG"
    entry = json.loads((out / "run.json").read_text())["runs"][0]
    assert entry["seed"] == TINY.seed
    assert {"commit", "machine", "versions"} <= entry.keys()

    cut = tmp_path / "cut"
    cut.mkdir()
    lines = (out / compare.JOURNAL).read_bytes().splitlines(keepends=True)
    (cut / compare.JOURNAL).write_bytes(b"".join(lines[:7]) + lines[7][:20])
    (cut / "case.json").write_bytes((out / "case.json").read_bytes())
    compare.run(TINY, cut)
    pd.testing.assert_frame_equal(
        told(out).reset_index(drop=True), told(cut).reset_index(drop=True)
    )
    with pytest.raises(GraphPriorError, match="another seed"):
        compare.run(replace(TINY, seed=1), cut)


def test_methods_are_chosen_by_name(tmp_path):
    compare.run(TINY, tmp_path, ["Threshold"], repeats=1)
    assert set(pd.read_csv(tmp_path / "rows.csv.gz")["method"]) == {"Threshold"}
    with pytest.raises(GraphPriorError, match="no method is called 'magic'"):
        compare.run(TINY, tmp_path, ["magic"])


def test_rows_of_other_methods_are_added_to_those_that_are_there(tmp_path):
    names = ["Threshold", "direct, no prior"]
    compare.run(TINY, tmp_path / "both", names, repeats=2)
    compare.run(TINY, tmp_path / "apart", names[:1], repeats=2)
    (tmp_path / "apart" / compare.JOURNAL).unlink()  # it is not among what is committed
    compare.run(TINY, tmp_path / "apart", names[1:], repeats=2)
    both, apart = (told(tmp_path / name).reset_index(drop=True) for name in ("both", "apart"))
    pd.testing.assert_frame_equal(both, apart)
    both, apart = (
        pd.read_csv(tmp_path / name / "summary.csv").drop(columns=["seconds", "seconds_se"])
        for name in ("both", "apart")
    )
    pd.testing.assert_frame_equal(both, apart)
    (tmp_path / "apart" / compare.JOURNAL).unlink()
    with pytest.raises(GraphPriorError, match="rows of another seed"):
        compare.run(replace(TINY, seed=1), tmp_path / "apart", names)


def test_a_case_without_priors_of_its_own_has_none_but_the_default():
    found = contenders.contenders(None, None)
    assert list(found) == ["auto", "direct, no prior", *contenders.OTHERS]
    facts = replace(TINY, prior=None, wrong=None).facts()
    assert list(facts["priors"]) == ["general"]


def test_what_is_averaged_lies_between_the_prior_and_none(rng):
    """Each weight is the prior's share, and a prior that is believed in full has all of it."""
    _, problem = random_problem(rng, n=9, share=0.4)
    gains = [
        contenders.Ours("egonets", averaged=averaged)(problem, None, np.random.default_rng(0)).gain
        for averaged in (False, True)
    ]
    assert gains[0].weight == 1
    assert 0 < gains[1].weight < 1
    models = (
        contenders.Ours(p, averaged=True).fit(problem, None, np.random.default_rng(0))
        for p in ("auto", None)
    )
    assert [len(model.prior_gains_) for model in models] == [2, 0]


def test_beliefs_move_the_unknown_pairs_they_speak_of(rng):
    _, problem = random_problem(rng, n=6, share=0.5)
    likely, unlikely = (np.full((6, 6), p) for p in (0.9, 0.1))
    for m in (likely, unlikely):
        np.fill_diagonal(m, np.nan)
    ours = contenders.Ours(None, believes=True)
    high, low = (ours(problem, m, np.random.default_rng(0)).scores for m in (likely, unlikely))
    assert (high > low).all()
    deaf = contenders.Ours(None)
    scores = [deaf(problem, m, np.random.default_rng(0)).scores for m in (likely, unlikely)]
    assert np.array_equal(*scores)


def test_a_method_that_fails_is_a_row():
    def broken(k, g, rng):
        sample = draw(k, g, rng)
        return sample._replace(A=sample.A * 0)  # no edge is known: no penalty can be chosen

    _, text = compare.units(TINY, ["WGL"], 1)[0]
    result = compare.solve(replace(TINY, draw=broken, shares=(1.0,)), text.replace("0.5", "1.0"))
    assert "nothing is known" in result["error"]


def test_the_typical_result_reads_back(tmp_path):
    result = read_result(compare.save_typical(TINY, tmp_path / "typical"))
    _, problem = TINY.problem(40, 0.5, 0)
    assert np.array_equal(result.known, problem.known, equal_nan=True)
    assert result.run["example"] == "tiny"
    assert len(result.samples)


# Each case, on data of its kind

CACHED = (danube.river, proteins.cells, genes.network, shapes.held_out, stocks.market)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAPHPRIOR_DATA", str(tmp_path))
    for cached in CACHED:
        cached.cache_clear()
    yield tmp_path
    for cached in CACHED:
        cached.cache_clear()


def write(path, frame):
    path.parent.mkdir(exist_ok=True)
    frame.to_csv(path, index=False)


def test_missing_data_tell_where_to_get_them(folder, monkeypatch, capsys):
    with pytest.raises(GraphPriorError, match=r"events\.csv is missing: make it from the dataset"):
        danube.draw(3, 0, np.random.default_rng(0))
    with pytest.raises(GraphPriorError, match="from there"):
        data_file("a/b.csv", "there")
    monkeypatch.setattr(sys, "argv", ["danube.py", "--typical", str(folder / "typical")])
    with pytest.raises(SystemExit, match=r"error: .* is missing"):
        compare.main(danube.CASE)


def test_danube_joins_stations_by_name(folder, rng):
    floods = pd.DataFrame(rng.uniform(1, 9, (12, 3)), columns=["X1", "X2", "X3"])
    write(folder / "danube/events.csv", floods.assign(year=1960))
    write(folder / "danube/flow_edges.csv", pd.DataFrame({"upstream": ["X3"], "downstream": "X1"}))
    sample = danube.draw(12, 0, rng)
    assert np.argwhere(sample.A).tolist() == [[0, 2], [2, 0]]
    pd.testing.assert_frame_equal(np.exp(sample.X), floods)
    assert len(danube.draw(5, 0, rng).X.drop_duplicates()) == 5


def test_proteins_take_unperturbed_cells_only_and_pairs_by_name(folder, rng):
    cells = pd.DataFrame(rng.lognormal(size=(9, 3)), columns=["Raf", "Mek", "Erk"])
    cells.insert(0, "condition", ["cd3cd28"] * 6 + ["pma"] * 3)
    write(folder / "protein_signalling/cells.csv", cells)
    pairs = [("Mek", "Erk", 1, 0), ("Raf", "Erk", 0, 0), ("Raf", "Mek", 0, 1)]  # another order
    table = pd.DataFrame(pairs, columns=["a", "b", "consensus17", "literature18"])
    write(folder / "protein_signalling/pairs.csv", table)
    sample = proteins.draw(6, 0, rng)
    assert vech(sample.A).tolist() == [0, 0, 1]
    assert vech(sample.beliefs).tolist() == [0.8, 0.1, 0.1]
    assert len(sample.X) == 6


def test_the_gene_networks_precision_has_the_support_of_its_moral_graph(folder, rng):
    W = moral_graphs.causal_network(rng, 9)
    parent, child = np.nonzero(W)
    names = [f"g{i}" for i in rng.permutation(9)]
    arcs = {"parent": np.array(names)[parent], "child": np.array(names)[child]}
    write(
        folder / "gaussian_bn/ecoli70_arcs.csv",
        pd.DataFrame({**arcs, "coefficient": rng.uniform(0.5, 1, len(parent))}),
    )
    nodes = {"node": names, "intercept": 0.0, "variance": rng.uniform(0.5, 2, 9)}
    write(folder / "gaussian_bn/ecoli70_nodes.csv", pd.DataFrame(nodes))
    A, Theta, found = genes.network("ecoli70")
    assert found == tuple(names)
    assert np.array_equal((np.abs(Theta) > 1e-12) & ~np.eye(9, dtype=bool), A == 1)
    assert np.allclose(Theta, Theta.T)
    # x = W'x + noise: its covariance is what the precision inverts.
    W = np.zeros((9, 9))
    W[parent, child] = pd.read_csv(folder / "gaussian_bn/ecoli70_arcs.csv")["coefficient"]
    mixing = np.linalg.inv(np.eye(9) - W.T)
    assert np.allclose(np.linalg.inv(Theta), mixing * nodes["variance"] @ mixing.T)


def test_companies_are_the_same_for_all_k_and_joined_within_their_sector(folder, rng):
    tickers = [f"T{i}" for i in range(60)]
    returns = pd.DataFrame(rng.standard_normal((40, 60)).round(5), columns=tickers)
    write(folder / "stocks/log_returns.csv.gz", returns)
    sectors = pd.DataFrame({"ticker": tickers, "sector": [f"S{i % 3}" for i in range(60)]})
    write(folder / "stocks/info.csv", sectors.sample(frac=1, random_state=0))  # another order
    few, many = (stocks.draw(k, 2, rng) for k in (10, 30))
    assert np.array_equal(few.A, many.A)
    assert list(few.X.columns) == list(many.X.columns)
    assert many.X.shape == (30, 50)
    names = [f"S{int(ticker[1:]) % 3}" for ticker in few.X.columns]
    for i in range(50):
        for j in range(50):
            assert few.A[i, j] == (i != j and names[i] == names[j])


def test_shapes_draw_the_graph_asked_for(folder, rng):
    graphs = [random_graph(rng, n, 0.3) for n in (5, 6)]
    (folder / "threads").mkdir()
    write_npz(folder / "threads/test.npz", graphs)
    sample = shapes.draw("threads", 8, 1, rng)
    assert np.array_equal(sample.A, graphs[1])
    assert sample.X.shape == (8, 6)


def test_generators_write_files_that_training_reads(tmp_path, monkeypatch):
    out = tmp_path / "new" / "rivers.npz"
    monkeypatch.setattr(sys, "argv", ["rivers.py", str(out), "--count", "3"])
    with pytest.raises(SystemExit) as ended:
        rivers.write_graphs(rivers.rivers)
    assert ended.value.code == 0
    expected = rivers.rivers(3, np.random.default_rng(0))
    assert all(np.array_equal(A, B) for A, B in zip(read_npz(out), expected, strict=True))
