import json
from dataclasses import fields
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from graphprior import PartialGGM
from graphprior.engines.gibbs import Gibbs
from graphprior.errors import GraphPriorError, notes
from graphprior.results.folder import read_result, whole_folder, write_result
from graphprior.results.result import Result
from oracles import engine_with, random_problem

ODD_NAMES = ["IL-2 (α)", "p, q", 'say "x"', "<tag> & co", "5"]


def listing(folder):
    return sorted(path.relative_to(folder) for path in Path(folder).rglob("*"))


def strict_json(text):
    """Parsed; NaN and Infinity, which are not JSON, are errors."""
    return json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))


@pytest.fixture(scope="module")
def model():
    _, problem = random_problem(np.random.default_rng(3), n=5, k=60)
    X = pd.DataFrame(problem.X, columns=ODD_NAMES)
    estimator = PartialGGM(None, engine=Gibbs(draws=7), random_state=0)
    return estimator.fit(X, known=problem.known)


@pytest.fixture
def result(tmp_path, model):
    write_result(tmp_path, Result.of(model, {"command": "estimate", "seed": 3}))
    return tmp_path


def test_a_folder_appears_only_when_it_is_whole(tmp_path):
    out = tmp_path / "new" / "result"
    with whole_folder(out) as folder:
        (folder / "a.txt").write_text("a")
        assert not out.exists()
    assert listing(tmp_path / "new") == [Path("result"), Path("result/a.txt")]


def test_an_empty_folder_is_filled(tmp_path):
    (tmp_path / "result").mkdir()
    with whole_folder(tmp_path / "result") as folder:
        (folder / "a.txt").write_text("a")
    assert listing(tmp_path) == [Path("result"), Path("result/a.txt")]


def fill_and_fail(out, error):
    with whole_folder(out) as folder:
        (folder / "sub").mkdir()
        (folder / "sub" / "a.txt").write_text("a")
        raise error


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("out", ["result", "new/newer/result"])
def test_a_failure_inside_leaves_nothing_behind(tmp_path, error, out):
    with pytest.raises(error):
        fill_and_fail(tmp_path / out, error)
    assert listing(tmp_path) == []


def test_a_folder_with_files_is_left_as_it_was(tmp_path):
    (out := tmp_path / "result").mkdir()
    (out / "mine.txt").write_text("mine")
    with pytest.raises(OSError, match="result"), whole_folder(out) as folder:
        (folder / "mine.txt").write_text("yours")
    assert listing(tmp_path) == [Path("result"), Path("result/mine.txt")]
    assert (out / "mine.txt").read_text() == "mine"


def test_every_array_of_a_result_loads_without_unpickling(result, model):
    with np.load(result / "result.npz", allow_pickle=False) as z:
        arrays = {key: z[key] for key in z.files}
    assert tuple(arrays["names"]) == model.problem_.names
    np.testing.assert_array_equal(arrays["known"], model.problem_.known)
    np.testing.assert_array_equal(arrays["edge_probabilities"], model.edge_probabilities_)
    np.testing.assert_array_equal(arrays["edge_intervals"], model.edge_intervals_)
    np.testing.assert_array_equal(arrays["adjacency"], model.adjacency_)
    np.testing.assert_array_equal(arrays["precision"], model.precision_)
    np.testing.assert_array_equal(arrays["samples"], model.samples_)
    assert arrays["samples"].shape == (7, 5, 5)


def test_the_edge_table_has_every_pair_once_likeliest_first(model):
    table = Result.of(model).edge_table()
    drawn = {frozenset(pair) for pair in zip(table["source"], table["target"], strict=True)}
    assert len(table) == len(drawn) == 10
    assert (np.diff(table["probability"]) <= 0).all()


def test_edges_csv_agrees_with_the_matrices(result, model):
    index = {name: i for i, name in enumerate(model.problem_.names)}
    Theta = model.precision_
    for row in pd.read_csv(result / "edges.csv", dtype={"source": str, "target": str}).itertuples():
        i, j = index[row.source], index[row.target]
        assert row.probability == pytest.approx(model.edge_probabilities_[i, j], rel=1e-5)
        bounds = model.edge_intervals_[:, i, j]
        assert [row.low, row.high] == pytest.approx(list(bounds), rel=1e-5)
        assert row.edge == model.adjacency_[i, j]
        assert row.known == (not np.isnan(model.problem_.known[i, j]))
        rho = -Theta[i, j] / np.sqrt(Theta[i, i] * Theta[j, j])
        assert row.partial_correlation == pytest.approx(rho, rel=1e-5, abs=1e-12)


def test_known_pairs_are_written_as_known(result, model):
    table = pd.read_csv(result / "edges.csv").query("known == 1")
    assert len(table) == model.problem_.O.sum() // 2
    assert (table["probability"] == table["edge"]).all()
    assert (table["low"] == table["probability"]).all()
    assert (table["high"] == table["probability"]).all()


def test_without_draws_no_bounds_are_written():
    X = np.random.default_rng(0).standard_normal((50, 6))
    table = PartialGGM(None, random_state=0).fit(X).to_pandas()
    assert not {"low", "high"} & set(table)
    drawn = PartialGGM(None, engine="gibbs", random_state=0).fit(X).to_pandas()
    assert ((drawn["low"] < drawn["probability"]) & (drawn["probability"] < drawn["high"])).all()


def test_the_graph_file_is_the_estimated_graph(result, model):
    graph = nx.read_graphml(result / "graph.graphml")
    A = nx.to_numpy_array(graph, nodelist=model.problem_.names, weight=None)
    np.testing.assert_array_equal(A, model.adjacency_)
    index = {name: i for i, name in enumerate(model.problem_.names)}
    for a, b, probability in graph.edges(data="probability"):
        assert probability == model.edge_probabilities_[index[a], index[b]]


def test_run_json_holds_what_it_was_given_and_the_diagnostics(result, model):
    run = strict_json((result / "run.json").read_text(encoding="utf-8"))
    assert run["command"] == "estimate"
    assert run["seed"] == 3
    assert run["diagnostics"] == model.diagnostics_.to_dict()


def test_the_current_folder_can_be_the_result(tmp_path, monkeypatch):
    (out := tmp_path / "here").mkdir()
    monkeypatch.chdir(out)
    with whole_folder(Path(".")) as folder:
        (folder / "a.txt").write_text("a")
    assert listing(tmp_path) == [Path("here"), Path("here/a.txt")]


@pytest.mark.parametrize("engine", ["direct", "gibbs"])
def test_what_is_written_is_read_back(tmp_path, engine):
    _, problem = random_problem(np.random.default_rng(3), n=5, k=60)
    model = PartialGGM(
        "egonets", engine=engine_with(engine, draws=3), random_state=0, prior_weight="auto"
    )
    with notes():
        model.fit(problem.X, known=problem.known)
    wrote = Result.of(model, {"command": "estimate"})
    write_result(tmp_path, wrote)
    read = read_result(tmp_path)
    for name in (field.name for field in fields(Result)):
        np.testing.assert_equal(getattr(read, name), getattr(wrote, name), err_msg=name)
    pd.testing.assert_frame_equal(read.edge_table(), wrote.edge_table())


@pytest.mark.parametrize("missing", ["result.npz", "run.json"])
def test_a_folder_without_a_part_is_refused(result, missing):
    (result / missing).unlink()
    with pytest.raises(GraphPriorError, match=missing):
        read_result(result)


@pytest.mark.parametrize("broken", ["result.npz", "run.json"])
@pytest.mark.parametrize("cut", [0, 1, 20, -1])
def test_a_damaged_folder_is_refused(result, broken, cut):
    path = result / broken
    content = path.read_bytes()
    path.write_bytes(content[: cut if cut >= 0 else len(content) // 2])
    with pytest.raises(GraphPriorError, match="not a whole result"):
        read_result(result)


def test_a_result_is_its_own(result):
    read = read_result(result)
    assert Result.of(read) is read
