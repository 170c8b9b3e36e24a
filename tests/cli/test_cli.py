import json
import os
import shlex
import signal
import sys
import threading
import time
from importlib import import_module
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file

from command_line import (
    COLD,
    PATIENCE,
    Outcome,
    assert_refused,
    listing,
    run,
    start,
    strict_json,
    write_known,
    write_observations,
)
from graphprior import save_prior
from graphprior.cli.main import main
from graphprior.graphs.matrices import hide, vech
from graphprior.io.graph_sets import read_graphs, write_npz
from graphprior.paper.datasets.registry import generate, generated
from graphprior.priors.card import graphs_hash
from graphprior.priors.networks.edp_gnn import EDPGNN, EDPGNNConfig, EDPGNNPrior
from graphprior.priors.networks.evidence_network import EvidenceNetworkConfig
from graphprior.priors.store import (
    load_prior,
    read_card,
    save_checkpoint,
    shipped_priors,
)
from graphprior.priors.training.cross_entropy import CrossEntropy
from graphprior.priors.training.training import OBJECTIVES, TrainingConfig, new_state
from oracles import random_graph

SMALL = ["--steps", "30", "--batch", "4"]
LONG = ["--steps", "40", "--batch", "4"]


@pytest.fixture
def inputs(tmp_path, rng):
    """Graphs, data, a known part and an untrained prior, in the working folder."""
    graphs = [random_graph(rng, 5, density=0.4) for _ in range(6)]
    write_npz(tmp_path / "graphs.npz", graphs)
    write_observations(tmp_path / "x.csv", rng)
    write_known(tmp_path / "all.csv", graphs[0])
    write_known(tmp_path / "half.csv", hide(graphs[1], rng, count=6))
    torch.manual_seed(0)
    prior = EDPGNNPrior(EDPGNN(EDPGNNConfig(layers=1, channels=2, features=2, hidden=2)))
    save_prior(prior, tmp_path / "tiny.safetensors", {"graphs": {"sizes": {"4": 1, "6": 3}}})
    return tmp_path


def assert_same_prior(path, other):
    a, b = load_file(path), load_file(other)
    assert a.keys() == b.keys()
    assert all(torch.equal(a[key], b[key]) for key in a)
    assert read_card(path) == read_card(other)
    assert path.read_bytes() == other.read_bytes()


# Errors


BAD_DATA = {
    "no-file": (None, "bad.csv: no such file"),
    "empty": ("", "bad.csv"),
    "header-only": ("a,b\n", ""),
    "one-row": ("a,b\n1,2\n", "1"),
    "one-column": ("a\n1\n2\n3\n", "1"),
    "nan": ("a,b\n1,2\n3,\n5,1\n", "NaN"),
    "inf": ("a,b\n1,2\n3,inf\n5,1\n", "inf"),
    "words": ("a,b\n1,2\n3,four\n5,1\n", "column 'b' is not numeric"),
    "constant": ("a,b\n1,2\n3,2\n5,2\n", "column b of X is constant"),
    "same-names": ("a,a\n1,2\n3,4\n5,1\n", "'a' occurs twice"),
    "long-row": ("a,b\n1,2\n3,4,5\n5,1\n", "bad.csv"),
    "short-row": ("a,b\n1,2\n3\n5,1\n", "NaN"),
    "long-rows": ("a,b\n1,2,3\n4,5,6\n7,8,1\n", "bad.csv"),
    "bytes": ("\x00\udcff", "bad.csv"),
}


@pytest.mark.parametrize(("content", "word"), BAD_DATA.values(), ids=BAD_DATA)
def test_estimate_refuses_bad_data_in_one_line_and_writes_nothing(here, tmp_path, content, word):
    if content is not None:
        (tmp_path / "bad.csv").write_bytes(content.encode("utf-8", "surrogateescape"))
    before = listing(tmp_path)
    assert_refused(here("estimate", "bad.csv", "--out", "new/result"), word)
    assert listing(tmp_path) == before


MATRIX = ",a,b,c,d,e\na,{}\nb,{},0,0,0,0\nc,0,0,0,0,0\nd,0,0,0,0,0\ne,0,0,0,0,0\n"
BAD_KNOWN = {
    "no-file": (None, "bad.csv: no such file"),
    "empty": ("", "bad.csv"),
    "size": (",a,b\na,0,1\nb,1,0\n", "missing ['c', 'd', 'e']"),
    "names": (MATRIX.format("0,0,0,0,0", 0).replace("e", "z"), "missing ['e'], not in X ['z']"),
    "one-sided": (MATRIX.format("0,1,0,0,0", 0), "not symmetric"),
    "entry": (MATRIX.format("0,0.5,0,0,0", 0.5), "entries must be 0"),
    "word": (MATRIX.format("0,no,0,0,0", "no"), "not a matrix of numbers"),
    "loop": (MATRIX.format("1,0,0,0,0", 0), "diagonal"),
    "contradiction": ("source,target,present\na,b,1\nb,a,0\n", "contradicts"),
    "stranger": ("source,target,present\na,z,1\n", "'z' is no column"),
}


@pytest.mark.parametrize(("content", "word"), BAD_KNOWN.values(), ids=BAD_KNOWN)
def test_estimate_refuses_a_bad_known_part_and_writes_nothing(here, inputs, content, word):
    if content is not None:
        (inputs / "bad.csv").write_text(content)
    before = listing(inputs)
    assert_refused(here("estimate", "x.csv", "--known", "bad.csv", "--out", "result"), word)
    assert listing(inputs) == before


@pytest.mark.parametrize(
    ("option", "value", "word"),
    [
        ("--prior", "nonsense", "'nonsense'"),
        ("--prior", "", "shipped prior"),
        ("--prior", "missing.safetensors", "missing.safetensors: no such file"),
        ("--prior", "cut.safetensors", "cut.safetensors is truncated"),
        ("--prior", "graphs.npz", "'graphs.npz'"),
        ("--engine", "steam", "'steam'"),
        ("--use", "LX", "'LX'"),
        ("--engine=gibbs", "--draws=0", "0"),
        ("--engine=gibbs", "--draws=-3", "-3"),
        ("--engine=gibbs", "--draws=1000000000000", "GB"),
        ("--draws", "3", "'gibbs' and 'langevin' have it"),
        ("--threshold", "0", "threshold"),
        ("--threshold", "1.5", "1.5"),
        ("--threshold", "nan", "nan"),
        ("--engine=langevin", "--bootstrap-margin=0.7", "0.7"),
        ("--seed", "-1", "-1"),
        ("--device", "nonsense", "nonsense"),
        ("--device", "cuda:99", "cuda:99"),
    ],
)
def test_estimate_refuses_a_bad_option_and_writes_nothing(here, inputs, option, value, word):
    whole = (inputs / "tiny.safetensors").read_bytes()
    (inputs / "cut.safetensors").write_bytes(whole[: len(whole) // 2])
    before = listing(inputs)
    assert_refused(here("estimate", "x.csv", "--out", "result", option, value), word)
    assert listing(inputs) == before


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--count", "0"], "--count 0"),
        (["--nodes", "1"], "--nodes 1"),
        (["--nodes", "-5"], "--nodes -5"),
        (["--nodes", "1000000"], "GB"),
        (["--seed", "-1"], "-1"),
        (["--prior", "nonsense"], "'nonsense'"),
        (["--prior", "missing.safetensors"], "missing.safetensors"),
        (["--prior", "bare.safetensors"], "--nodes"),
        (["--compare", "missing"], "missing: no such file"),
        (["--compare", "none.json"], "none.json"),
        (["--compare", "empty-graph.json"], "expected graphs of at least 2 nodes"),
    ],
)
def test_sample_refuses_a_bad_option_and_writes_nothing(here, inputs, options, word):
    (inputs / "bare.safetensors").write_bytes((inputs / "tiny.safetensors").read_bytes())
    (inputs / "none.json").write_text("{}")
    (inputs / "empty-graph.json").write_text('{"b": []}')
    before = listing(inputs)
    words = ["sample", "--prior", "tiny.safetensors", "--count", "1", "--out", "drawn", *options]
    assert_refused(here(*words), word)
    assert listing(inputs) == before


BAD_GRAPHS = {
    "missing": (None, "no such file"),
    "none.json": ("{}", "0 training graph(s)"),
    "one.json": ('{"a": [[0, 1]]}', "1 training graph(s)"),
    "small.json": ('{"a": [[0, 1]], "b": []}', "1 training graph(s)"),
    "weights.json": ('{"a": [[0, 1]], "b": [[0, 1, 5]]}', "weights.json"),
    "cut.npz": ("PK", "cut.npz is not a set of graphs"),
    "graphs.txt": ("a b\n", "graphs.txt"),
    "folder": ("", "folder holds no graph"),
}


@pytest.mark.parametrize("name", BAD_GRAPHS)
def test_train_refuses_a_bad_set_of_graphs_and_writes_nothing(here, tmp_path, name):
    content, word = BAD_GRAPHS[name]
    if name == "folder":
        (tmp_path / name).mkdir()
    elif content is not None:
        (tmp_path / name).write_text(content)
    before = listing(tmp_path)
    assert_refused(here("train", name, "--out", "new/prior.safetensors", *SMALL), word)
    assert listing(tmp_path) == before


@pytest.mark.slow
def test_train_tells_what_it_mended_and_left_out(here, tmp_path):
    (tmp_path / "g.json").write_text('{"a": [[0, 1]], "b": [[0, 1], [1, 1]], "c": []}')
    outcome = here("train", "g.json", "--out", "p.safetensors", *SMALL)
    assert outcome.code == 0
    assert "2 graphs of 2 to 2 nodes, density 1.000" in outcome.err
    assert "graphs of fewer than 2 nodes left out: 1; loops dropped: 1" in outcome.err
    facts = json.loads((tmp_path / "p.json").read_text())["graphs"]
    assert facts["changes"] == {
        "copies of others, kept": 1, "graphs of fewer than 2 nodes left out": 1, "loops dropped": 1,
    }  # fmt: skip
    assert "on 1 graph held out" in outcome.err


@pytest.mark.slow
def test_graphs_that_train_takes_can_be_compared_with(here, inputs):
    (inputs / "g.json").write_text('{"a": [[0, 1], [1, 2]], "b": [[0, 1], [1, 1]], "c": []}')
    words = ["sample", "--prior", "tiny.safetensors", "--count", "1", "--out", "drawn"]
    outcome = here(*words, "--compare", "g.json")
    assert outcome.code == 0
    assert "graphs of fewer than 2 nodes left out: 1; loops dropped: 1" in outcome.err
    facts = json.loads((inputs / "drawn" / "statistics.json").read_text())
    assert facts["given"]["density"] == pytest.approx((2 / 3 + 1) / 2)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--steps", "0"),
        ("--batch", "0"),
        ("--batch", "-1"),
        ("--seed", "-1"),
        ("--out", "p.pt"),
        ("--kind", "nonsense"),
        ("--kind", ""),
        ("--device", "nonsense"),
        ("--start", "nonsense"),
        ("--validate-every", "0"),
        ("--minutes", "1"),
    ],
)
def test_train_refuses_a_bad_option_and_writes_nothing(here, inputs, option, value):
    before = listing(inputs)
    words = ["train", "graphs.npz", "--out", "new/p.safetensors", *SMALL]
    assert_refused(here(*words, option, value), value)
    assert listing(inputs) == before


def test_an_unknown_kind_is_refused_and_the_known_ones_told(here, inputs):
    words = ["train", "graphs.npz", "--out", "p.safetensors", *SMALL, "--kind", "EDP"]
    assert_refused(here(*words), "EDP", *OBJECTIVES)


@pytest.mark.parametrize("name", ["grid", "GRIDS", "ergm.npz"])
def test_what_is_neither_file_nor_family_is_refused_and_the_families_told(here, tmp_path, name):
    outcome = here("train", name, "--out", "p.safetensors", *SMALL)
    assert_refused(outcome, f"{name}: no such file", *generated())
    assert listing(tmp_path) == {}


@pytest.mark.parametrize(("count", "word"), [("0", "0 graphs"), ("1", "1 training graph(s)")])
def test_too_few_graphs_of_a_family_are_refused(here, tmp_path, count, word):
    words = ["train", "grids", "--count", count, "--out", "p.safetensors", *SMALL]
    assert_refused(here(*words), word)
    assert listing(tmp_path) == {}


@pytest.mark.parametrize("name", ["nonsense", "missing.safetensors"])
def test_priors_refuses_a_prior_that_is_not_there(here, name):
    assert_refused(here("priors", name), name)


@pytest.mark.parametrize(
    "words",
    [["train"], ["estimate", "x.csv"], ["nonsense"], ["sample", "--prior", "tiny", "--count", "x"]],
)
def test_a_command_that_cannot_be_parsed_is_an_error_and_writes_nothing(here, inputs, words):
    before = listing(inputs)
    outcome = here(*words)
    assert outcome.code == 2
    assert "Traceback" not in outcome.err
    assert outcome.err
    assert listing(inputs) == before


@pytest.mark.parametrize("words", [["--debug", "estimate"], ["estimate", "--debug"]])
def test_debug_shows_the_error_itself(tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["graphprior", *words, "missing.csv", "--out", "result"])
    with pytest.raises(ValueError, match=r"missing\.csv: no such file"):
        main()


@pytest.mark.slow
def test_a_process_refuses_in_one_line_too(tmp_path):
    words = ["train", "missing.npz", "--out", "prior.safetensors"]
    assert_refused(run(tmp_path, *words), "missing.npz: no such file")
    assert listing(tmp_path) == {}


# Output that is already there


@pytest.mark.parametrize(
    "words",
    [["estimate", "x.csv"], ["sample", "--prior", "tiny.safetensors"], ["demo"]],
    ids=lambda words: words[0],
)
@pytest.mark.parametrize("out", ["full", "hidden", "x.csv"])
def test_an_output_folder_that_holds_something_is_refused_and_untouched(here, inputs, words, out):
    for folder, name in [("full", "mine.txt"), ("hidden", ".mine")]:
        (inputs / folder).mkdir()
        (inputs / folder / name).write_text("mine")
    before = listing(inputs)
    assert_refused(here(*words, "--out", out), out, "exists")
    assert listing(inputs) == before


def test_an_output_folder_that_cannot_be_made_is_refused(here, inputs):
    before = listing(inputs)
    words = ["estimate", "x.csv", "--known", "all.csv"]
    assert_refused(here(*words, "--out", "x.csv/result"), "x.csv")
    assert listing(inputs) == before


@pytest.mark.parametrize("name", ["prior.safetensors", "prior.json"])
def test_train_replaces_nothing_unless_told(here, inputs, name):
    (inputs / name).write_text("mine")
    before = listing(inputs)
    words = ["train", "graphs.npz", "--out", "prior.safetensors", "--steps", "1", "--batch", "2"]
    assert_refused(here(*words), "exists")
    assert listing(inputs) == before
    assert here(*words, "--restart").code == 0
    assert read_card("prior.safetensors")["name"] == "prior"


def test_train_never_replaces_the_graphs_it_was_given(here, tmp_path):
    content = '{"a": [[0, 1], [1, 2]], "b": [[0, 1]], "c": [[0, 2]]}'
    (tmp_path / "mine.json").write_text(content)
    here("train", "mine.json", "--out", "mine.safetensors", "--steps", "1", "--batch", "2")
    assert (tmp_path / "mine.json").read_text() == content


# Results


@pytest.mark.slow
def test_estimate_as_a_process_prints_json_alone_and_writes_a_whole_result(inputs):
    before = listing(inputs)
    words = ["estimate", "x.csv", "--known", "half.csv", "--prior", "tiny.safetensors"]
    words += ["--engine", "langevin"]
    words += ["--draws", "3", "--out", "new/result", "--json"]
    code, out, err = run(inputs, *words, command=COLD)
    assert (code, err) == (0, "")
    summary = strict_json(out)
    known = pd.read_csv(inputs / "half.csv", index_col=0).to_numpy()
    U = np.isnan(known)
    with np.load(inputs / "new/result/result.npz", allow_pickle=False) as z:
        P, A = z["edge_probabilities"], z["adjacency"]
    assert np.array_equal(P[~U], known[~U])
    assert np.array_equal(P[U] * 3, np.round(P[U] * 3))
    assert np.array_equal(A == 1, P >= summary["threshold"])
    assert summary["unknown_pairs"] == U.sum() // 2 == 6
    assert summary["edges_found"] == A[U].sum() // 2
    strict_json((inputs / "new/result/run.json").read_text())
    after = listing(inputs)
    assert {name: after[name] for name in before} == before
    written = {name for name in after if after[name] is not None} - set(before)
    parts = (
        "answers.csv", "edges.csv", "graph.graphml", "picture.png", "report.html", "result.npz",
        "run.json",
    )  # fmt: skip
    assert written == {f"new/result/{name}" for name in parts}


def test_the_same_seed_gives_the_same_answer(here, inputs):
    words = [
        "estimate",
        "x.csv",
        "--known",
        "half.csv",
        "--use",
        "data",
        "--engine",
        "gibbs",
        "--draws",
        "5",
    ]
    for out in ("a", "b"):
        assert here(*words, "--out", out).code == 0
    (a, b), names = (listing(inputs / out) for out in ("a", "b")), ("edges.csv", "result.npz")
    assert all(a[name] == b[name] for name in names)


def test_what_is_all_known_comes_back_with_a_note(here, inputs):
    (inputs / "result").mkdir()
    outcome = here("estimate", "x.csv", "--known", "all.csv", "--out", "result")
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err.startswith("note: nothing is unknown")
    assert "" not in outcome.err.splitlines()
    table = pd.read_csv(inputs / "result/edges.csv")
    known = pd.read_csv(inputs / "all.csv", index_col=0)
    assert all(known.loc[row.source, row.target] == row.edge for row in table.itertuples())


def test_json_is_valid_and_alone_even_beside_a_note(here, inputs):
    words = ["estimate", "x.csv", "--known", "all.csv", "--out", "result", "--json"]
    outcome = here(*words)
    assert strict_json(outcome.out)["edges_found"] == 0
    assert outcome.err.startswith("note: ")
    assert outcome.err.count("\n") == 1


def test_too_few_observations_are_an_answer_with_a_note(here, inputs, rng):
    write_observations(inputs / "few.csv", rng, k=3)
    words = ["estimate", "few.csv", "--use", "data", "--bootstrap-margin=-1", "--out", "result"]
    words += ["--engine", "langevin"]
    outcome = here(*words, "--draws", "1")
    assert outcome.code == 0
    assert outcome.err.splitlines()[0].startswith("note: k = 3 observations are too few")


def test_an_interrupted_estimate_says_so_in_one_line_and_writes_nothing(here, inputs):
    import_module("graphprior.cli.estimate")  # what is interrupted is the estimate, not this
    before = listing(inputs)
    # A shell starts what runs in the background deaf to Ctrl-C.
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    ctrl_c = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    ctrl_c.start()
    words = ["estimate", "x.csv", "--prior", "tiny.safetensors", "--draws", "500"]
    words += ["--engine", "langevin"]
    outcome = here(*words, "--out", "result")
    ctrl_c.join()
    signal.signal(signal.SIGINT, usual)
    assert outcome == Outcome(130, "", "graphprior: interrupted\n")
    assert listing(inputs) == before


@pytest.mark.slow
def test_drawn_graphs_are_written_in_two_ways_with_their_statistics(here, inputs):
    words = ["sample", "--prior", "tiny.safetensors", "--out", "new/drawn", "--count", "6"]
    code, out, err = here(*words, "--json", "--compare", "graphs.npz")
    assert (code, err) == (0, "")
    graphs = read_graphs(inputs / "new/drawn/graphs.npz")
    assert {len(A) for A in graphs} <= {4, 6}
    files = sorted((inputs / "new/drawn").glob("*.graphml"))
    from_files = [nx.to_numpy_array(nx.read_graphml(path), weight=None) for path in files]
    assert all(map(np.array_equal, from_files, graphs))
    assert len(files) == len(graphs) == 6
    facts = strict_json(out)
    assert facts == strict_json((inputs / "new/drawn/statistics.json").read_text())
    assert facts["drawn"]["density"] == pytest.approx(np.mean([vech(A).mean() for A in graphs]))
    assert facts["given"]["graphs"] == 6
    assert 0 <= facts["degree_histogram_distance"] <= 1


@pytest.mark.slow
def test_sample_draws_as_many_nodes_as_told_and_the_same_with_the_same_seed(here, inputs):
    drawn = {}
    for out, seed in [("a", 7), ("b", 7), ("c", 8)]:
        words = ["sample", "--prior", "tiny.safetensors", "--nodes", "7", "--count", "2"]
        outcome = here(*words, "--seed", seed, "--out", out)
        assert (outcome.code, outcome.out) == (0, "")
        drawn[out] = np.stack(read_graphs(inputs / out / "graphs.npz"))
    assert drawn["a"].shape == (2, 7, 7)
    assert np.array_equal(drawn["a"], drawn["b"])
    assert not np.array_equal(drawn["a"], drawn["c"])


def test_priors_lists_what_is_shipped_for_people_and_for_scripts(here, monkeypatch):
    cards = strict_json(here("priors", "--json").out)
    assert cards.keys() == shipped_priors().keys()
    monkeypatch.setenv("COLUMNS", "80")
    outcome = here("priors")
    assert outcome.code == 0
    for name, card in cards.items():
        assert name in outcome.out
        loss, unit = card["validation"]["best"]["loss"], OBJECTIVES[card["kind"]].unit
        assert f"{loss:.4f} {unit}" in outcome.out
        assert strict_json(here("priors", name).out) == card


@pytest.mark.parametrize("kind", OBJECTIVES)
def test_a_prior_of_either_kind_is_trained_and_shown(here, inputs, kind):
    words = ["train", "graphs.npz", "--kind", kind, "--steps", "2", "--batch", "2"]
    assert here(*words, "--out", "p.safetensors").code == 0
    prior, card = load_prior("p.safetensors"), read_card("p.safetensors")
    assert card["kind"] == prior.kind == kind
    assert card["parameters"] == sum(p.numel() for p in prior.network.parameters())
    assert strict_json(here("priors", "p.safetensors").out) == card


def test_the_evidence_network_is_what_is_trained_unless_told(here, inputs):
    words = ["train", "graphs.npz", "--steps", "1", "--batch", "2"]
    assert here(*words, "--out", "p.safetensors").code == 0
    assert load_prior("p.safetensors").kind == "evidence"


def test_a_family_is_trained_on_by_its_name(here, tmp_path):
    words = ["train", "grids", "--count", "4", "--seed", "3", "--steps", "1", "--batch", "2"]
    assert here(*words, "--kind", "edp-gnn", "--out", "p.safetensors").code == 0
    facts = read_card("p.safetensors")["graphs"]
    assert (facts["source"], facts["count"]) == ("grids", 4)
    assert facts["sha256"] == graphs_hash(generate("grids", 4, 3))


def test_a_folder_called_like_a_family_comes_before_it(here, tmp_path, rng):
    (tmp_path / "grids").mkdir()
    for name in "abc":
        nx.write_graphml(nx.cycle_graph(5), tmp_path / "grids" / f"{name}.graphml")
    words = ["train", "grids", "--count", "9", "--steps", "1", "--batch", "2"]
    assert here(*words, "--kind", "edp-gnn", "--out", "p.safetensors").code == 0
    card = read_card("p.safetensors")
    assert card["graphs"]["sizes"] == {"5": 3}
    assert "--count" not in card["command"]


@pytest.mark.parametrize(
    ("kind", "graphs"),
    [("edp-gnn", ["grids", "--count", "4"]), ("evidence", ["my graphs.npz"])],
)
def test_the_command_of_a_card_makes_the_same_prior_again(here, inputs, monkeypatch, kind, graphs):
    (inputs / "graphs.npz").rename(inputs / "my graphs.npz")
    options = ["--kind", kind, "--steps", "2", "--batch", "2", "--seed", "3"]
    words = ["train", *graphs, "--out", "my prior.safetensors", "--licence", "my 'own'", *options]
    assert here(*words).code == 0
    (again := inputs / "again").mkdir()
    (again / "my graphs.npz").write_bytes((inputs / "my graphs.npz").read_bytes())
    card = read_card(inputs / "my prior.safetensors")
    assert card["graphs"]["source"] == graphs[0]
    monkeypatch.chdir(again)
    program, *command = shlex.split(card["command"])
    assert program == "graphprior"
    assert here(*command).code == 0
    assert_same_prior(again / "my prior.safetensors", inputs / "my prior.safetensors")


def test_a_name_in_brackets_is_told_as_it_is(here, inputs):
    words = ["train", "graphs.npz", "--out", "p[old].safetensors", "--steps", "1", "--batch", "2"]
    assert "p[old].safetensors" in here(*words).err
    assert (inputs / "p[old].safetensors").exists()


# Training that stops and goes on


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """What the training on ``graphs.npz`` gives when nothing stops it."""
    folder, rng = tmp_path_factory.mktemp("uninterrupted"), np.random.default_rng(0)
    write_npz(folder / "graphs.npz", [random_graph(rng, 5, density=0.4) for _ in range(6)])
    outcome = run(folder, "train", "graphs.npz", "--out", "prior.safetensors", *LONG, "--json")
    assert outcome.code == 0
    return folder, outcome


def checkpoint_step(folder):
    """The step a checkpoint holds, or 0 where there is none; it is never half written."""
    path = folder / "prior.safetensors.checkpoint"
    if not path.exists():
        return 0
    with safe_open(path, framework="np") as file:
        return int(file.metadata()["step"])


def wait_for_step(process, folder, step):
    end = time.monotonic() + PATIENCE
    while checkpoint_step(folder) < step:
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < end
        time.sleep(0.002)


@pytest.mark.slow
def test_training_as_a_process_prints_json_alone_and_no_bar(uninterrupted):
    folder, (_, out, err) = uninterrupted
    assert strict_json(out) == read_card(folder / "prior.safetensors")
    first = [line.split()[0] for line in err.splitlines() if "more for 40 steps" not in line]
    best = strict_json(out)["validation"]["best"]
    no_gain = best["unknown=0.5 no data"] >= best["rate unknown=0.5 no data"]
    assert first[:3] == ["6", "102408", "on"]
    assert first[-1] == "wrote"
    assert set(first[3:-1]) == {"note:"} or not no_gain
    assert listing(folder).keys() == {"graphs.npz", "prior.safetensors", "prior.json"}


@pytest.mark.slow
def test_the_card_tells_what_the_prior_was_made_of(uninterrupted):
    folder, _ = uninterrupted
    card, graphs = read_card(folder / "prior.safetensors"), read_graphs(folder / "graphs.npz")
    assert card["graphs"]["count"] == 6
    assert card["graphs"]["sizes"] == {"5": 6}
    assert card["graphs"]["statistics"]["density"] == pytest.approx(
        np.mean([vech(A).mean() for A in graphs])
    )
    assert card["graphs"]["sha256"] == graphs_hash(graphs)
    assert (card["training"]["steps"], card["training"]["batch"]) == (40, 4)
    assert card["validation"]["curve"][-1][0] == 40
    assert str(folder) not in json.dumps(card)


@pytest.mark.slow
def test_training_killed_at_any_moment_goes_on_to_the_same_bytes(here, inputs, uninterrupted):
    rng = np.random.default_rng()
    words = ["train", "graphs.npz", "--out", "prior.safetensors", *LONG]
    for target in (rng.integers(1, 10), rng.integers(14, 24)):
        process = start(inputs, *words, "--checkpoint-seconds", "0")
        wait_for_step(process, inputs, target)
        time.sleep(rng.uniform(0, 0.03))
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        assert not (inputs / "prior.safetensors").exists()
    reached = checkpoint_step(inputs)
    assert 14 <= reached < 40
    outcome = here(*words)
    assert f"going on from step {reached} " in outcome.err
    assert not (inputs / "prior.safetensors.checkpoint").exists()
    assert_same_prior(inputs / "prior.safetensors", uninterrupted[0] / "prior.safetensors")


@pytest.mark.slow
def test_training_interrupted_keeps_a_checkpoint_and_goes_on_to_the_same_bytes(
    here, inputs, uninterrupted
):
    words = ["train", "graphs.npz", "--out", "prior.safetensors", *LONG]
    process = start(inputs, *words)
    assert process.stderr.readline().startswith("6 graphs")
    assert "parameters" in process.stderr.readline()
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (130, "")
    reached = checkpoint_step(inputs)
    assert f"stopped at step {reached} of 40; the same command goes on from there" in err
    assert 0 < reached < 40
    assert not (inputs / "prior.safetensors").exists()
    assert here(*words).code == 0
    assert_same_prior(inputs / "prior.safetensors", uninterrupted[0] / "prior.safetensors")


@pytest.fixture
def stopped(inputs):
    """A folder where the training ``SMALL`` stopped before its first step."""
    config = TrainingConfig(steps=30, batch=4)
    data = graphs_hash(read_graphs(inputs / "graphs.npz"))
    path = inputs / "prior.safetensors.checkpoint"
    save_checkpoint(path, new_state(config), config, data)
    write_npz(inputs / "others.npz", read_graphs(inputs / "graphs.npz")[::-1])
    return inputs


@pytest.mark.parametrize(
    "words",
    [
        ["graphs.npz", "--steps", "31", "--batch", "4"],
        ["graphs.npz", "--steps", "30", "--batch", "5"],
        ["graphs.npz", *SMALL, "--seed", "1"],
        ["others.npz", *SMALL],
        ["graphs.npz", *SMALL, "--kind", "edp-gnn"],
    ],
    ids=["steps", "batch", "seed", "graphs", "kind"],
)
def test_a_training_with_other_settings_does_not_go_on(here, stopped, words):
    before = listing(stopped)
    outcome = here("train", *words, "--out", "prior.safetensors")
    assert_refused(outcome, "prior.safetensors.checkpoint", "--restart")
    assert listing(stopped) == before


# Training within a time

SOON = ["--minutes", "0.02", "--start", "nothing"]


def test_train_tells_first_what_it_learns_from_and_what_there_is_to_beat(here, inputs):
    outcome = here("train", "graphs.npz", "--out", "p.safetensors", *SOON)
    assert outcome.code == 0
    lines = outcome.err.splitlines()
    assert lines[0].startswith("6 graphs of 5 to 5 nodes, density 0.4")
    assert "about 1 second" in lines[0]
    assert lines[1].startswith("on 2 graphs held out")
    card = read_card("p.safetensors")
    rate = card["validation"]["best"]["rate unknown=0.5 no data"]
    assert f"the edge rate alone needs {rate:.3f} bits per pair" in lines[1]
    steps = card["training"]["steps"]
    assert lines[2] == f"starting from nothing; {steps} steps"
    assert card["training"]["minutes"] == 0.02
    assert not (inputs / "p.safetensors.checkpoint").exists()


def test_the_command_of_a_card_makes_what_was_fitted_to_a_time_again(here, inputs):
    teacher = CrossEntropy(network=EvidenceNetworkConfig(1, 4, 2, 6))
    save_prior(teacher.prior(teacher.build()), inputs / "teacher.safetensors", {"name": "teacher"})
    words = ["--minutes", "0.02", "--start", "teacher.safetensors"]
    assert here("train", "graphs.npz", "--out", "p.safetensors", *words).code == 0
    first = load_file("p.safetensors")
    card = read_card("p.safetensors")
    assert card["training"]["start"] == "teacher.safetensors"
    assert card["validation"]["start"]["step"] == 0
    assert here(*shlex.split(card["command"])[1:], "--restart").code == 0
    again = load_file("p.safetensors")
    assert all(torch.equal(first[key], again[key]) for key in first)
    assert read_card("p.safetensors")["validation"] == card["validation"]


@pytest.fixture
def soon_stopped(inputs):
    """A folder where a training for two minutes was interrupted; returns its words too."""
    words = ["train", "graphs.npz", "--out", "prior.safetensors", "--minutes", "2"]
    words += ["--start", "nothing"]
    process = start(inputs, *words, "--checkpoint-seconds", "0")
    wait_for_step(process, inputs, 3)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "--finish" in err
    return words


def settings_of(path):
    with safe_open(path, framework="np") as file:
        return json.loads(file.metadata()["config"])


def test_a_time_that_was_interrupted_goes_on_with_as_many_steps(here, inputs, soon_stopped):
    path = inputs / "prior.safetensors.checkpoint"
    steps, reached = settings_of(path)["steps"], checkpoint_step(inputs)
    process = start(inputs, *soon_stopped, "--checkpoint-seconds", "0")
    wait_for_step(process, inputs, reached + 3)
    process.kill()
    _, err = process.communicate()
    assert f"going on from step {reached} " in err
    assert settings_of(path)["steps"] == steps


def test_a_training_that_stopped_can_be_ended_with_its_best_weights(here, inputs, soon_stopped):
    reached = checkpoint_step(inputs)
    assert_refused(here(*soon_stopped[:-4], "--steps", "9"), "--minutes 2", "--finish", "--restart")
    assert here(*soon_stopped[:-4], "--finish").code == 0
    card = read_card("prior.safetensors")
    assert card["stopped_at_step"] == reached
    assert card["validation"]["curve"][-1][0] <= reached
    assert load_prior("prior.safetensors").kind == "evidence"
    assert not (inputs / "prior.safetensors.checkpoint").exists()


def test_only_a_training_that_stopped_can_be_ended(here, inputs):
    before = listing(inputs)
    words = ["train", "graphs.npz", "--out", "prior.safetensors", "--finish"]
    assert_refused(here(*words), "--finish", "prior.safetensors.checkpoint does not exist")
    assert listing(inputs) == before


def test_a_training_is_ended_only_with_its_own_graphs(here, stopped):
    before = listing(stopped)
    words = ["train", "others.npz", "--out", "prior.safetensors", "--finish"]
    assert_refused(here(*words), "other graphs")
    assert listing(stopped) == before


def test_a_damaged_checkpoint_is_refused_and_left_alone(here, stopped):
    path = stopped / "prior.safetensors.checkpoint"
    path.write_bytes(path.read_bytes()[:1000])
    before = listing(stopped)
    assert_refused(here("train", "graphs.npz", "--out", "prior.safetensors", *SMALL), path.name)
    assert listing(stopped) == before


def test_a_restart_forgets_the_checkpoint(here, stopped):
    words = ["train", "others.npz", "--out", "prior.safetensors", "--steps", "2", "--batch", "2"]
    assert here(*words, "--restart").code == 0
    assert not (stopped / "prior.safetensors.checkpoint").exists()
    assert read_card(stopped / "prior.safetensors")["training"]["steps"] == 2


def test_rows_may_be_a_series(here, tmp_path):
    X = np.cumsum(np.random.default_rng(0).standard_normal((60, 4)), axis=0)
    pd.DataFrame(X, columns=list("abcd")).to_csv("data.csv", index=False)
    ended = here("estimate", "data.csv", "--time-series", "--out", "out")
    assert ended.code == 0
    assert "rows were taken as a series" in " ".join(ended.err.split())
    assert json.loads(Path("out/run.json").read_text())["arguments"]["time_series"] is True
