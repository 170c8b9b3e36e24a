"""The card of a trained prior: which graphs it learned from, how, and how well."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from torch import nn

from graphprior.graphs import Matrix
from graphprior.prior.edp_gnn import count_parameters
from graphprior.provenance import machine, versions
from graphprior.statistics import graph_statistics


def graphs_hash(graphs: Sequence[Matrix]) -> str:
    """One hash of a set of graphs in its order, to tell training sets apart."""
    digest = hashlib.sha256()
    for A in graphs:
        digest.update(f"{len(A)}:".encode())
        digest.update(np.packbits(A.astype(bool)).tobytes())
    return digest.hexdigest()


def describe_graphs(
    graphs: Sequence[Matrix], source: str, changes: Mapping[str, int], licence: str = "not stated"
) -> dict[str, Any]:
    """The training set in a few numbers; ``changes`` tells what was mended in how many graphs."""
    sizes = Counter(len(A) for A in graphs)
    return {
        "source": source,
        "count": len(graphs),
        "sizes": {str(n): sizes[n] for n in sorted(sizes)},
        "statistics": graph_statistics(graphs),
        "changes": {what: count for what, count in sorted(changes.items()) if count},
        "sha256": graphs_hash(graphs),
        "licence": licence,
    }


def training_card(
    kind: str,
    facts: dict[str, Any],
    command: str,
    training: dict[str, Any],
    network: nn.Module,
    history: Sequence[dict[str, float]],
) -> dict[str, Any]:
    """What a prior was made of and how, and what makes it again."""
    return {
        "kind": kind,
        "graphs": facts,
        "command": command,
        "training": training,
        "parameters": count_parameters(network),
        "validation": {
            "best": min(history, key=lambda row: row["loss"]),
            "curve": [[row["step"], row["loss"]] for row in history],
        },
        "versions": versions(),
        "machine": machine(),
    }
