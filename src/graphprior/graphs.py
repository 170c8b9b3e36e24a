"""Graphs, what is known of them, and the problem to solve.

A graph is a symmetric 0/1 matrix ``A`` with a zero diagonal. What is known of
it is the same matrix with ``nan`` where an entry is unknown. ``U`` marks the
unknown pairs and ``O`` the observed ones: symmetric boolean masks, false on
the diagonal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from graphprior.edge_table import is_edge_table, read_rows, rows_of
from graphprior.errors import GraphPriorError

Matrix = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


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
    try:
        A = np.array(known, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise GraphPriorError(
            f"{name} is not a matrix of numbers ({error}): "
            "expected 0 (no edge), 1 (edge), nan (unknown)"
        ) from None
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise GraphPriorError(f"{name} has shape {A.shape}: expected a square matrix")
    if n is not None and len(A) != n:
        raise GraphPriorError(
            f"{name} is {len(A)} x {len(A)} but X has {n} columns: "
            "expected one row and one column for each variable"
        )
    _refuse_first(
        ~(np.isnan(A) | (A == 0) | (A == 1)), A, name,
        "entries must be 0 (no edge), 1 (edge) or nan (unknown)",
    )  # fmt: skip
    loops = np.zeros(A.shape, dtype=bool)
    np.fill_diagonal(loops, np.nan_to_num(np.diag(A)) != 0)
    _refuse_first(loops, A, name, "the diagonal must be 0, a variable has no edge to itself")
    one_sided = (A != A.T) & ~(np.isnan(A) & np.isnan(A.T))
    np.fill_diagonal(one_sided, False)
    _refuse_first(one_sided, A, name, "not symmetric, (i, j) and (j, i) are the same pair")
    np.fill_diagonal(A, 0.0)
    return A


def _refuse_first(bad: Mask, A: Matrix, name: str, rule: str) -> None:
    if bad.any():
        i, j = np.argwhere(bad)[0]
        mirror = f", [{j}, {i}] = {A[j, i]:g}" if i != j and A[i, j] != A[j, i] else ""
        raise GraphPriorError(
            f"{name}[{i}, {j}] = {A[i, j]:g}{mirror}: {rule} ({int(bad.sum())} such entries)"
        )


def check_observations(X: Any) -> Matrix:
    """``X`` as a (k, n) float matrix, or an error naming what cannot be used."""
    table: Matrix
    try:
        table = np.array(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise GraphPriorError(f"X is not a table of numbers: {error}") from None
    if table.ndim != 2:
        raise GraphPriorError(f"X has shape {table.shape}: expected (observations, variables)")
    if not np.isfinite(table).all():
        t, i = np.argwhere(~np.isfinite(table))[0]
        value = "NaN" if np.isnan(table[t, i]) else table[t, i]
        raise GraphPriorError(
            f"X[{t}, {i}] is {value}: every entry must be a finite number "
            f"({int((~np.isfinite(table)).sum())} are not); drop or impute those rows"
        )
    if len(table) < 2:
        raise GraphPriorError(f"X has {len(table)} row(s): at least 2 observations are needed")
    return table


def refuse_constant_columns(X: Matrix, names: Sequence[str]) -> None:
    """A variable that never varies has no covariance and no edge to find."""
    spread = np.ptp(X, axis=0)
    scale = np.abs(X).max(axis=0)
    flat = np.flatnonzero(spread <= 8 * np.finfo(float).eps * scale)
    if len(flat):
        listed = ", ".join(str(names[i]) for i in flat[:5]) + (", ..." if len(flat) > 5 else "")
        raise GraphPriorError(
            f"column {listed} of X is constant: a variable that does not vary has no edges "
            "to estimate; remove it"
        )


def node_names(X: Any, n: int) -> tuple[str, ...]:
    """Column names of a DataFrame, or x0 .. x(n-1); duplicates are refused."""
    columns = getattr(X, "columns", None)
    if columns is None:
        return tuple(f"x{i}" for i in range(n))
    names = tuple(str(c) for c in columns)
    repeated = sorted({c for c in names if names.count(c) > 1}) if len(set(names)) < n else []
    if repeated:
        raise GraphPriorError(
            f"column name {repeated[0]!r} occurs more than once: names must differ"
        )
    return names


def align_known(known: Any, names: Sequence[str]) -> Matrix:
    """``known`` in the order of ``names``: an array as it is, a DataFrame matched by name.

    A DataFrame is a named matrix, or an edge table with columns source, target, present,
    in which a row with a ``probability`` leaves its pair unknown.
    """
    if not hasattr(known, "columns"):
        return check_known(known, n=len(names))
    if is_edge_table(known.columns):
        return read_rows(rows_of(known), names).known
    rows, cols = [str(c) for c in known.index], [str(c) for c in known.columns]
    for label in (rows, cols):
        missing, extra = sorted(set(names) - set(label)), sorted(set(label) - set(names))
        if missing or extra:
            raise GraphPriorError(
                f"names of known do not match X's columns: missing {missing[:5]}, "
                f"not in X {extra[:5]}"
            )
        if len(label) != len(names):
            raise GraphPriorError("known names a variable more than once: names must differ")
    order = [rows.index(c) for c in names], [cols.index(c) for c in names]
    return check_known(known.to_numpy()[np.ix_(*order)], n=len(names))


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
    """

    X: Matrix
    known: Matrix
    names: tuple[str, ...]

    @classmethod
    def create(cls, X: Any, known: Any = None) -> Problem:
        """Check and align what a user has: arrays or DataFrames, ``known`` or None."""
        names = node_names(X, np.shape(X)[-1] if np.ndim(X) == 2 else 0)
        X = check_observations(X)
        refuse_constant_columns(X, names)
        n = X.shape[1]
        aligned = nothing_known(n) if known is None else align_known(known, names)
        X.setflags(write=False)
        aligned.setflags(write=False)
        return cls(X, aligned, names)

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
