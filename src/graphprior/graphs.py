"""Graphs, what is known of them, and the problem to solve.

A graph is a symmetric 0/1 matrix ``A`` with a zero diagonal. What is known of
it is the same matrix with ``nan`` where an entry is unknown. ``U`` marks the
unknown pairs and ``O`` the observed ones: symmetric boolean masks, false on
the diagonal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from graphprior.beliefs import (
    BELIEF_TABLE,
    align_beliefs,
    join_beliefs,
    no_beliefs,
    read_edge_table,
    refuse_known_beliefs,
)
from graphprior.beliefs import EDGE_TABLE as EDGE_TABLE
from graphprior.checks import Mask as Mask
from graphprior.checks import Matrix as Matrix
from graphprior.checks import (
    as_square,
    check_observations,
    match_names,
    node_names,
    refuse_constant_columns,
    refuse_first,
    refuse_one_sided,
)
from graphprior.errors import GraphPriorError


def pairs(n: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Rows and columns of the n(n-1)/2 pairs i < j, in the order of vech."""
    rows, cols = np.triu_indices(n, 1)
    return rows, cols


def vech(A: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The pairs of a symmetric matrix as a vector; leading axes are a batch."""
    rows, cols = pairs(A.shape[-1])
    return A[..., rows, cols]


def unvech(a: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The symmetric matrix with zero diagonal whose pairs are ``a``."""
    n = round((1 + np.sqrt(1 + 8 * a.shape[-1])) / 2)
    if n * (n - 1) // 2 != a.shape[-1]:
        raise GraphPriorError(
            f"a vector of {a.shape[-1]} pairs fits no number of nodes: expected n(n-1)/2 entries"
        )
    rows, cols = pairs(n)
    A = np.zeros((*a.shape[:-1], n, n), dtype=a.dtype)
    A[..., rows, cols] = a
    A[..., cols, rows] = a
    return A


def nothing_known(n: int) -> Matrix:
    """``known`` of n nodes when all pairs are unknown."""
    return np.where(np.eye(n, dtype=bool), 0.0, np.nan)


def unknown_mask(known: Matrix) -> Mask:
    """The unknown pairs U. Eq. (3)."""
    U = np.isnan(known)
    np.fill_diagonal(U, False)
    return U


def observed_mask(known: Matrix) -> Mask:
    """The observed pairs O. Eq. (2)."""
    O = ~np.isnan(known)  # noqa: E741 (the paper's letter)
    np.fill_diagonal(O, False)
    return O


def check_adjacency(A: Any, name: str = "A") -> Matrix:
    """``A`` as a float matrix, or an error that says which entry is not a graph's."""
    whole = check_known(A, name=name)
    if np.isnan(whole).any():
        i, j = np.argwhere(np.isnan(whole))[0]
        raise GraphPriorError(f"{name}[{i}, {j}] is nan: a whole graph has entries 0 and 1 only")
    return whole


def check_known(known: Any, n: int | None = None, name: str = "known") -> Matrix:
    """``known`` as a float matrix of 0, 1 and nan, or an error naming the bad entry."""
    A = as_square(known, n, name, "0 (no edge), 1 (edge), nan (unknown)")
    refuse_first(
        ~(np.isnan(A) | (A == 0) | (A == 1)), A, name,
        "entries must be 0 (no edge), 1 (edge) or nan (unknown)",
    )  # fmt: skip
    loops = np.zeros(A.shape, dtype=bool)
    np.fill_diagonal(loops, np.nan_to_num(np.diag(A)) != 0)
    refuse_first(loops, A, name, "the diagonal must be 0, a variable has no edge to itself")
    refuse_one_sided(A, name)
    np.fill_diagonal(A, 0.0)
    return A


def align_known(known: Any, names: Sequence[str]) -> Matrix:
    """``known`` in the order of ``names``: an array as it is, a DataFrame matched by name.

    A DataFrame is a named matrix, or an edge table with columns source, target, present.
    """
    if hasattr(known, "nodes") and hasattr(known, "edges"):
        raise GraphPriorError(
            "known is a graph object, which does not tell absent pairs from unknown ones: "
            "pass a matrix of 0, 1 and nan, or an edge table with columns source, target, present"
        )
    if not hasattr(known, "columns"):
        return check_known(known, n=len(names))
    if sorted(map(str, known.columns)) == sorted(EDGE_TABLE):
        # Column by column: one array of all would turn whole numbers into others.
        return known_from_edge_table(zip(*(known[c] for c in EDGE_TABLE), strict=True), names)
    return check_known(match_names(known, names, "known"), n=len(names))


def known_from_edge_table(rows: Any, names: Sequence[str], source: str = "known") -> Matrix:
    """The matrix that an edge table (source, target, present) describes."""
    known, _ = read_edge_table(rows, names, source, EDGE_TABLE)
    np.fill_diagonal(known, 0.0)
    return known


def align_beliefs_too(known: Any, beliefs: Any, names: Sequence[str]) -> tuple[Matrix, Matrix]:
    """What is known and what is believed; an edge table with probabilities tells of both."""
    n = len(names)
    P = no_beliefs(n) if beliefs is None else align_beliefs(beliefs, names)
    columns = {str(c) for c in getattr(known, "columns", ())}
    if {*BELIEF_TABLE} - {"present"} <= columns <= {*BELIEF_TABLE}:
        known = known if "present" in columns else known.assign(present="")
        rows = zip(*(known[c] for c in BELIEF_TABLE), strict=True)
        A, listed = read_edge_table(rows, names, "known")
        np.fill_diagonal(A, 0.0)
        P = join_beliefs(listed, P, names)
    else:
        A = nothing_known(n) if known is None else align_known(known, names)
    refuse_known_beliefs(P, A, names)
    return A, P


def hide(
    A: Matrix,
    rng: np.random.Generator,
    share: float | None = None,
    count: int | None = None,
    ones: float | None = None,
) -> Matrix:
    """``A`` with some pairs made unknown: a ``share`` of all pairs, or a ``count``.

    ``ones`` is the ratio of edges among the hidden pairs; by default it is the
    graph's own density. As in the authors' code the number of hidden edges is
    binomial. When the graph has too few edges or non-edges for the
    number drawn, the other kind makes up the difference.
    """
    if (share is None) == (count is None):
        raise GraphPriorError("hide takes either a share or a count of pairs")
    a = vech(check_adjacency(A))
    m = int(share * len(a)) if share is not None else int(count or 0)
    if not 0 <= m <= len(a):
        raise GraphPriorError(f"cannot hide {m} of {len(a)} pairs")
    if m < len(a):
        edges, gaps = np.flatnonzero(a == 1), np.flatnonzero(a == 0)
        m1 = int(rng.binomial(m, a.mean() if ones is None else ones))
        m1 = int(np.clip(m1, m - len(gaps), len(edges)))
        a = a.copy()
        a[rng.choice(edges, m1, replace=False)] = np.nan
        a[rng.choice(gaps, m - m1, replace=False)] = np.nan
        return unvech(a)
    return unvech(np.full(len(a), np.nan))


@dataclass(frozen=True, eq=False)
class Problem:
    """k observations ``X`` of n variables, and what is ``known`` of their graph.

    Problem 1 of the paper without the example graphs, which are the prior's.
    ``X`` may have nan where ``missing`` says how to go about it; ``rows`` tells
    whether its rows are independent or a series. ``beliefs`` are probabilities
    of unknown pairs, nan for none. ``moments`` keeps what was computed of X,
    which does not depend on the graph.
    """

    X: Matrix
    known: Matrix
    names: tuple[str, ...]
    missing: str = "refuse"
    beliefs: Matrix | None = None
    rows: str = "independent"
    moments: dict[bool, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def create(
        cls,
        X: Any,
        known: Any = None,
        beliefs: Any = None,
        missing: str = "refuse",
        rows: str = "independent",
    ) -> Problem:
        """Check and align what a user has: arrays or DataFrames, ``known`` or None."""
        names = node_names(X, np.shape(X)[-1] if np.ndim(X) == 2 else 0)
        X = check_observations(X, names, missing, rows)
        refuse_constant_columns(X, names)
        A, P = align_beliefs_too(known, beliefs, names)
        for matrix in (X, A, P):
            matrix.setflags(write=False)
        return cls(X, A, names, missing, P, rows)

    def with_known(self, known: Matrix) -> Problem:
        """The same observations with another known part; beliefs stay where it is nan."""
        P = None if self.beliefs is None else np.where(np.isnan(known), self.beliefs, np.nan)
        return replace(self, known=known, beliefs=P)

    @property
    def k(self) -> int:
        """Number of observations."""
        return int(self.X.shape[0])

    @property
    def n(self) -> int:
        """Number of variables."""
        return int(self.X.shape[1])

    @property
    def U(self) -> Mask:
        """The unknown pairs."""
        return unknown_mask(self.known)

    @property
    def O(self) -> Mask:  # noqa: E743 (the paper's letter)
        """The observed pairs."""
        return observed_mask(self.known)

    @property
    def believed(self) -> Mask:
        """The unknown pairs of which there is a belief."""
        if self.beliefs is None:
            return np.zeros(self.known.shape, dtype=bool)
        return ~np.isnan(self.beliefs)

    @property
    def belief(self) -> Matrix:
        """Log-odds that the beliefs give, 0 where there is none."""
        if self.beliefs is None:
            return np.zeros(self.known.shape)
        log_odds: Matrix = np.nan_to_num(np.log(self.beliefs) - np.log1p(-self.beliefs))
        return log_odds
