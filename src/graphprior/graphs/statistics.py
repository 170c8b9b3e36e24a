"""Summary statistics of a set of graphs, for comparing generated graphs with real ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import networkx as nx
import numpy as np

from graphprior.graphs.matrices import vech
from graphprior.types import Matrix


def degree_histogram(graphs: Sequence[Matrix]) -> list[float]:
    """Return the share of nodes with degree 0, 1, 2, ...; all graphs have the same weight."""
    most = max(len(A) for A in graphs)
    counts = [np.bincount(A.sum(0).astype(int), minlength=most) / len(A) for A in graphs]
    return [float(share) for share in np.mean(counts, axis=0)]


def graph_statistics(graphs: Sequence[Matrix]) -> dict[str, Any]:
    """Return means over graphs of density, clustering, triangles and degrees, as a dict."""
    networks = [nx.from_numpy_array(A) for A in graphs]
    density = np.array([vech(A).mean() for A in graphs])
    return {
        "graphs": len(graphs),
        "nodes": float(np.mean([len(A) for A in graphs])),
        "density": float(density.mean()),
        "density_standard_error": float(density.std() / np.sqrt(len(graphs))),
        "clustering": float(np.mean([nx.average_clustering(g) for g in networks])),
        "triangles": float(np.mean([sum(nx.triangles(g).values()) / 3 for g in networks])),
        "highest_degree": float(np.mean([A.sum(0).max() for A in graphs])),
        "degree_histogram": degree_histogram(graphs),
    }


def histogram_distance(a: Sequence[float], b: Sequence[float]) -> float:
    """Return the total variation distance of two histograms, from 0 (equal) to 1 (disjoint)."""
    size = max(len(a), len(b))
    p, q = (np.pad(np.asarray(h, dtype=float), (0, size - len(h))) for h in (a, b))
    return float(0.5 * np.abs(p - q).sum())
