"""Answers from the graphs drawn: any number of a graph, with how sure it is.

A quantity is a function of a networkx graph that gives a number, or one for
each node. Its posterior is its value on each of the M graphs drawn. These are
independent draws, for every graph is the end of its own chain with its own
generator: the effective sample size is M.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt
import pandas as pd

from graphprior.errors import GraphPriorError, GraphPriorWarning
from graphprior.graphs.convert import as_networkx
from graphprior.graphs.quantities import GROUPS, QUANTITIES, Groups, Quantity
from graphprior.results.result import Result
from graphprior.types import Matrix, Vector

COLUMNS = ("quantity", "node", "mean", "median", "sd", "low", "high", "level", "draws")
NUMBERS = (int, float, np.integer, np.floating, np.bool_)
TINY = 1e-9  # rounding must not cost a draw
WHOLE = (
    "edges", "density", "components", "largest_component", "average_clustering", "communities",
    "modularity",
)  # fmt: skip


def posterior_summary(
    model: Any,
    what: str | Quantity | Sequence[str | Quantity] | Mapping[str, Quantity] = "degree",
    level: float = 0.95,
) -> pd.DataFrame:
    """Mean, median, spread and interval of quantities of the graph behind the data.

    ``model`` is a fitted model or a result that has samples. ``what`` is a name
    of QUANTITIES, a function of a networkx graph with named nodes, a list of
    these, or a dict from names to functions. A function gives a number (or
    True, False: then the mean is a probability) or a dict with a number for each
    node, the same for the same graph; nan where it is undefined, and those
    draws are left out.

    Bounds are equal-tailed and values that were drawn: with true posterior
    draws the interval holds the truth at least as often as ``level`` tells in
    its column, which is the least that M draws can give from the level asked
    on. Below 2 / (1 - level) - 1 draws (39 for 95%) no interval reaches it, and
    a warning says what is given instead.
    """
    result = _with_samples(model)
    if not 0 < level < 1:
        raise GraphPriorError(f"level = {level}: expected a share between 0 and 1, such as 0.95")
    table = _table(result, _named(what), level)
    for words in _weaknesses(result, table, level):
        warnings.warn(words, GraphPriorWarning, stacklevel=2)
    return table


def expected_degrees(model: Any) -> pd.DataFrame:
    """Expected degree of each node and number of edges: sums of edge probabilities.

    They need no draws, so every engine has them. A sum's spread needs to know
    how pairs go together, which only draws tell: there is no interval.
    """
    result = Result.of(model)
    degrees = result.edge_probabilities.sum(1)
    nodes: list[str | None] = [*result.names, None]
    quantities = ["degree"] * len(degrees) + ["edges"]
    values = [*degrees, degrees.sum() / 2]
    return pd.DataFrame({"quantity": quantities, "node": nodes, "mean": values})


def co_membership(model: Any, groups: str | Groups = "communities") -> pd.DataFrame:
    """Probability of each two nodes to be in one group, by name.

    ``groups``: "communities" (Louvain's), "components", or a function from a
    networkx graph to sets of nodes.
    """
    result = _with_samples(model)
    split = _chosen(groups, GROUPS)
    index = {name: i for i, name in enumerate(result.names)}
    together = np.zeros((len(index), len(index)))
    for A, count in _distinct(result.samples):
        for group in split(as_networkx(A, result.names)):
            members = [index[name] for name in group]
            together[np.ix_(members, members)] += count
    return pd.DataFrame(together / len(result.samples), index=result.names, columns=result.names)


def number(value: float) -> str:
    """Three digits, and every digit before the point."""
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def default_answers(result: Result, level: float = 0.95) -> list[tuple[str, pd.DataFrame]]:
    """Titles and tables for a report, of what costs little; none when nothing was drawn."""
    if not len(result.samples):
        return []
    kinds = {
        "the graph as a whole": WHOLE,
        "number of neighbours": ("degree",),
        "share of a node's neighbours that are neighbours": ("clustering",),
    }
    return [(title, _table(result, _named(what), level)) for title, what in kinds.items()]


def _with_samples(model: Any) -> Result:
    result = Result.of(model)
    if not len(result.samples):
        raise GraphPriorError(
            f"engine {result.diagnostics.engine!r} draws no graphs to ask: use "
            "engine=Gibbs(draws=100); expected_degrees needs none"
        )
    return result


def _weaknesses(result: Result, table: pd.DataFrame, level: float) -> list[str]:
    """What a user should know before trusting the intervals."""
    words, M = [], len(result.samples)
    if result.U.any() and _held(M, level) < level:
        words.append(
            f"{M} draws are too few for intervals of {level:.0%}, which take "
            f"{math.ceil(2 / (1 - level) - 1 - TINY)}: low and high are the least and the most "
            f"drawn, which hold {_held(M, level):.0%}; draw more (draws=)"
        )
    for name, draws in table.groupby("quantity", sort=False)["draws"].min().items():
        if draws < M:
            words.append(f"{name!r} is nan in {M - draws} of {M} draws: they are left out")
    fixed = result.diagnostics.fixed_by_bootstrap
    if fixed:
        words.append(
            f"the bootstrap fixed {fixed} pairs before any graph was drawn: intervals take them "
            "as certain"
        )
    return words


def _chosen(what: Any, known: Mapping[str, Any]) -> Any:
    """The function meant by a name, or the function itself."""
    if callable(what):
        return what
    if isinstance(what, str) and what in known:
        return known[what]
    raise GraphPriorError(
        f"{what!r} is nothing to ask: expected a function of a networkx graph, or one of "
        f"{', '.join(known)}"
    )


def _named(what: Any) -> dict[str, Quantity]:
    """Quantities by name, in the order asked."""
    if isinstance(what, Mapping):
        return {str(name): _chosen(quantity, QUANTITIES) for name, quantity in what.items()}
    asked = list(what) if isinstance(what, list | tuple) else [what]
    names = [q if isinstance(q, str) else getattr(q, "__name__", type(q).__name__) for q in asked]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated or not asked:
        told = f"{repeated[0]!r} twice" if repeated else "nothing"
        raise GraphPriorError(
            f"what asks {told}: expected different names; a dict {{name: function}} gives them"
        )
    return {name: _chosen(q, QUANTITIES) for name, q in zip(names, asked, strict=True)}


def _distinct(samples: npt.NDArray[np.uint8]) -> list[tuple[Matrix, int]]:
    """The graphs that differ, and how often each was drawn."""
    counts = Counter(A.tobytes() for A in samples)
    shape = samples.shape[1:]
    return [
        (np.frombuffer(key, np.uint8).reshape(shape).astype(np.float64), count)
        for key, count in counts.items()
    ]


def _table(result: Result, quantities: Mapping[str, Quantity], level: float) -> pd.DataFrame:
    """Rows of all quantities, in order; node is missing where it is the whole graph's."""
    drawn = _distinct(result.samples)
    counts = [count for _, count in drawn]
    # A function that changes its graph would change what the next one sees: it is refused.
    graphs = [nx.freeze(as_networkx(A, result.names)) for A, _ in drawn]
    certain = not result.U.any()
    rows: list[tuple[Any, ...]] = []
    for name, quantity in quantities.items():
        found = [_ask(name, quantity, graph) for graph in graphs]
        nodes = list(found[0])
        if any(list(value) != nodes for value in found):
            raise GraphPriorError(f"{name!r} gave a number for some graphs and a dict for others")
        values = np.repeat([list(value.values()) for value in found], counts, axis=0)
        rows += [
            (name, node, *_spread(column, level, certain))
            for node, column in zip(nodes, values.T, strict=True)
        ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _ask(name: str, quantity: Quantity, graph: nx.Graph) -> dict[str | None, float]:
    """The quantity of one graph: by node in the graph's order, or of None."""
    try:
        answer = quantity(graph)
    except Exception as error:
        raise GraphPriorError(
            f"{name!r} failed on a graph that was drawn ({type(error).__name__}: {error}): "
            "let it return nan where it is undefined"
        ) from error
    by_node: Mapping[Any, Any] = answer if isinstance(answer, Mapping) else {None: answer}
    if isinstance(answer, Mapping) and set(answer) != set(graph):
        odd = sorted(map(str, set(answer) ^ set(graph)))[:3]
        raise GraphPriorError(
            f"{name!r} gave a dict whose keys are not the nodes ({', '.join(odd)}): expected a "
            "number for each node"
        )
    for value in by_node.values():
        if not isinstance(value, NUMBERS) or np.isinf(value):
            raise GraphPriorError(
                f"{name!r} gave {value!r}: expected a finite number, nan where it is undefined, "
                "or a dict with one for each node"
            )
    order = [None] if None in by_node else list(graph)
    return {node: float(by_node[node]) for node in order}


def _tail(M: int, level: float) -> int:
    """How many of M draws lie outside each bound, counting the bound itself."""
    return max(1, math.floor((M + 1) * (1 - level) / 2 + TINY))


def _held(M: int, level: float) -> float:
    """How often one draw more lies within the bounds, at least: of M + 1 alike, all ranks do."""
    return 1 - 2 * _tail(M, level) / (M + 1)


def _spread(values: Vector, level: float, certain: bool) -> tuple[float, ...]:
    """Mean to draws of COLUMNS."""
    x = np.sort(values[~np.isnan(values)])
    M = len(x)
    if not M:
        return (np.nan,) * 6 + (0,)
    k = _tail(M, level)
    if certain:
        sd, held = 0.0, 1.0
    else:
        sd, held = float(x.std(ddof=1)) if M > 1 else np.nan, _held(M, level)
    return float(x.mean()), float(np.median(x)), sd, float(x[k - 1]), float(x[M - k]), held, M
