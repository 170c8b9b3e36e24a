"""Whether unknown pairs are unknown because of what they are.

Users hide what they doubt, and in one of the paper's experiments a fifth of
the hidden pairs are edges though an eighth of all pairs are. If an edge is r
times as likely to be hidden as a non-edge, then being hidden is evidence: each
unknown pair has log r more log-odds. The ratio is estimated, from how many
hidden edges are expected, in turn with that expectation.
"""

from __future__ import annotations

import numpy as np

from graphprior.graphs.matrices import vech
from graphprior.types import Matrix

PSEUDO_PAIRS = 5.0
LARGEST = 6.0


def selection_log_odds(known: Matrix, hidden_edges: float) -> float:
    """log r, when ``hidden_edges`` of the unknown pairs are expected to be edges.

    Five edges and five non-edges hidden at random are added, so that little
    evidence changes little. Where nothing is known it cannot be told, and is 0.
    """
    a = vech(known)
    unknown = int(np.isnan(a).sum())
    edges, gaps = float((a == 1).sum()), float((a == 0).sum())
    if edges + gaps == 0 or unknown == 0:
        return 0.0
    share = unknown / len(a)
    hidden_gaps = unknown - hidden_edges
    of_edges = (hidden_edges + PSEUDO_PAIRS * share) / (hidden_edges + edges + PSEUDO_PAIRS)
    of_gaps = (hidden_gaps + PSEUDO_PAIRS * share) / (hidden_gaps + gaps + PSEUDO_PAIRS)
    return float(np.clip(np.log(of_edges / of_gaps), -LARGEST, LARGEST))
