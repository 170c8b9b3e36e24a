"""The card of a trained prior: which graphs it learned from, how, and how well."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from torch import nn

from graphprior.graphs.statistics import graph_statistics
from graphprior.io.provenance import machine, versions
from graphprior.priors.networks.edp_gnn import count_parameters
from graphprior.types import Matrix


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


def card_sizes(card: Any) -> list[int]:
    """Numbers of nodes of the training graphs; anyone may write a card, so there may be none."""
    graphs = card.get("graphs") if isinstance(card, dict) else None
    if isinstance(graphs, dict) and isinstance(graphs.get("range"), list):
        return [int(size) for size in graphs["range"] if isinstance(size, int)]
    sizes = graphs.get("sizes") if isinstance(graphs, dict) else None
    listed = sizes if isinstance(sizes, dict | list) else ()
    return [int(size) for size in listed if str(size).isdecimal()]


def bits_without_data(card: Any) -> tuple[float, float] | None:
    """Bits that the prior and the edge rate need for a pair, half of them unknown, no data."""
    best: Any = card
    for key in ("validation", "best"):
        best = best.get(key) if isinstance(best, dict) else None
    keys = ("unknown=0.5 no data", "rate unknown=0.5 no data")
    found = [best.get(key) for key in keys] if isinstance(best, dict) else []
    numbers = [float(bits) for bits in found if isinstance(bits, int | float)]
    return (numbers[0], numbers[1]) if len(numbers) == 2 else None


class HeldOutBits(NamedTuple):
    """Bits per pair on graphs held out, half of the pairs unknown and no data.

    ``error`` and ``gain_error`` are standard errors of ``bits`` and of the gain over the edge
    rate; None where the card does not have them. ``start`` is for the prior that training
    started from.
    """

    bits: float
    rate: float
    error: float | None
    gain_error: float | None
    start: float | None
    graphs: int


def held_out_bits(card: dict[str, Any]) -> HeldOutBits | None:
    """How well a prior that was trained here predicts, and how sure that is; None without."""
    found = bits_without_data(card)
    validation = card.get("validation", {})
    if found is None or "held_out" not in validation:
        return None
    cell = "unknown=0.5 no data"
    errors = validation.get("standard_errors", {})
    error, gain_error = errors.get(cell), errors.get(f"gain {cell}")
    start = validation.get("start", {}).get(cell)
    return HeldOutBits(*found, error, gain_error, start, validation["held_out"])


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
