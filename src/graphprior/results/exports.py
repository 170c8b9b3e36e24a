"""A result in a file of another program: CSV, GraphML, GEXF, NPZ.

Graphs hold the estimated edges with their probability, partial correlation and
whether they were known; CSV holds every pair; NPZ every array.
"""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import networkx as nx

from graphprior.errors import GraphPriorError
from graphprior.io.atomic import write_whole
from graphprior.results.folder import edges_csv, npz_bytes
from graphprior.results.result import Result


def _csv(result: Result) -> bytes:
    return edges_csv(result.edge_table()).encode()


def _graph(write: Callable[[nx.Graph, Any], None]) -> Callable[[Result], bytes]:
    def content(result: Result) -> bytes:
        out = BytesIO()
        write(result.to_networkx(), out)
        return out.getvalue()

    return content


FORMATS: dict[str, Callable[[Result], bytes]] = {
    "csv": _csv,
    "graphml": _graph(nx.write_graphml),
    "gexf": _graph(nx.write_gexf),
    "npz": npz_bytes,
}


def export(result: Result, out: str | Path, kind: str | None = None) -> Path:
    """Write the result to the file ``out``, whole or not at all; ``kind`` is its ending's."""
    out = Path(out)
    kind = out.suffix.lower().removeprefix(".") if kind is None else kind
    if kind not in FORMATS:
        raise GraphPriorError(f"format {kind!r}: expected one of {', '.join(FORMATS)}")
    if out.exists():
        raise GraphPriorError(f"{out} exists: choose another name or remove it")
    write_whole(out, FORMATS[kind](result))
    return out
