"""Adjacency matrices and the matrices of known entries: checks and conversions.

A graph is a symmetric 0/1 matrix ``A`` with a zero diagonal. ``known`` is the
same matrix with ``nan`` for every unknown entry. The symmetric boolean masks
``U`` and ``O`` mark the unknown and the known ("observed") pairs; both are
false on the diagonal.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from graphprior.errors import GraphPriorError
from graphprior.types import Mask, Matrix


def pairs(n: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return row and column indices of the n(n-1)/2 pairs i < j, in the order of `vech`."""
    rows, cols = np.triu_indices(n, 1)
    return rows, cols


def vech(A: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the entries i < j of a symmetric matrix as a vector; leading axes are a batch."""
    rows, cols = pairs(A.shape[-1])
    return A[..., rows, cols]


def unvech(a: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the symmetric matrix with zero diagonal whose entries i < j are ``a``."""
    n = round((1 + np.sqrt(1 + 8 * a.shape[-1])) / 2)
    if n * (n - 1) // 2 != a.shape[-1]:
        raise GraphPriorError(
            f"a vector of {a.shape[-1]} pairs does not match any number of nodes n: "
            "expected n(n-1)/2 entries"
        )
    rows, cols = pairs(n)
    A = np.zeros((*a.shape[:-1], n, n), dtype=a.dtype)
    A[..., rows, cols] = a
    A[..., cols, rows] = a
    return A


def nothing_known(n: int) -> Matrix:
    """Return the matrix ``known`` for n nodes when all pairs are unknown."""
    return np.where(np.eye(n, dtype=bool), 0.0, np.nan)


def unknown_mask(known: Matrix) -> Mask:
    """Return the mask U of the unknown pairs. Eq. (3)."""
    U = np.isnan(known)
    np.fill_diagonal(U, False)
    return U


def observed_mask(known: Matrix) -> Mask:
    """Return the mask O of the known pairs. Eq. (2)."""
    O = ~np.isnan(known)  # noqa: E741 (the paper's letter)
    np.fill_diagonal(O, False)
    return O


def check_adjacency(A: Any, name: str = "A") -> Matrix:
    """Return ``A`` as a float matrix, or raise an error that names the invalid entry."""
    whole = check_known(A, name=name)
    if np.isnan(whole).any():
        i, j = np.argwhere(np.isnan(whole))[0]
        raise GraphPriorError(
            f"{name}[{i}, {j}] is nan: expected a complete graph, with entries 0 and 1 only"
        )
    return whole


def check_known(known: Any, n: int | None = None, name: str = "known") -> Matrix:
    """Return ``known`` as a float matrix of 0, 1 and nan, or raise an error about an entry."""
    A = as_square(known, n, name, "0 (no edge), 1 (edge), nan (unknown)")
    refuse_first(
        ~(np.isnan(A) | (A == 0) | (A == 1)), A, name,
        "entries must be 0 (no edge), 1 (edge) or nan (unknown)",
    )  # fmt: skip
    loops = np.zeros(A.shape, dtype=bool)
    np.fill_diagonal(loops, np.nan_to_num(np.diag(A)) != 0)
    refuse_first(loops, A, name, "the diagonal must be 0: a variable has no edge to itself")
    refuse_one_sided(A, name)
    np.fill_diagonal(A, 0.0)
    return A


def hide(
    A: Matrix,
    rng: np.random.Generator,
    share: float | None = None,
    count: int | None = None,
    ones: float | None = None,
) -> Matrix:
    """Return ``A`` with a ``share`` of all pairs, or a ``count`` of pairs, made unknown.

    ``ones`` is the expected share of edges among the hidden pairs; by default it
    is the density of the graph. As in the authors' code, the number of hidden
    edges is binomial. If the graph has too few edges (or non-edges) for the
    number drawn, non-edges (or edges) are hidden instead.
    """
    if (share is None) == (count is None):
        raise GraphPriorError("hide expects exactly one of share= and count=")
    a = vech(check_adjacency(A))
    m = int(share * len(a)) if share is not None else int(count or 0)
    if not 0 <= m <= len(a):
        raise GraphPriorError(f"cannot hide {m} of {len(a)} pairs: expected 0 to {len(a)}")
    if m < len(a):
        edges, gaps = np.flatnonzero(a == 1), np.flatnonzero(a == 0)
        m1 = int(rng.binomial(m, a.mean() if ones is None else ones))
        m1 = int(np.clip(m1, m - len(gaps), len(edges)))
        a = a.copy()
        a[rng.choice(edges, m1, replace=False)] = np.nan
        a[rng.choice(gaps, m - m1, replace=False)] = np.nan
        return unvech(a)
    return unvech(np.full(len(a), np.nan))


def as_square(entries: Any, n: int | None, name: str, expected: str) -> Matrix:
    """Return ``entries`` as a square matrix, with ``n`` rows if given, or raise an error."""
    try:
        A = np.array(entries, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise GraphPriorError(
            f"{name} is not a matrix of numbers ({error}): expected {expected}"
        ) from None
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise GraphPriorError(f"{name} has shape {A.shape}: expected a square matrix")
    if n is not None and len(A) != n:
        raise GraphPriorError(
            f"{name} is {len(A)} x {len(A)} but X has {n} columns: "
            "expected one row and one column for each variable"
        )
    return A


def refuse_one_sided(A: Matrix, name: str) -> None:
    """Raise an error if entries (i, j) and (j, i) of ``A`` differ."""
    one_sided = (A != A.T) & ~(np.isnan(A) & np.isnan(A.T))
    np.fill_diagonal(one_sided, False)
    refuse_first(
        one_sided, A, name, "the matrix is not symmetric, but (i, j) and (j, i) are the same pair"
    )


def refuse_first(bad: Mask, A: Matrix, name: str, rule: str) -> None:
    """Raise an error about the first entry of ``A`` that is marked as ``bad``, if there is one."""
    if bad.any():
        i, j = np.argwhere(bad)[0]
        mirror = f", [{j}, {i}] = {A[j, i]:g}" if i != j and A[i, j] != A[j, i] else ""
        raise GraphPriorError(
            f"{name}[{i}, {j}] = {A[i, j]:g}{mirror}: {rule} ({int(bad.sum())} such entries)"
        )


MOST_NODES = 5000  # of one graph, whose matrix has n * n entries


def check_nodes(n: int, name: str) -> None:
    """Raise an error if a graph has too many nodes for its matrix to be created."""
    if n > MOST_NODES:
        raise GraphPriorError(f"{name} has {n} nodes: at most {MOST_NODES} are possible")
