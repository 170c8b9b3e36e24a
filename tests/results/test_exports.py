import networkx as nx
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from graphprior import PartialGGM, Schedule
from graphprior.cli.main import app
from graphprior.engines.direct import Direct
from graphprior.engines.gibbs import Gibbs
from graphprior.engines.langevin import Langevin
from graphprior.errors import GraphPriorError, notes
from graphprior.graphs.matrices import vech
from graphprior.io.graph_sets import as_graphs
from graphprior.results.exports import FORMATS, export
from graphprior.results.folder import read_result, write_result
from graphprior.results.result import Result
from oracles import random_problem

NAMES = ["IL-2 (α)", "p, q", 'say "x"', "<tag> & co", "5"]
ENGINES = {
    "direct": Direct(),
    "gibbs": Gibbs(3),
    "langevin": Langevin(3, schedule=Schedule.linear(L=3, T=20, epsilon=1e-4)),
}


@pytest.fixture(scope="module", params=ENGINES)
def folder(request, tmp_path_factory):
    """What an engine found, written."""
    _, problem = random_problem(np.random.default_rng(3), n=5, k=60)
    model = PartialGGM(None, engine=ENGINES[request.param], random_state=0)
    with notes():
        model.fit(pd.DataFrame(problem.X, columns=NAMES), known=problem.known)
    write_result(out := tmp_path_factory.mktemp("result"), Result.of(model))
    return out


@pytest.fixture
def result(folder):
    return read_result(folder)


def matrix(graph):
    return nx.to_numpy_array(graph, nodelist=NAMES, weight=None)


def test_a_result_read_back_is_written_as_the_same_bytes(tmp_path, folder, result):
    write_result(tmp_path, result)
    for name in ("edges.csv", "graph.graphml", "run.json"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()
    again = read_result(tmp_path)
    np.testing.assert_equal(again.samples, result.samples)
    np.testing.assert_equal(again.reasons, result.reasons)


@pytest.mark.parametrize(("kind", "read"), [("graphml", nx.read_graphml), ("gexf", nx.read_gexf)])
def test_a_graph_file_holds_graph_and_probabilities(tmp_path, result, kind, read):
    graph = read(export(result, tmp_path / f"g.{kind}"))
    np.testing.assert_array_equal(matrix(graph), result.adjacency)
    for a, b, p in graph.edges(data="probability"):
        assert p == result.edge_probabilities[NAMES.index(a), NAMES.index(b)]


def test_csv_and_npz_hold_all(tmp_path, folder, result):
    assert export(result, tmp_path / "a.csv").read_bytes() == (folder / "edges.csv").read_bytes()
    with np.load(export(result, tmp_path / "a.npz"), allow_pickle=False) as z:
        np.testing.assert_array_equal(z["edge_probabilities"], result.edge_probabilities)
        assert z["names"].tolist() == NAMES


def test_igraph_is_the_same_graph(result):
    graph = result.to_igraph()
    assert graph.vs["name"] == NAMES
    np.testing.assert_array_equal(as_graphs([graph])[0], result.adjacency)
    for edge in graph.es:
        assert edge["probability"] == result.edge_probabilities[edge.tuple]


def test_pandas_has_every_pair(result):
    pd.testing.assert_frame_equal(result.to_pandas(), result.edge_table())


def test_arviz_has_a_chain_for_each_graph_drawn(result):
    if not len(result.samples):
        with pytest.raises(GraphPriorError, match="no graphs were drawn"):
            result.to_arviz()
        return
    edge = result.to_arviz()["posterior"]["edge"]
    assert edge.dims == ("chain", "draw", "pair")
    assert edge.shape == (len(result.samples), 1, 10)
    np.testing.assert_array_equal(edge[:, 0], vech(result.samples))
    pair = edge.isel(pair=4)
    assert (pair["source"].item(), pair["target"].item()) == (NAMES[1], NAMES[2])


def test_a_fitted_model_gives_the_same(rng):
    _, problem = random_problem(rng, n=5, k=60)
    with notes():
        model = PartialGGM(None, engine=Gibbs(draws=3), random_state=0).fit(problem.X)
    result = Result.of(model)
    pd.testing.assert_frame_equal(model.to_pandas(), result.to_pandas())
    assert model.to_igraph().get_edgelist() == result.to_igraph().get_edgelist()
    assert model.to_arviz()["posterior"]["edge"].equals(result.to_arviz()["posterior"]["edge"])


def test_what_cannot_be_written_leaves_nothing(tmp_path, result):
    with pytest.raises(GraphPriorError, match="format 'pdf': expected one of csv"):
        export(result, tmp_path / "a.pdf")
    (tmp_path / "a.csv").write_text("mine")
    with pytest.raises(GraphPriorError, match="exists"):
        export(result, tmp_path / "a.csv")
    assert [p.name for p in tmp_path.iterdir()] == ["a.csv"]
    assert (tmp_path / "a.csv").read_text() == "mine"


@pytest.mark.parametrize("kind", FORMATS)
def test_the_command_writes_every_format(tmp_path, folder, result, kind):
    words = ["export", str(folder), "--format", kind, "--out", str(tmp_path / "file")]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert (tmp_path / "file").read_bytes() == FORMATS[kind](result)
