import json
import pickle
import tempfile
from dataclasses import dataclass
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from graphprior.errors import GraphPriorError
from graphprior.graphs.matrices import unvech
from graphprior.io.graph_sets import as_graphs, read_graphs, write_npz
from oracles import random_graph, relabel

PATH = np.array([[0, 1], [1, 2]])
ARRAYS = {"num_nodes": [3], "edge_ptr": [0, 2], "edges": PATH}

graphs = st.integers(2, 7).flatmap(
    lambda n: arrays(bool, n * (n - 1) // 2).map(lambda a: unvech(a.astype(float)))
)
graph_sets = st.lists(graphs, min_size=1, max_size=4)


@dataclass
class Igraph:
    """What igraph.Graph offers, as far as edges go."""

    n: int
    edges: list
    directed: bool = False
    weighted: bool = False

    def vcount(self):
        return self.n

    def get_edgelist(self):
        return self.edges

    def is_directed(self):
        return self.directed

    def is_weighted(self):
        return self.weighted

    def has_multiple(self):
        return len({frozenset(e) for e in self.edges}) < len(self.edges)


@dataclass
class Geometric:
    """What torch_geometric.data.Data offers, as far as edges go."""

    num_nodes: int
    edge_index: np.ndarray
    edge_weight: np.ndarray | None = None

    def is_undirected(self):
        ways = set(map(tuple, self.edge_index.T.tolist()))
        return ways == {(b, a) for a, b in ways}

    def is_directed(self):
        return not self.is_undirected()


def edges(A):
    return np.argwhere(np.triu(A, 1) == 1)


def same(read, expected):
    return len(read) == len(expected) and all(map(np.array_equal, read, expected))


def write_json(path, sets):
    content = {str(g): edges(A).tolist() for g, A in enumerate(sets)}
    path.write_text(json.dumps(content), encoding="utf-8")


def write_tudataset(folder, sets):
    folder.mkdir(exist_ok=True)
    first = np.cumsum([0, *map(len, sets)])
    lines = [np.argwhere(A == 1) + start + 1 for A, start in zip(sets, first, strict=False)]
    np.savetxt(folder / "T_A.txt", np.concatenate(lines), fmt="%d", delimiter=", ")
    owner = np.repeat(np.arange(1, len(sets) + 1), [len(A) for A in sets])
    np.savetxt(folder / "T_graph_indicator.txt", owner, fmt="%d")


def write_edge_list(path, A, between=" "):
    lines = [str(i) for i in range(len(A))]
    lines += [f"{i}{between}{j}" for i, j in edges(A)]
    path.write_text("# a comment\n\n" + "\n".join(lines) + "\n", encoding="utf-8")


def write_graph_files(folder, sets, suffix):
    folder.mkdir(exist_ok=True)
    writers = {
        ".graphml": lambda path, A: nx.write_graphml(nx.from_numpy_array(A, edge_attr=None), path),
        ".gml": lambda path, A: nx.write_gml(nx.from_numpy_array(A, edge_attr=None), path),
    }
    for g, A in enumerate(sets):
        writers.get(suffix, write_edge_list)(folder / f"{g:03d}{suffix}", A)


def saved(folder, name, **arrays):
    np.savez(folder / name, **arrays)
    return folder / name


def refused(message):
    return pytest.raises(GraphPriorError, match=message)


def read_or_refused(path, name):
    """The graphs, or None where they are refused by name."""
    try:
        return read_graphs(path)
    except GraphPriorError as error:
        if name not in str(error):
            raise
        return None


@settings(max_examples=25)
@given(graph_sets)
def test_npz_gives_back_what_was_written(sets):
    with tempfile.TemporaryDirectory() as folder:
        write_npz(Path(folder) / "g.npz", sets)
        assert same(read_graphs(Path(folder) / "g.npz"), sets)


@settings(max_examples=25)
@given(graph_sets)
def test_json_gives_back_every_graph_up_to_its_last_node_with_an_edge(sets):
    with tempfile.TemporaryDirectory() as folder:
        write_json(Path(folder) / "g.json", sets)
        last = [edges(A).max(initial=-1) + 1 for A in sets]
        expected = [A[:n, :n] for A, n in zip(sets, last, strict=True)]
        assert same(read_graphs(Path(folder) / "g.json"), expected)


@settings(max_examples=25)
@given(graph_sets.filter(lambda sets: any(A.any() for A in sets)))
def test_tudataset_gives_back_what_was_written(sets):
    with tempfile.TemporaryDirectory() as folder:
        write_tudataset(Path(folder) / "T", sets)
        assert same(read_graphs(Path(folder) / "T"), sets)


@pytest.mark.parametrize(
    "suffix", [".graphml", ".gml", ".edgelist", ".edges", ".txt", ".csv", ".tsv", ".GML"]
)
def test_a_folder_gives_back_every_graph_in_the_order_of_names(tmp_path, rng, suffix):
    sets = [random_graph(rng, n) for n in rng.integers(2, 8, size=12)]
    write_graph_files(tmp_path, sets, suffix.lower())
    for path in tmp_path.iterdir():
        path.rename(path.with_suffix(suffix))
    assert same(read_graphs(tmp_path), sets)


@pytest.mark.parametrize("between", [" ", "\t", ",", ", ", "  "])
def test_an_edge_list_may_part_names_by_space_tab_or_comma(tmp_path, rng, between):
    A = random_graph(rng, 6)
    write_edge_list(tmp_path / "g.txt", A, between)
    assert same(read_graphs(tmp_path), [A])


def test_an_edge_list_of_names_alone_is_the_graph_up_to_relabelling(tmp_path, rng):
    A = nx.to_numpy_array(nx.connected_watts_strogatz_graph(9, 4, 0.5, seed=1), weight=None)
    lines = rng.permutation([f"node{i} node{j}" for i, j in edges(A)])
    (tmp_path / "g.edges").write_text("\n".join(lines), encoding="utf-8")
    (read,) = read_graphs(tmp_path)
    assert nx.is_isomorphic(nx.from_numpy_array(read), nx.from_numpy_array(A))


def test_a_folder_may_mix_formats_and_hold_other_files(tmp_path, rng):
    sets = [random_graph(rng, 5) for _ in range(3)]
    for A, name in zip(sets, ["a.gml", "b.graphml", "c.csv"], strict=True):
        write_graph_files(tmp_path / "one", [A], Path(name).suffix)
        (tmp_path / "one" / f"000{Path(name).suffix}").rename(tmp_path / name)
    (tmp_path / "README.md").write_text("not a graph")
    assert same(read_graphs(tmp_path), sets)


@given(graph_sets)
def test_objects_of_every_library_are_the_same_graphs(sets):
    both_ways = [np.argwhere(A == 1).T for A in sets]
    assert same(as_graphs(sets), sets)
    assert same(as_graphs([A.astype(int).tolist() for A in sets]), sets)
    assert same(as_graphs(nx.from_numpy_array(A) for A in sets), sets)
    assert same(as_graphs([Igraph(len(A), edges(A).tolist()) for A in sets]), sets)
    assert same(
        as_graphs([Geometric(len(A), e) for A, e in zip(sets, both_ways, strict=True)]), sets
    )


def test_relabelled_nodes_relabel_the_matrix(rng):
    A, order = random_graph(rng, 6), rng.permutation(6)
    graph = nx.Graph()
    graph.add_nodes_from(order)
    graph.add_edges_from(edges(A))
    assert same(as_graphs([graph]), [relabel(A, order)])


def test_a_path_may_be_a_string(tmp_path, rng):
    sets = [random_graph(rng, 5)]
    write_npz(tmp_path / "g.npz", sets)
    assert same(as_graphs(str(tmp_path / "g.npz")), sets)


def test_reading_gives_matrices_of_ones_own(rng):
    A = random_graph(rng, 5)
    (read,) = as_graphs([A])
    read[:] = 7.0
    assert A.max() <= 1


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (nx.DiGraph([(0, 1)]), "graph 1 is directed"),
        (nx.MultiGraph([(0, 1), (0, 1)]), "graph 1 has multiple edges"),
        (nx.Graph([(0, 1, {"weight": 0.5})]), r"graph 1 is weighted \(for example 0.5"),
        (nx.Graph([(0, 1, {"weight": [2]})]), "graph 1 is weighted"),
        (nx.Graph([(1, 1)]), r"graph 1\[0, 0\] = 1: the diagonal"),
        (np.array([[0, 1], [0, 0]]), r"graph 1\[0, 1\] = 1, \[1, 0\] = 0: .* not symmetric"),
        (np.array([[0, 0.5], [0.5, 0]]), r"graph 1\[0, 1\] = 0.5: entries"),
        (np.array([[0, np.nan], [np.nan, 0]]), r"graph 1\[0, 1\] is nan"),
        (np.eye(2), r"graph 1\[0, 0\] = 1: the diagonal"),
        (np.zeros((2, 3)), r"graph 1 has shape \(2, 3\)"),
        (np.array([["a", "b"], ["b", "a"]]), "graph 1 is not a matrix of numbers"),
        (None, "graph 1"),
        (Igraph(2, [(0, 1)], directed=True), "graph 1 is directed"),
        (Igraph(2, [(0, 1)], weighted=True), "graph 1 is weighted"),
        (Igraph(2, [(0, 1), (1, 0)]), "graph 1 has multiple edges"),
        (Igraph(2, [(1, 1)]), r"graph 1\[1, 1\] = 1: the diagonal"),
        (Geometric(3, PATH.T), "graph 1 is directed"),
        (Geometric(2, np.array([[0, 1], [1, 0]]), np.array([2.0, 2.0])), "graph 1 is weighted"),
        (Geometric(2, np.array([[1], [1]])), r"graph 1\[1, 1\] = 1: the diagonal"),
        (Geometric(1, np.array([[0, 1], [1, 0]])), "graph 1: an edge refers to node 1"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else value[:24],
)
def test_an_object_that_is_no_simple_graph_is_refused_by_its_number(graph, message):
    with refused(message):
        as_graphs([np.zeros((2, 2)), graph])


@pytest.mark.parametrize("suffix", ["graphml", "gml"])
@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (nx.DiGraph([("a", "b")]), "is directed"),
        (nx.MultiGraph([("a", "b"), ("a", "b")]), "has multiple edges"),
        (nx.Graph([("a", "b", {"weight": 0.25})]), "is weighted .*0.25"),
        (nx.Graph([("a", "a")]), r"\[0, 0\] = 1: the diagonal"),
    ],
    ids=["directed", "multiple", "weighted", "loop"],
)
def test_a_file_that_is_no_simple_graph_is_refused_by_its_name(tmp_path, suffix, graph, message):
    write_graph_files(tmp_path, [np.zeros((2, 2))], f".{suffix}")
    getattr(nx, f"write_{suffix}")(graph, tmp_path / f"worse.{suffix}")
    with refused(rf"worse\.{suffix}.*{message}"):
        read_graphs(tmp_path)


@pytest.mark.parametrize("suffix", ["graphml", "gml"])
@pytest.mark.parametrize("content", [b"", b"<graphml", b"graph [", b"\x89\xff\xfe", b"{}"])
def test_a_file_that_cannot_be_parsed_is_refused_by_its_name(tmp_path, suffix, content):
    (tmp_path / f"worse.{suffix}").write_bytes(content)
    with refused(rf"worse\.{suffix} cannot be read"):
        read_graphs(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a b\nb c 0.5\n", r"worse\.csv line 2 has 3 fields"),
        (b"a,a\n", r"worse\.csv\[0, 0\] = 1: the diagonal"),
        (b"\xff\xfea b\n", r"worse\.csv"),
    ],
)
def test_an_edge_list_that_is_none_is_refused_by_its_name(tmp_path, content, message):
    (tmp_path / "worse.csv").write_bytes(content)
    with refused(message):
        read_graphs(tmp_path)


def test_a_header_of_an_edge_list_is_no_edge(tmp_path):
    (tmp_path / "g.csv").write_text("source,target\na,b\nb,c\n")
    read = read_or_refused(tmp_path, "g.csv")
    assert read is None or len(read[0]) == 3


HEADED = {
    "from,to\na,b\nb,c\n": 3,
    "Gene1\tGene2\nTP53\tMDM2\nMDM2\tAKT1\nAKT1\tTP53\n": 3,
    "node_a node_b\nx y\n": 2,
    "name other\n1 2\n2 3\n": 3,
    "gene1 gene2\ngene3 gene4\n": 4,
    "BRCA1 BRCA2\nTP53 MDM2\n": 4,
    "\ufeff# made by hand\n\nfrom,to\na,b\n": 2,
    "from to\n": 0,
    "gene1 gene2\n": 2,
    "a b\nc d\n": 4,
}


@pytest.mark.parametrize("content", HEADED)
def test_columns_names_are_told_from_nodes(tmp_path, content):
    (tmp_path / "g.tsv").write_text(content, encoding="utf-8")
    (A,) = read_graphs(tmp_path)
    assert len(A) == HEADED[content]


@pytest.mark.parametrize("name", ["empty", "unreadable"])
def test_a_folder_without_graphs_is_refused_by_its_name(tmp_path, name):
    (tmp_path / name).mkdir()
    if name == "unreadable":
        (tmp_path / name / "README.md").write_text("no graphs here")
    with refused(rf"{name} holds no graph: expected files ending in .*\.graphml"):
        read_graphs(tmp_path / name)


def test_a_folder_inside_is_no_file(tmp_path, rng):
    write_graph_files(tmp_path, [A := random_graph(rng, 4)], ".txt")
    (tmp_path / "notes.txt").mkdir()
    read = read_or_refused(tmp_path, "notes.txt")
    assert read is None or same(read, [A])


@pytest.mark.parametrize("name", ["missing", "missing.npz", "missing.json"])
def test_a_missing_path_is_refused_by_its_name(tmp_path, name):
    with refused(rf"{name}: no such file or folder"):
        read_graphs(tmp_path / name)


def test_a_single_file_of_another_kind_is_refused_by_its_name(tmp_path):
    (tmp_path / "g.pkl").write_bytes(pickle.dumps([np.zeros((2, 2))]))
    with refused(r"g\.pkl: a set of graphs is a folder"):
        read_graphs(tmp_path / "g.pkl")


def test_a_truncated_npz_is_refused_at_every_length(tmp_path, rng):
    write_npz(tmp_path / "g.npz", [random_graph(rng, 6) for _ in range(3)])
    whole = (tmp_path / "g.npz").read_bytes()
    for length in range(0, len(whole), 7):
        (tmp_path / "g.npz").write_bytes(whole[:length])
        with refused(r"g\.npz is not a set of graphs"):
            read_graphs(tmp_path / "g.npz")


def test_a_damaged_npz_is_refused_or_read_as_it_was(tmp_path, rng):
    sets = [random_graph(rng, 9) for _ in range(5)]
    write_npz(tmp_path / "g.npz", sets)
    whole = (tmp_path / "g.npz").read_bytes()
    for place in range(0, len(whole), 3):
        damaged = whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :]
        (tmp_path / "g.npz").write_bytes(damaged)
        read = read_or_refused(tmp_path / "g.npz", "g.npz")
        assert read is None or same(read, sets)


@pytest.mark.parametrize("array", ARRAYS)
def test_an_npz_without_one_of_its_arrays_is_refused(tmp_path, array):
    path = saved(tmp_path, "g.npz", **{k: v for k, v in ARRAYS.items() if k != array})
    with refused(rf"g\.npz is not a set of graphs \(.*{array}"):
        read_graphs(path)


@pytest.mark.parametrize(
    "wrong",
    [
        {"num_nodes": [3, 3]},
        {"num_nodes": 3},
        {"num_nodes": [-3], "edge_ptr": [0, 0], "edges": np.zeros((0, 2), int)},
        {"num_nodes": [2]},
        {"num_nodes": ["three"]},
        {"edge_ptr": [0, 1]},
        {"edge_ptr": [0, 7]},
        {"edge_ptr": [-1, 2]},
        {"edge_ptr": [1, 2]},
        {"edge_ptr": [0.0, 2.0]},
        {"edge_ptr": [0, 2, 1], "num_nodes": [3, 3]},
        {"edges": PATH.ravel()},
        {"edges": np.ones((2, 3), int)},
        {"edges": PATH - 1},
        {"edges": PATH + 0.5},
        {"edges": PATH.astype(str)},
        {"edges": np.array([[0, 1], [2, 2]])},
    ],
    ids=lambda wrong: "-".join(f"{k}={np.array(v).tolist()}" for k, v in wrong.items()),
)
def test_an_npz_whose_arrays_do_not_fit_is_refused_by_its_name(tmp_path, wrong):
    assert len(read_graphs(saved(tmp_path, "right.npz", **ARRAYS))) == 1
    with refused(r"wrong\.npz"):
        read_graphs(saved(tmp_path, "wrong.npz", **{**ARRAYS, **wrong}))


def test_a_bad_graph_of_an_npz_is_named_by_its_number(tmp_path):
    arrays = {"num_nodes": [2, 2], "edge_ptr": [0, 1, 2], "edges": [[0, 1], [0, 5]]}
    with refused(r"g\.npz graph 1: an edge refers to node 5, but there are 2 nodes"):
        read_graphs(saved(tmp_path, "g.npz", **arrays))


def test_a_lone_array_named_npz_is_refused(tmp_path):
    with open(tmp_path / "g.npz", "wb") as file:
        np.save(file, np.zeros((2, 2)))
    with refused(r"g\.npz is not a set of graphs"):
        read_graphs(tmp_path / "g.npz")


class Trap:
    """Unpickling it makes a folder."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.mkdir, (self.path,)


@pytest.mark.parametrize("array", ARRAYS)
def test_an_npz_with_objects_is_refused_and_not_unpickled(tmp_path, array):
    trap = np.array([Trap(tmp_path / "sprung"), 1], dtype=object)
    with refused(r"g\.npz is not a set of graphs"):
        read_graphs(saved(tmp_path, "g.npz", **{**ARRAYS, array: trap}))
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("name", ["g.npz", "g.json", "g.graphml", "g.gml", "g.txt"])
def test_a_pickle_under_another_name_is_refused_and_not_unpickled(tmp_path, name):
    (folder := tmp_path / "set").mkdir()
    (folder / name).write_bytes(pickle.dumps(Trap(tmp_path / "sprung")))
    with refused(rf"g\{Path(name).suffix}"):
        read_graphs(folder / name if name in ("g.npz", "g.json") else folder)
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize(
    "content",
    [
        "[[0, 1]]",
        "[",
        "",
        "3",
        '{"a": null}',
        '{"a": 5}',
        '{"a": [0, 1, 1, 2]}',
        '{"a": [[0, 1], [2]]}',
        '{"a": [["x", "y"]]}',
        '{"a": [[0, NaN]]}',
        '{"a": [[0.5, 1]]}',
        '{"a": [[0, 1, 5]]}',
        '{"a": [[0, 1, 2], [1, 2, 5]]}',
        '{"a": [[3, 3]]}',
    ],
)
def test_json_that_is_no_set_of_edge_lists_is_refused_by_its_name(tmp_path, content):
    (tmp_path / "g.json").write_text(content)
    with refused(r"g\.json"):
        read_graphs(tmp_path / "g.json")


def test_an_edge_to_a_negative_node_is_named(tmp_path):
    (tmp_path / "g.json").write_text('{"b7": [[0, 1], [-4, 1]]}')
    with refused(r"g\.json graph b7: an edge refers to node -4"):
        read_graphs(tmp_path / "g.json")


@pytest.mark.parametrize(
    ("edge_lines", "owners"),
    [
        ("1, 2\n", None),
        ("1 2\n", "1\n1\n"),
        ("1.5, 2\n", "1\n1\n"),
        ("a, b\n", "1\n1\n"),
        ("1\n2\n", "1\n1\n"),
        ("1, 2, 1\n2, 1, 2\n", "1\n1\n"),
        ("1, 1\n", "1\n1\n"),
        ("0, 1\n", "1\n1\n"),
        ("1, 3\n", "1\n1\n"),
        ("2, 3\n", "1\n1\n2\n2\n"),
        ("3, 2\n", "1\n1\n2\n2\n"),
        ("1, 2\n", "1\n2\n1\n2\n"),
    ],
)
def test_a_tudataset_whose_files_do_not_fit_is_refused_by_its_name(tmp_path, edge_lines, owners):
    (folder := tmp_path / "WRONG").mkdir()
    (folder / "WRONG_A.txt").write_text(edge_lines)
    if owners is not None:
        (folder / "WRONG_graph_indicator.txt").write_text(owners)
    with refused("WRONG"):
        read_graphs(folder)
