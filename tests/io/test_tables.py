import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from graphprior import Schedule
from graphprior.errors import GraphPriorError
from graphprior.graphs.matrices import check_known, hide, unvech
from graphprior.io.inputs import file_hash
from graphprior.io.known import read_known
from graphprior.io.observations import read_observations
from graphprior.problem.known import known_from_edge_table
from graphprior.problem.problem import Problem
from oracles import random_graph, random_problem

NAMES = ["a", "b", "c"]
QUICK = Schedule.linear(L=3, T=20, epsilon=1e-4)
ODD_NAMES = ["IL-2 (α)", "p, q", 'say "x"', "<tag> & co", "5"]

known_parts = st.integers(2, 6).flatmap(
    lambda n: arrays(float, n * (n - 1) // 2, elements=st.sampled_from([0.0, 1.0, np.nan]))
)


def write(folder, name, content):
    path = Path(folder) / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def write_matrix(folder, known, names, name="known.csv"):
    table = pd.DataFrame(known, index=names, columns=names)
    table.to_csv(Path(folder) / name, sep="\t" if name.endswith(".tsv") else ",")
    return Path(folder) / name


def rows_of(known, names):
    return [
        (names[i], names[j], str(int(known[i, j])))
        for i, j in np.argwhere(~np.isnan(known))
        if i < j
    ]


def refused(message):
    return pytest.raises(GraphPriorError, match=message)


@settings(max_examples=25)
@given(arrays(float, (4, 3), elements=st.floats(-1e9, 1e9, allow_subnormal=False)))
def test_observations_are_read_as_written(X):
    with tempfile.TemporaryDirectory() as folder:
        for name, separator in [("x.csv", ","), ("x.tsv", "\t")]:
            pd.DataFrame(X, columns=NAMES).to_csv(f"{folder}/{name}", sep=separator, index=False)
            table = read_observations(f"{folder}/{name}")
            assert list(table.columns) == NAMES
            np.testing.assert_allclose(table.to_numpy(), X, rtol=1e-13)


def test_names_keep_odd_letters_and_lose_space_around_them(tmp_path, rng):
    pd.DataFrame(rng.standard_normal((3, 5)), columns=ODD_NAMES).to_csv(
        tmp_path / "x.csv", index=False
    )
    assert list(read_observations(tmp_path / "x.csv").columns) == ODD_NAMES
    path = write(tmp_path, "y.csv", " a ,b\t, c\n1,2,3\n4,5,7\n")
    assert list(read_observations(path).columns) == NAMES


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"x\.csv is not a table"),
        ("a,b\n", r"x\.csv|0 row"),
        ("a,b\n1,2\n", r"1 row\(s\): at least 2"),
        ("a,b\n1,2\n3,\n", r"X\[1, 1\] is NaN"),
        ("a,b\n1,2\nNA,4\n", r"X\[1, 0\] is NaN"),
        ("a,b\n1,inf\n3,4\n", r"X\[0, 1\] is inf"),
        ("a,b\n1,2\n-inf,4\n", r"X\[1, 0\] is -inf"),
        ("a,b\n1,2\n3,four\n", r"x\.csv: column 'b' is not numeric \(row 3: 'four'\)"),
        ("a,b\n1,2\n3,2020-01-01\n", r"x\.csv: column 'b' is not numeric \(row 3"),
        ("a,b\n1,2\n1,3\n", "column a of X is constant"),
        ("a,b\n1,7\n2,7\n", "column b of X is constant"),
        ("a,a\n1,2\n3,4\n", r"x\.csv: column 'a' occurs twice"),
        ("a, a\n1,2\n3,4\n", r"x\.csv: column 'a' occurs twice"),
        (",a,b\n0,1,2\n1,3,5\n2,4,1\n", r"x\.csv.*name"),
        ("a,b\n1,2\n3\n", r"X\[1, 1\] is NaN"),
        ("a,b\n1,2\n3,4,5\n", r"x\.csv is not a table .*line 3"),
        ("a,b\n1,2,3\n4,5,6\n7,8,1\n", r"x\.csv: the header has 2 names but rows have 3 values"),
        ('a,b\n"1,2\n', r"x\.csv is not a table"),
        (b"\xff\xfe\x00a", r"x\.csv is not text in UTF-8"),
    ],
)
def test_observations_that_cannot_be_used_are_refused(tmp_path, content, message):
    path = write(tmp_path, "x.csv", content)
    with refused(message):
        Problem.create(read_observations(path))


@pytest.mark.parametrize("name", ["missing.csv", "."])
def test_observations_that_are_no_file_are_refused(tmp_path, name):
    with refused("no such file"):
        read_observations(tmp_path / name)


@settings(max_examples=25)
@given(known_parts, st.randoms(use_true_random=False))
def test_the_order_of_names_in_a_known_matrix_does_not_matter(a, random):
    known = unvech(a)
    names = [f"v{i}" for i in range(len(known))]
    table = pd.DataFrame(known, index=names, columns=names)
    rows, cols = (random.sample(names, len(names)) for _ in range(2))
    with tempfile.TemporaryDirectory() as folder:
        table.loc[rows, cols].to_csv(f"{folder}/known.csv")
        np.testing.assert_array_equal(read_known(f"{folder}/known.csv", names), known)


@settings(max_examples=25)
@given(known_parts, st.randoms(use_true_random=False))
def test_an_edge_table_tells_the_same_in_any_order_and_way_round(a, random):
    known = unvech(a)
    names = [f"v{i}" for i in range(len(known))]
    rows = [(b, a, p) if random.random() < 0.5 else (a, b, p) for a, b, p in rows_of(known, names)]
    random.shuffle(rows)
    np.testing.assert_array_equal(known_from_edge_table(rows + rows[:2], names), known)


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_matrix_and_edge_table_are_two_ways_to_say_the_same(tmp_path, rng, suffix):
    known = hide(random_graph(rng, 5), rng, share=0.4)
    matrix = write_matrix(tmp_path, known, ODD_NAMES, f"matrix.{suffix}")
    table = pd.DataFrame(rows_of(known, ODD_NAMES), columns=["source", "target", "present"])
    separator = "\t" if suffix == "tsv" else ","
    table.to_csv(tmp_path / f"table.{suffix}", index=False, sep=separator)
    np.testing.assert_array_equal(read_known(matrix, ODD_NAMES), known)
    np.testing.assert_array_equal(read_known(tmp_path / f"table.{suffix}", ODD_NAMES), known)


def test_an_edge_table_without_rows_leaves_every_pair_unknown(tmp_path):
    known = read_known(write(tmp_path, "k.csv", "source,target,present\n"), NAMES)
    assert np.array_equal(np.isnan(known), ~np.eye(3, dtype=bool))
    assert not np.diag(known).any()


@pytest.mark.parametrize("unknown", ["", "nan", "NaN", "NA", "?", " "])
def test_an_unknown_entry_may_be_spelled_in_several_ways(tmp_path, unknown):
    path = write(tmp_path, "k.csv", f",a,b,c\na,0,1,{unknown}\nb,1,0,0\nc,{unknown},0,\n")
    expected = np.array([[0, 1, np.nan], [1, 0, 0], [np.nan, 0, 0]])
    np.testing.assert_array_equal(read_known(path, NAMES), expected)


def test_variables_may_be_called_source_and_target(tmp_path, rng):
    names = ["source", "target", "sink"]
    known = hide(random_graph(rng, 3, density=0.5), rng, count=1)
    path = write_matrix(tmp_path, known, names)
    np.testing.assert_array_equal(read_known(path, names), known)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"k\.csv is not a table"),
        (",a,b,c\n", r"missing \['a', 'b', 'c'\]"),
        (",a,b\na,0,1\nb,1,0\n", r"missing \['c'\]"),
        (",a,b,c\na,0,1,0\nb,1,0,0\n", r"missing \['c'\]"),
        (",a,b,z\na,0,1,0\nb,1,0,0\nz,0,0,0\n", r"missing \['c'\], not in X \['z'\]"),
        (",a,b,c,d\na,0,,,\nb,,0,,\nc,,,0,\nd,,,,0\n", r"not in X \['d'\]"),
        ("0,1,0\n1,0,0\n0,0,0\n", "names of known do not match"),
        (",a,b,c\na,0,0,0\na,0,0,0\nb,0,0,0\nc,0,0,0\n", "more than once"),
        (",a,b,c,c\na,0,0,0,0\nb,0,0,0,0\nc,0,0,0,0\n", "more than once|names of known"),
        (",a,b,c\na,0,1,0\nb,0,0,0\nc,0,0,0\n", r"known\[0, 1\] = 1, .* = 0: .*not symmetric"),
        (",a,b,c\na,0,,0\nb,0,0,0\nc,0,0,0\n", r"known\[0, 1\] = nan, \[1, 0\] = 0: .*not symm"),
        (",a,b,c\na,0,0.5,0\nb,0.5,0,0\nc,0,0,0\n", r"known\[0, 1\] = 0.5: entries must be 0"),
        (",a,b,c\na,0,0,2\nb,0,0,0\nc,2,0,0\n", r"known\[0, 2\] = 2: entries must be 0"),
        (",a,b,c\na,0,0,-1\nb,0,0,0\nc,-1,0,0\n", r"known\[0, 2\] = -1: entries must be 0"),
        (",a,b,c\na,0,inf,0\nb,inf,0,0\nc,0,0,0\n", r"known\[0, 1\] = inf: entries must be 0"),
        (",a,b,c\na,0,x,0\nb,x,0,0\nc,0,0,0\n", "not a matrix of numbers .*'x'"),
        (",a,b,c\na,0,0,0\nb,0,1,0\nc,0,0,0\n", r"known\[1, 1\] = 1: the diagonal must be 0"),
        (",a,b,c\na,0,1,0\nb,1,0\nc,0,0,0\n", r"known\[1, 2\] = nan|k\.csv"),
        (",a,b,c\na,0,1,0\nb,1,0,0,9\nc,0,0,0\n", r"k\.csv is not a table .*line 3"),
        (",a,b,c\na,0,1,0,9\nb,1,0,0,9\nc,0,0,0,9\n", r"k\.csv|names of known do not match"),
        ("source,target\na,b\n", "an edge table has exactly source, target"),
        ("source,target,present\na,z,1\n", r"k\.csv row 2: 'z' is no column of X"),
        ("source,target,present\na,b,1\n,c,1\n", r"k\.csv row 3: '' is no column of X"),
        ("source,target,present\na,a,1\n", r"k\.csv row 2: 'a' is paired with itself"),
        ("source,target,present\na,b,yes\n", r"k\.csv row 2: present = 'yes'"),
        ("source,target,present\na,b,0.5\n", r"k\.csv row 2: present = '0.5'"),
        ("source,target,present\na,b\n", r"k\.csv row 2: present = ''"),
        ("source,target,present\na,b,1\nb,a,0\n", r"k\.csv row 3 contradicts .*'b' and 'a'"),
        ("source,target,present\na,b,1,1\n", r"k\.csv"),
        (b"\xff\xfe\x00a", r"k\.csv is not text in UTF-8"),
    ],
)
def test_a_known_part_that_cannot_be_used_is_refused(tmp_path, content, message):
    path = write(tmp_path, "k.csv", content)
    with refused(message):
        read_known(path, NAMES)


def test_a_known_part_that_is_missing_is_refused(tmp_path):
    with refused(r"missing\.csv: no such file"):
        read_known(tmp_path / "missing.csv", NAMES)


@pytest.mark.parametrize("row", [("a", "b"), ("a", "b", 1, 1)])
def test_a_row_of_an_edge_table_has_three_entries(row):
    with refused("row 2"):
        known_from_edge_table([row], NAMES)


@pytest.mark.parametrize("present", [1, 0, "1"])
def test_an_edge_table_may_hold_numbers(present):
    known = known_from_edge_table([("a", "b", present)], NAMES)
    assert known[0, 1] == known[1, 0] == float(present)


def test_a_hash_is_sha256_and_tells_files_apart(tmp_path):
    abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert file_hash(write(tmp_path, "a", "abc")) == abc
    assert file_hash(write(tmp_path, "b", "abd")) != abc


def test_what_is_read_is_what_a_problem_takes(tmp_path, rng):
    A, problem = random_problem(rng, n=4, k=10)
    names = list("wxyz")
    pd.DataFrame(problem.X, columns=names).to_csv(tmp_path / "x.csv", index=False)
    path = write_matrix(tmp_path, problem.known, names)
    read = Problem.create(read_observations(tmp_path / "x.csv"), read_known(path, names))
    assert read.names == tuple(names)
    np.testing.assert_allclose(read.X, problem.X, rtol=1e-13)
    np.testing.assert_array_equal(read.known, check_known(problem.known))
    assert np.array_equal(read.known[read.O], A[read.O])


@pytest.mark.parametrize(
    ("header", "fine"), [("0,1,2", True), ("1,2,3", True), ("0.3,-1.2,4", False), ("7,9,8", False)]
)
def test_a_table_without_header_is_refused_and_counted_names_are_not(tmp_path, header, fine):
    path = write(tmp_path, "x.csv", f"{header}\n1,2,3\n4,5,7\n")
    if fine:
        assert list(read_observations(path).columns) == header.split(",")
    else:
        with refused("expected a header"):
            read_observations(path)


@pytest.mark.parametrize("first", [0, 1, 1980])
def test_a_first_column_that_counts_the_rows_is_refused_until_it_is_named(tmp_path, rng, first):
    table = pd.DataFrame(rng.standard_normal((8, 2)), columns=["a", "b"])
    path = tmp_path / "x.csv"
    table.set_index(pd.RangeIndex(first, first + 8, name="id")).to_csv(path)
    with refused("column 'id' counts the rows.*index='id'"):
        read_observations(path)
    assert list(read_observations(path, index="id").columns) == ["a", "b"]


def test_capitals_do_not_make_an_edge_table_a_matrix(tmp_path):
    plain, capitals = (
        read_known(write(tmp_path, "k.csv", f"{header}\nx,y,1\n"), ["x", "y", "z"])
        for header in ("source,target,present", "Source,TARGET,Present")
    )
    np.testing.assert_array_equal(plain, capitals)


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_a_file_in_another_encoding_is_refused_with_what_to_do(tmp_path, encoding):
    path = tmp_path / "x.csv"
    path.write_bytes("größe,b\n1,2\n2,1\n".encode(encoding))
    with pytest.raises(GraphPriorError, match="not text in UTF-8: save it as such"):
        read_observations(path)
