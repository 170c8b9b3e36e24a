import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from graphprior.errors import GraphPriorError
from graphprior.graphs.matrices import (
    check_adjacency,
    check_known,
    hide,
    observed_mask,
    unknown_mask,
    unvech,
    vech,
)
from graphprior.problem.problem import Problem
from oracles import random_graph

NAN = np.nan


@given(
    st.integers(2, 9).flatmap(lambda n: arrays(float, n * (n - 1) // 2, elements=st.floats(-9, 9)))
)
def test_unvech_and_vech_undo_each_other(a):
    A = unvech(a)
    assert np.array_equal(vech(A), a)
    assert np.array_equal(A, A.T)
    assert not np.diag(A).any()


def test_vech_of_a_batch_is_the_vech_of_each(rng):
    A = np.stack([random_graph(rng, 5) for _ in range(3)])
    assert np.array_equal(vech(A), [vech(a) for a in A])
    assert np.array_equal(unvech(vech(A)), A)


def test_a_vector_of_no_triangular_length_is_refused():
    with pytest.raises(GraphPriorError, match="does not match any number of nodes"):
        unvech(np.zeros(4))


def test_unknown_and_observed_pairs_are_a_partition(rng):
    known = hide(random_graph(rng, 7), rng, share=0.4)
    U, O = unknown_mask(known), observed_mask(known)  # noqa: E741
    assert not (U & O).any()
    assert np.array_equal(U | O, ~np.eye(7, dtype=bool))
    assert np.array_equal(U, U.T)


@pytest.mark.parametrize(
    ("entry", "value", "message"),
    [
        ((0, 1), 0.62, r"known\[0, 1\] = 0.62.*entries must be 0"),
        ((2, 2), 1.0, r"known\[2, 2\] = 1: the diagonal must be 0"),
        ((0, 1), 1.0, r"known\[0, 1\] = 1, \[1, 0\] = 0: the matrix is not symmetric"),
        ((0, 2), NAN, r"known\[0, 2\] = nan, \[2, 0\] = 0: the matrix is not symmetric"),
    ],
)
def test_a_bad_entry_is_named(entry, value, message):
    known = np.zeros((3, 3))
    known[entry] = value
    with pytest.raises(GraphPriorError, match=message):
        check_known(known)


def test_other_shapes_are_refused():
    with pytest.raises(GraphPriorError, match="square"):
        check_known(np.zeros((2, 3)))
    with pytest.raises(GraphPriorError, match="3 x 3 but X has 4 columns"):
        check_known(np.zeros((3, 3)), n=4)
    with pytest.raises(GraphPriorError, match="not a matrix of numbers"):
        check_known([["a", "b"], ["b", "a"]])
    with pytest.raises(GraphPriorError, match="is nan: expected a complete graph"):
        check_adjacency(np.where(np.eye(3) == 1, 0, NAN))


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
def test_hiding_takes_the_share_and_leaves_the_rest(rng, share):
    A = random_graph(rng, 10)
    known = hide(A, rng, share=share)
    U = unknown_mask(known)
    assert U.sum() // 2 == int(share * 45)
    assert np.array_equal(known[~U], A[~U])


def test_hiding_a_count_with_a_ratio_of_ones(rng):
    A = random_graph(rng, 40, density=0.2)
    hidden = [A[unknown_mask(hide(A, rng, count=30, ones=0.5))].mean() for _ in range(200)]
    standard_error = 0.5 / np.sqrt(200 * 30)
    assert abs(np.mean(hidden) - 0.5) < 4 * standard_error


def test_hiding_makes_up_for_missing_edges(rng):
    known = hide(np.zeros((5, 5)), rng, count=6, ones=0.9)
    assert unknown_mask(known).sum() // 2 == 6


@pytest.mark.parametrize(
    "arguments", [{}, {"share": 0.1, "count": 2}, {"count": 11}, {"share": 1.5}]
)
def test_hiding_nonsense_is_refused(rng, arguments):
    with pytest.raises(GraphPriorError):
        hide(np.zeros((5, 5)), rng, **arguments)


def test_a_problem_takes_names_from_data_frames_and_matches_them(rng):
    X = pd.DataFrame(rng.standard_normal((6, 3)), columns=["a", "b", "c"])
    A = np.array([[0, 1, NAN], [1, 0, 0], [NAN, 0, 0]])
    order = [2, 0, 1]
    known = pd.DataFrame(A, index=list("abc"), columns=list("abc")).iloc[order, order[::-1]]
    problem = Problem.create(X, known)
    assert problem.names == ("a", "b", "c")
    np.testing.assert_array_equal(problem.known, A)
    assert (problem.k, problem.n) == (6, 3)


def test_a_problem_takes_an_edge_table(rng):
    X = pd.DataFrame(rng.standard_normal((6, 3)), columns=["a", "b", "c"])
    expected = [[0, 1, 0], [1, 0, NAN], [0, NAN, 0]]
    for present in ([1, 0], [1.0, 0.0], [True, False], ["1", "0"]):
        edges = pd.DataFrame({"source": ["a", "c"], "target": ["b", "a"], "present": present})
        for columns in (["source", "target", "present"], ["present", "target", "source"]):
            np.testing.assert_array_equal(Problem.create(X, edges[columns]).known, expected)


def test_whole_numbers_can_be_names(rng):
    X = pd.DataFrame(rng.standard_normal((6, 2)))
    edges = pd.DataFrame({"source": [0], "target": [1], "present": [1.0]})
    assert Problem.create(X, edges).known[0, 1] == 1


def test_a_problem_cannot_be_changed(rng):
    X = rng.standard_normal((6, 3))
    problem = Problem.create(X)
    X[0, 0] += 1  # the user's own array stays the user's
    assert problem.X[0, 0] != X[0, 0]
    with pytest.raises(ValueError, match="read-only"):
        problem.known[0, 1] = 1.0
    with pytest.raises(AttributeError):
        problem.known = None
    assert problem.U.sum() == 6


def test_names_that_do_not_match_are_told(rng):
    X = pd.DataFrame(rng.standard_normal((6, 2)), columns=["a", "b"])
    known = pd.DataFrame(np.zeros((2, 2)), index=["a", "z"], columns=["a", "z"])
    with pytest.raises(GraphPriorError, match=r"missing \['b'\], not in X \['z'\]"):
        Problem.create(X, known)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[1.0, NAN], [2.0, 3.0]], r"X\[0, 1\] is NaN"),
        ([[1.0, np.inf], [2.0, 3.0]], r"X\[0, 1\] is inf"),
        ([["a", "b"], ["c", "d"]], "not a table of numbers"),
        ([[1.0, 2.0]], r"1 row\(s\)"),
        ([1.0, 2.0], "expected \\(observations, variables\\)"),
        ([[1.0, 2.0], [1.0, 3.0]], "column x0 of X is constant"),
    ],
)
def test_bad_observations_are_refused(X, message):
    with pytest.raises(GraphPriorError, match=message):
        Problem.create(np.array(X))


def test_repeated_names_are_refused(rng):
    X = pd.DataFrame(rng.standard_normal((6, 2)), columns=["a", "a"])
    with pytest.raises(GraphPriorError, match="'a' occurs more than once"):
        Problem.create(X)
