"""Priors with a closed form: useful in themselves, and the oracles of the tests."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from graphprior.errors import GraphPriorError
from graphprior.graphs.matrices import check_adjacency, pairs, unvech, vech
from graphprior.priors.protocol import EvidencePrior
from graphprior.types import Matrix

MOST_GRAPHS = 1 << 16


class IndependentEdges(EvidencePrior):
    """Every pair has an edge with its own probability, whatever the others do."""

    def __init__(self, p: float | npt.ArrayLike) -> None:
        p = np.asarray(p, dtype=np.float64)
        if p.ndim not in (0, 2) or not np.array_equal(p, p.T):
            raise GraphPriorError("edge probabilities must be one number or a symmetric matrix")
        # The diagonal of a matrix has no meaning.
        inside = (p > 0) & (p < 1) | (np.eye(len(p), dtype=bool) if p.ndim else False)
        if not np.all(inside):
            raise GraphPriorError("edge probabilities must lie strictly between 0 and 1")
        p = np.where(np.eye(len(p), dtype=bool), 0.5, p) if p.ndim else p
        self.nodes = len(p) if p.ndim else None
        self.log_odds = torch.as_tensor(np.log(p) - np.log1p(-p))

    def posterior_logits(self, ell: Tensor) -> Tensor:
        """The pair's own evidence plus its prior log-odds: nothing else matters."""
        return ell + self.log_odds.to(ell)


class LearnedRate(IndependentEdges):
    """Every pair has an edge with the same probability, which the data tell.

    It is drawn with the strengths, so answers are averages over what is not known of it;
    ``rate`` is what is expected before the data.
    """

    def __init__(self, rate: float) -> None:
        super().__init__(rate)


class StochasticBlocks(IndependentEdges):
    """Edge probabilities that depend on the given groups of the two nodes."""

    def __init__(self, labels: Sequence[int], probabilities: npt.ArrayLike) -> None:
        P = np.asarray(probabilities, dtype=np.float64)
        z = np.asarray(labels, dtype=np.int64)
        if P.ndim != 2 or not np.array_equal(P, P.T):
            raise GraphPriorError("block probabilities must be a symmetric matrix, one row a group")
        if len(z) and (z.min() < 0 or z.max() >= len(P)):
            raise GraphPriorError(f"labels must lie in 0 .. {len(P) - 1}, one for each node")
        super().__init__(P[np.ix_(z, z)])


class FiniteGraphs(EvidencePrior):
    """A distribution on a listed set of graphs with the same labelled nodes.

    Its noisy score is a finite sum over the set, so it is exact at every noise
    level. ``log_weights`` need not be normalised.
    """

    def __init__(self, graphs: Sequence[Matrix], log_weights: npt.ArrayLike | None = None) -> None:
        if not len(graphs):
            raise GraphPriorError("an empty set of graphs is no prior")
        if len({len(A) for A in graphs}) > 1:
            raise GraphPriorError("all graphs of a finite set must have the same nodes")
        self.a = torch.as_tensor(np.stack([vech(check_adjacency(A)) for A in graphs]))
        weights = np.zeros(len(graphs)) if log_weights is None else np.asarray(log_weights)
        if weights.shape != (len(graphs),):
            raise GraphPriorError(
                f"log_weights has shape {weights.shape}: expected one for each of the "
                f"{len(graphs)} graphs"
            )
        self.log_weights = torch.as_tensor(weights, dtype=torch.float64)
        self.nodes = len(graphs[0])
        self.allows_all_graphs = len(np.unique(self.a.numpy(), axis=0)) == 2 ** self.a.shape[1]

    def memory(self, n: int, M: int) -> int:
        """The weights of all graphs for each chain come on top."""
        return super().memory(n, M) + 8 * 4 * M * len(self.log_weights)

    @classmethod
    def up_to_relabelling(cls, graphs: Sequence[Matrix]) -> FiniteGraphs:
        """The given graphs in all labellings of their nodes (at most 7), equally likely."""
        n = len(graphs[0])
        if n > 7:
            raise GraphPriorError(f"{n} nodes have too many labellings: at most 7 are listed")
        orders = [list(order) for order in permutations(range(n))]
        return cls([A[np.ix_(order, order)] for A in graphs for order in orders])

    def posterior_logits(self, ell: Tensor) -> Tensor:
        """Weigh each graph by the evidence for it, then count edges by weight."""
        rows, cols = pairs(ell.shape[-1])
        a, evidence = self.a.to(ell), ell[..., rows, cols]
        contradicted = (evidence == torch.inf).to(ell) @ (1 - a).T
        contradicted = contradicted + (evidence == -torch.inf).to(ell) @ a.T
        log_w = self.log_weights.to(ell) + torch.nan_to_num(evidence, posinf=0, neginf=0) @ a.T
        log_w = log_w.masked_fill(contradicted > 0, -torch.inf)
        if torch.isneginf(log_w).all(-1).any():
            raise GraphPriorError(
                "no graph of the finite prior agrees with the known entries: "
                "check them, or use a prior that allows such graphs"
            )
        w = log_w.softmax(-1)
        eta = torch.zeros_like(ell)
        eta[..., rows, cols] = (w @ a).log() - (w @ (1 - a)).log()
        eta[..., cols, rows] = eta[..., rows, cols]
        return eta


def all_graphs(n: int) -> npt.NDArray[np.float64]:
    """Every labelled graph on n nodes, (2**(n(n-1)/2), n, n)."""
    dim = n * (n - 1) // 2
    if 1 << dim > MOST_GRAPHS:
        raise GraphPriorError(f"{n} nodes have 2**{dim} graphs: too many to list")
    bits = (np.arange(1 << dim)[:, None] >> np.arange(dim)) & 1
    return unvech(bits.astype(np.float64))


def ergm(n: int, beta: tuple[float, float] = (0.7, -2.0), gamma: float = 0.3) -> FiniteGraphs:
    """The exponential random graph model by listing all graphs (n <= 6). Eqs. (41)-(43)."""
    graphs = all_graphs(n)
    return FiniteGraphs(list(graphs), ergm_log_weight(graphs, beta, gamma))


def alternating_k_stars(A: npt.NDArray[np.float64], gamma: float) -> npt.NDArray[np.float64]:
    """AKS_gamma of graphs (..., n, n): stars of d edges with alternating signs. Eq. (43).

    Summed by node, the binomial series gives each degree d the closed form
    gamma**2 ((1 - 1/gamma)**d - 1 + d/gamma).
    """
    degree = A.sum(-1)
    stars: npt.NDArray[np.float64] = gamma**2 * ((1 - 1 / gamma) ** degree - 1 + degree / gamma)
    return np.asarray(stars.sum(-1))


def ergm_log_weight(
    A: npt.NDArray[np.float64], beta: tuple[float, float], gamma: float
) -> npt.NDArray[np.float64]:
    """beta^T psi(A), psi = (alternating k-stars, edges), of graphs (..., n, n). Eqs. (41)-(42)."""
    weight: npt.NDArray[np.float64] = (
        beta[0] * alternating_k_stars(A, gamma) + beta[1] * A.sum((-2, -1)) / 2
    )
    return weight
