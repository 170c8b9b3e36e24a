"""Results as networkx graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt

from graphprior.graphs import Matrix


def as_networkx(A: Matrix, names: Sequence[str], **attributes: npt.NDArray[Any]) -> nx.Graph:
    """The graph ``A`` with named nodes; each edge carries its entry of each attribute."""
    graph = nx.Graph()
    graph.add_nodes_from(names)
    for i, j in np.argwhere(np.triu(A, 1) == 1):
        carried = {name: values[i, j].item() for name, values in attributes.items()}
        graph.add_edge(names[i], names[j], **carried)
    return graph
