"""Tables of every format say the same, and what cannot be read is refused with words."""

import gzip
import json
import re
import sys
import zipfile

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from graphprior.cli.main import app
from graphprior.cohort.cohort import find_tables
from graphprior.errors import GraphPriorError, notes
from graphprior.estimator import PartialGGM
from graphprior.graphs.matrices import hide
from graphprior.io import inputs
from graphprior.io.inputs import Reading
from graphprior.io.known import read_beliefs, read_known
from graphprior.io.observations import read_observations
from graphprior.io.tables import SUFFIXES, guess_separator, stem_of
from graphprior.observations.transforms import transform_table
from graphprior.problem.known import align_beliefs_too
from graphprior.problem.problem import Problem
from graphprior.results.folder import read_result
from oracles import random_graph, random_problem

NAMES = ["IL-2 (α)", "p, q", "c;d", "5"]
WRITERS = {
    ".csv": lambda table, path: table.to_csv(path, index=False),
    ".tsv": lambda table, path: table.to_csv(path, index=False, sep="\t"),
    ".csv.gz": lambda table, path: table.to_csv(path, index=False),
    ".tsv.gz": lambda table, path: table.to_csv(path, index=False, sep="\t"),
    ".parquet": lambda table, path: table.to_parquet(path),
    ".xlsx": lambda table, path: table.to_excel(path, index=False),
    ".npz": lambda table, path: np.savez(
        path, X=table.to_numpy(), names=np.array([str(c) for c in table.columns])
    ),
}


def refused(message):
    return pytest.raises(GraphPriorError, match=message)


@pytest.fixture
def table(rng):
    X = rng.standard_normal((6, 4))
    X[2, 1] = X[4, 3] = np.nan
    return pd.DataFrame(X, columns=NAMES)


def test_there_is_a_writer_for_every_format():
    assert set(WRITERS) == set(SUFFIXES)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_table_is_read_as_written_missing_cells_too(tmp_path, table, suffix):
    WRITERS[suffix](table, path := tmp_path / f"x{suffix}")
    pd.testing.assert_frame_equal(read_observations(path), table, rtol=1e-13)


@pytest.mark.parametrize("decimal", [".", ","])
def test_semicolons_are_found_with_either_decimal_sign(tmp_path, table, decimal):
    table.to_csv(path := tmp_path / "x.csv", index=False, sep=";", decimal=decimal)
    pd.testing.assert_frame_equal(read_observations(path), table, rtol=1e-13)


@pytest.mark.parametrize(
    ("text", "separator"),
    [
        ("a,b\n1,2\n", ","),
        ("a;b\n1;2\n", ";"),
        ("a\tb\n1\t2\n", "\t"),
        ("a;b\n1,5;2,5\n", ";"),
        ('"a;b",c\n1,2\n', ","),
        ("a,b;c\n1,2\n", ","),
        ("a\n1\n", ","),
        ("", ","),
    ],
)
def test_the_separator_is_the_one_that_parts_evenly(text, separator):
    assert guess_separator(text, "x.csv") == separator


def test_a_table_that_parts_two_ways_is_refused():
    with refused("x.csv: its first lines can be parted by ',' and by ';'"):
        guess_separator("a,b;c\n1,2;3\n", "x.csv")


def test_numbers_with_both_decimal_signs_are_refused(tmp_path):
    (path := tmp_path / "x.csv").write_text("a;b\n1,5;2\n1.5;3\n")
    with refused("column 'a' is not numeric"):
        read_observations(path)


def test_dates_with_points_do_not_hide_decimal_commas(tmp_path, table):
    dated = table.copy()
    dated.insert(0, "day", [f"{t + 1:02d}.12.2020" for t in range(len(table))])
    dated.to_csv(path := tmp_path / "x.csv", index=False, sep=";", decimal=",")
    pd.testing.assert_frame_equal(read_observations(path, index="day"), table, rtol=1e-13)


def test_an_edge_table_may_have_decimal_commas(tmp_path):
    """In its numbers; a name such as 450,5 stays as it is."""
    text = "source;target;present;probability\na;b;;0,8\na;450,5;1;\n"
    (path := tmp_path / "k.csv").write_text(text)
    names = ["a", "b", "450,5"]
    assert read_beliefs(path, names)[0, 1] == 0.8
    assert read_known(path, names)[0, 2] == 1


@pytest.mark.parametrize("label", ["", "id"])
def test_row_labels_are_refused_until_they_are_named(tmp_path, table, label):
    labelled = table.copy()
    labelled.insert(0, label, [f"r{t}" for t in range(6)])
    labelled.to_csv(path := tmp_path / "x.csv", index=False)
    with refused("index="):
        read_observations(path)
    pd.testing.assert_frame_equal(read_observations(path, index=label), table, rtol=1e-13)
    with refused("index='other' names 0 columns"):
        read_observations(path, index="other")


def test_row_labels_that_parquet_keeps_apart_are_no_column(tmp_path, table):
    table.set_axis([f"r{t}" for t in range(6)]).to_parquet(path := tmp_path / "x.parquet")
    pd.testing.assert_frame_equal(read_observations(path), table, rtol=1e-13)


def test_the_first_sheet_is_read_or_the_one_named(tmp_path, table):
    with pd.ExcelWriter(path := tmp_path / "x.xlsx") as book:
        table.to_excel(book, sheet_name="one", index=False)
        (2 * table).to_excel(book, sheet_name="two", index=False)
    pd.testing.assert_frame_equal(read_observations(path), table, rtol=1e-13)
    pd.testing.assert_frame_equal(read_observations(path, sheet="two"), 2 * table, rtol=1e-13)
    with refused("no sheet 'three': it has"):
        read_observations(path, sheet="three")
    table.to_csv(tmp_path / "x.csv", index=False)
    with refused("sheet= is for .xlsx"):
        read_observations(tmp_path / "x.csv", sheet="one")


@pytest.mark.parametrize("said", ["A1", "A1:B2", "A1:XFD1048576"])
def test_what_a_sheet_says_of_its_size_does_not_count(tmp_path, table, said):
    table.to_excel(tmp_path / "x.xlsx", index=False)
    with (
        zipfile.ZipFile(tmp_path / "x.xlsx") as old,
        zipfile.ZipFile(path := tmp_path / "y.xlsx", "w") as new,
    ):
        for name in old.namelist():
            size = f'<dimension ref="{said}"'.encode()
            new.writestr(name, re.sub(rb'<dimension ref="[^"]*"', size, old.read(name)))
    pd.testing.assert_frame_equal(read_observations(path), table, rtol=1e-13)


@pytest.mark.parametrize(("library", "suffix"), [("pyarrow", ".parquet"), ("openpyxl", ".xlsx")])
def test_a_format_whose_library_is_absent_tells_what_to_install(
    tmp_path, table, monkeypatch, library, suffix
):
    WRITERS[suffix](table, path := tmp_path / f"x{suffix}")
    for module in [name for name in sys.modules if name.split(".")[0] == library]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(sys, "meta_path", [])
    monkeypatch.setattr(sys, "path", [])
    with refused(r"pip install 'graphprior\[files\]'"):
        read_observations(path)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"Y": np.zeros((2, 2))}, "expected numbers X or observations"),
        ({"X": np.zeros(4)}, "expected numbers X or observations"),
        ({"X": np.zeros((2, 2), complex)}, "expected numbers X or observations"),
        ({"X": np.zeros((2, 2)), "names": np.array(["a"])}, "expected 2 words"),
        ({"X": np.array([[{}, 1], [2, 3]], dtype=object)}, "never unpickled"),
    ],
)
def test_an_npz_without_a_table_is_refused(tmp_path, arrays, message):
    np.savez(tmp_path / "x.npz", **arrays)
    with refused(message):
        read_observations(tmp_path / "x.npz")


def test_times_and_words_are_no_numbers(tmp_path):
    times = pd.DataFrame({"a": [1.0, 2.0], "t": pd.to_datetime(["2020-01-01", "2020-01-02"])})
    for suffix in (".parquet", ".xlsx"):
        WRITERS[suffix](times, path := tmp_path / f"x{suffix}")
        with refused(r"column 't' is not numeric \(row 2"):
            read_observations(path)


def test_an_ending_that_is_no_tables_is_refused(tmp_path):
    (path := tmp_path / "x.docx").write_text("a,b\n1,2\n3,4\n")
    with refused("not in .docx"):
        read_observations(path)


# What is known and believed.

ROWS = [("a", "b", 1, None), ("c", "b", 0, None), ("c", "d", None, 0.25)]
FOUR = ["a", "b", "c", "d"]


def told(suffix, folder):
    table = pd.DataFrame(ROWS, columns=["source", "target", "present", "probability"])
    if suffix == ".graphml":
        graph = nx.Graph()
        for a, b, present, probability in ROWS:
            said = {"present": present, "probability": probability}
            graph.add_edge(a, b, **{key: v for key, v in said.items() if v is not None})
        nx.write_graphml(graph, folder / "k.graphml")
    else:
        WRITERS[suffix](table, folder / f"k{suffix}")
    return folder / f"k{suffix}"


FORMATS = [*(s for s in SUFFIXES if s != ".npz"), ".graphml"]


@pytest.mark.parametrize("suffix", FORMATS)
def test_known_and_believed_are_the_same_from_every_format(tmp_path, suffix):
    path = told(suffix, tmp_path)
    known, beliefs = read_known(path, FOUR), read_beliefs(path, FOUR)
    expected = np.full((4, 4), np.nan)
    np.fill_diagonal(expected, 0)
    expected[0, 1] = expected[1, 0] = 1
    expected[1, 2] = expected[2, 1] = 0
    np.testing.assert_array_equal(known, expected)
    assert beliefs[2, 3] == beliefs[3, 2] == 0.25
    assert np.isnan(beliefs).sum() == 14


@pytest.mark.parametrize("suffix", FORMATS)
def test_others_absent_leaves_unknown_only_what_is_believed(tmp_path, suffix):
    known = read_known(told(suffix, tmp_path), FOUR, others="absent")
    assert np.argwhere(np.isnan(known)).tolist() == [[2, 3], [3, 2]]
    assert known.sum(where=~np.isnan(known)) == 2


def test_a_file_without_probabilities_holds_no_beliefs(tmp_path):
    (path := tmp_path / "k.csv").write_text("source,target,present\na,b,1\n")
    assert read_beliefs(path, FOUR) is None


def test_columns_may_stand_in_any_order(tmp_path):
    (path := tmp_path / "k.csv").write_text("probability,target,source\n0.5,a,b\n")
    assert read_beliefs(path, FOUR)[0, 1] == 0.5
    assert np.isnan(read_known(path, FOUR)[0, 1])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("a,b,1,0.5", "expected exactly one"),
        ("a,b,,", "expected exactly one"),
        ("a,b,,1", "between 0 and 1"),
        ("a,b,,0", "between 0 and 1"),
        ("a,b,,often", "between 0 and 1"),
        ("a,z,1,", "'z' is no column"),
        ("b,c,1,", "row 3 contradicts"),
        ("b,c,,0.3", "row 3 contradicts"),
    ],
)
def test_a_row_that_says_nothing_clear_is_refused(tmp_path, row, message):
    header = "source,target,present,probability"
    (path := tmp_path / "k.csv").write_text(f"{header}\nc,b,0,\n{row}\n")
    with refused(message):
        read_known(path, FOUR)


def test_a_matrix_leaves_no_others(tmp_path, rng):
    known = hide(random_graph(rng, 4), rng, share=0.5)
    pd.DataFrame(known, FOUR, FOUR).to_csv(tmp_path / "k.csv")
    np.testing.assert_array_equal(read_known(tmp_path / "k.csv", FOUR), known)
    assert read_beliefs(tmp_path / "k.csv", FOUR) is None
    with refused("others= is for an edge table"):
        read_known(tmp_path / "k.csv", FOUR, others="absent")


def test_a_frame_in_memory_tells_what_its_file_tells(tmp_path):
    table = pd.DataFrame(ROWS, columns=["source", "target", "present", "probability"])
    path = told(".csv", tmp_path)
    known, beliefs = align_beliefs_too(table, None, FOUR)
    np.testing.assert_array_equal(known, read_known(path, FOUR))
    np.testing.assert_array_equal(beliefs, read_beliefs(path, FOUR))


@pytest.mark.parametrize("key", ["name", "label"])
def test_nodes_of_graphml_may_be_named_by_an_attribute(tmp_path, key):
    graph = nx.relabel_nodes(nx.path_graph(4), lambda i: f"n{i}")
    nx.set_node_attributes(graph, dict(zip(graph, FOUR, strict=True)), key)
    nx.write_graphml(graph, tmp_path / "k.graphml")
    known = read_known(tmp_path / "k.graphml", FOUR, others="absent")
    np.testing.assert_array_equal(known, nx.to_numpy_array(nx.path_graph(4)))


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (nx.DiGraph([("a", "b")]), "directed"),
        (nx.Graph([("a", "z")]), r"nodes \['z'\] are no columns"),
        (nx.Graph([("a", "a")]), "paired with itself"),
        (nx.Graph([("a", "b", {"probability": 2.0})]), "between 0 and 1"),
    ],
)
def test_graphml_that_says_something_else_is_refused(tmp_path, graph, message):
    nx.write_graphml(graph, tmp_path / "k.graphml")
    with refused(message):
        read_known(tmp_path / "k.graphml", FOUR)


def test_what_is_read_is_transformed_and_told(tmp_path, rng):
    X = pd.DataFrame(rng.lognormal(size=(9, 4)), columns=FOUR)
    X.to_csv(tmp_path / "x.csv", index=False)
    reading = Reading("log", "absent")
    given = reading.read(tmp_path / "x.csv", told(".csv", tmp_path))
    np.testing.assert_allclose(given.X, np.log(X), rtol=1e-12)
    assert given.beliefs[2, 3] == 0.25
    assert Reading(**reading.facts()) == reading
    facts = inputs.estimate_facts(None, {}, given.inputs, reading)
    assert facts["inputs"]["data"] == {"x.csv": inputs.file_hash(tmp_path / "x.csv")}
    assert facts["reading"]["transform"] == "log"
    with refused("others='absent'"):
        reading.read(tmp_path / "x.csv", None)
    for wrong in ({"transform": "sqrt"}, {"others": "maybe"}):
        with refused("expected"):
            Reading(**wrong)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_cohort_takes_tables_of_every_format(tmp_path, table, suffix):
    for part in ("data", "known"):
        (tmp_path / part).mkdir()
    WRITERS[suffix](table, tmp_path / "data" / f"one.two{suffix}")
    told(".graphml", tmp_path / "known").rename(tmp_path / "known" / "one.two.graphml")
    (found,) = find_tables(tmp_path / "data", tmp_path / "known")
    assert found.name == stem_of(found.data) == "one.two"
    assert found.known.name == "one.two.graphml"
    told(".csv", tmp_path / "known").rename(tmp_path / "known" / "one.two.csv")
    with refused("has one.two.csv and one.two.graphml for one.two"):
        find_tables(tmp_path / "data", tmp_path / "known")


def test_a_gzipped_table_beyond_all_bounds_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("graphprior.io.safe.MOST_BYTES", 10**5)
    with gzip.open(path := tmp_path / "x.csv.gz", "wb") as file:
        file.write(b"a,b\n" + b"1,2\n" * 10**5)
    assert path.stat().st_size < 10**4
    with refused("unfolds to more than"):
        read_observations(path)


def run(words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.mark.parametrize("missing", ["em", "pairwise"])
def test_the_command_reads_transforms_and_tells(tmp_path, rng, missing):
    X = pd.DataFrame(rng.lognormal(size=(60, 4)), columns=FOUR)
    X.iloc[3, 1] = np.nan
    X.to_excel(path := tmp_path / "x.xlsx", sheet_name="s", index=False)
    words = ["estimate", path, "--known", told(".graphml", tmp_path), "--transform", "log"]
    assert isinstance(run([*words, "--out", tmp_path / "no"]).exception, GraphPriorError)
    assert not (tmp_path / "no").exists()
    words += ["--missing", missing, "--others", "absent", "--sheet", "s"]
    done = run([*words, "--out", tmp_path / "out"])
    assert done.exit_code == 0, done.exception
    result = read_result(tmp_path / "out")
    reading = {"transform": "log", "others": "absent", "sheet": "s", "index": None}
    assert result.run["reading"] == reading
    assert result.run["arguments"]["missing"] == missing
    assert result.diagnostics.believed_pairs == 1
    assert np.argwhere(np.isnan(result.known)).tolist() == [[2, 3], [3, 2]]


def test_each_table_of_a_cohort_is_read_the_same_way(tmp_path, rng):
    X = pd.DataFrame(rng.lognormal(size=(60, 4)), columns=FOUR)
    (tmp_path / "data").mkdir()
    for suffix in (".parquet", ".npz"):
        WRITERS[suffix](X, tmp_path / "data" / f"t{suffix[1]}{suffix}")
    words = ["estimate", tmp_path / "data", "--each", "--known", told(".csv", tmp_path)]
    words += ["--transform", "normal-scores", "--out", tmp_path / "out"]
    done = run(words)
    assert done.exit_code == 0, done.exception
    first, second = (read_result(tmp_path / "out" / name) for name in ("tn", "tp"))
    np.testing.assert_array_equal(first.edge_probabilities, second.edge_probabilities)
    assert first.run["reading"]["transform"] == "normal-scores"
    told_of = json.loads((tmp_path / "out" / "run.json").read_text())
    assert told_of["reading"] == first.run["reading"]
    assert isinstance(run([*words, "--others", "absent"]).exception, GraphPriorError)


def test_a_result_is_no_known_part(tmp_path, rng):
    _, problem = random_problem(rng, n=5, k=60)
    with notes():
        model = PartialGGM(None).fit(problem.X, known=problem.known)
    nx.write_graphml(model.to_networkx(), tmp_path / "graph.graphml")
    with refused("count the data twice"):
        read_known(tmp_path / "graph.graphml", model.problem_.names)


def test_lines_left_empty_at_the_top_are_no_data(tmp_path):
    (tmp_path / "x.csv").write_text("\n\r\n1,2,3\n.1,.2,.3\n.4,.5,.7\n")
    table = read_observations(tmp_path / "x.csv")
    assert list(table.columns) == ["1", "2", "3"]
    assert len(table) == 2


@pytest.mark.parametrize("word", ["TRUE", "true", "True", "1"])
def test_present_may_be_written_as_r_does(tmp_path, word):
    (tmp_path / "known.csv").write_text(f"source,target,present\na,b,{word}\n")
    assert read_known(tmp_path / "known.csv", ["a", "b", "c"])[0, 1] == 1


def test_beliefs_alone_are_an_edge_table_in_a_file_and_in_memory(tmp_path, rng):
    X = pd.DataFrame(rng.standard_normal((9, 3)), columns=list("abc"))
    table = pd.DataFrame({"source": ["a"], "target": ["b"], "probability": [0.7]})
    table.to_csv(tmp_path / "beliefs.csv", index=False)
    read = read_beliefs(tmp_path / "beliefs.csv", list("abc"))
    np.testing.assert_array_equal(Problem.create(X, table).beliefs, read)


@pytest.mark.parametrize("kind", ["standardise", "log", "normal-scores"])
def test_infinite_entries_are_refused_by_name(kind):
    table = pd.DataFrame({"a": [1.0, 2.0, np.inf], "b": [1.0, 2.0, 3.0]})
    with refused("'a', row 2"):
        transform_table(table, kind)


def test_control_characters_in_names_are_refused(rng):
    with refused("control character"):
        Problem.create(pd.DataFrame(rng.standard_normal((5, 2)), columns=["a\x01", "b"]))
