"""What a figure is made of: graphs, hidden pairs, observations, methods, seeds.

A run is the product of these parts. Every random draw comes from the seed and
from what it is for (graph, x, method), never from a stream, so that a problem
is the same whatever else is run, in whatever order, on whatever machine.
"""

from __future__ import annotations

import hashlib
import json
import sys
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from graphprior.errors import GraphPriorError
from graphprior.gaussian.simulate import simulate_observations, simulate_precision
from graphprior.graphs.matrices import hide
from graphprior.paper.datasets.family import Draw, Family
from graphprior.paper.datasets.registry import family
from graphprior.problem.problem import Problem
from graphprior.types import Matrix

BLOCK = 100  # graphs are made in blocks, so that more of them do not change the first ones
RATIOS = (0.15, 0.35, 0.85, 2.0)
SOME_RATIOS = (0.35, 2.0)  # where methods run that take minutes a graph
FAST = ("direct", "gibbs", "WGL", "Threshold", "TIGER", "GraphSAGE")


def short_hash(*words: str) -> str:
    """Twelve letters that change with the words."""
    return hashlib.sha256(json.dumps(words).encode()).hexdigest()[:12]


def seeds(seed: int, name: str, *of: int | str) -> np.random.Generator:
    """The generator for one purpose of what is called ``name``."""
    words = [zlib.crc32(o.encode()) if isinstance(o, str) else o for o in (name, *of)]
    return np.random.default_rng([seed, *words])


@dataclass(frozen=True)
class Unknown:
    """Which pairs are hidden: a share, or a count; neither means that x is the share."""

    share: float | None = None
    count: int | None = None
    ones: float | None = None

    def of(self, A: Matrix, x: float, rng: np.random.Generator) -> Matrix:
        """The graph with those pairs unknown."""
        share = x if self.share is None and self.count is None else self.share
        return hide(A, rng, share=share, count=self.count, ones=self.ones)

    @property
    def moves_with_x(self) -> bool:
        """Whether the hidden pairs change along the x axis."""
        return self.share is None and self.count is None


@dataclass(frozen=True)
class Budget:
    """How far a slow method is run: the first ``graphs`` graphs, at some x."""

    graphs: int
    xs: tuple[float, ...] | None = None


# Algorithm 1 with the network and likelihood of the paper, on its schedule and on ours, and how
# far each is run: LPost and LPr on all graphs, variants that explain them on some.
ALGORITHM_1 = {
    "LPost": Budget(100, SOME_RATIOS),
    "LPr": Budget(100),
    "LPr(one sample)": Budget(50),
    "LPost(relaxed)": Budget(20, SOME_RATIOS),
    "LPr(relaxed)": Budget(20),
}


@dataclass(frozen=True)
class Spec:
    """One figure that compares methods."""

    name: str
    title: str
    dataset: str
    unknown: Unknown
    xs: tuple[float, ...]
    x_name: str
    k_per: str  # "unknown pair", "node", "x" (x is k), or "graph" (k is the same everywhere)
    methods: tuple[str, ...]
    priors: Mapping[str, str]
    k: int | None = None
    metric: str = "f1"
    graphs: int = 100
    splits: int = 10
    seed: int = 2024
    T: int = 300
    tuning_graphs: int = 20
    budgets: Mapping[str, Budget] = field(default_factory=dict)

    def to_json(self) -> str:
        """All of it as text."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Spec:
        """The spec that `to_json` wrote."""
        raw: dict[str, Any] = json.loads(text)
        raw["unknown"] = Unknown(**raw["unknown"])
        for name in ("xs", "methods"):
            raw[name] = tuple(raw[name])
        raw["budgets"] = {
            method: Budget(b["graphs"], None if b["xs"] is None else tuple(b["xs"]))
            for method, b in raw["budgets"].items()
        }
        return cls(**raw)

    @property
    def identity(self) -> str:
        """What decides a problem and its answers: results with the same one may be joined."""
        return replace(self, methods=(), graphs=0, budgets={}, title="", x_name="").to_json()

    @property
    def mark(self) -> str:
        """The identity in short."""
        return short_hash(self.identity)

    @property
    def family(self) -> Family:
        """Where its graphs come from."""
        return family(self.dataset)

    def seeds(self, *of: int | str) -> np.random.Generator:
        """The generator for one purpose."""
        return seeds(self.seed, self.name, *of)

    def observations(self, x: float, known: Matrix) -> int:
        """Number k of observations at x; at least 2."""
        if self.k_per == "graph":
            if self.k is None:
                raise GraphPriorError(f"figure {self.name}: k is the same everywhere but not given")
            return self.k
        scale = {"unknown pair": np.isnan(known).sum() / 2, "node": len(known), "x": 1.0}
        return max(2, int(np.ceil(x * scale[self.k_per])))

    def problem(self, x: float, A: Matrix, part: str, g: int) -> Problem:
        """Problem ``g`` of a part ("test" or "train") at x.

        What is hidden and Theta_0 depend on the graph alone, so that a curve
        follows the same graphs; only the observations are drawn anew.
        """
        known = self.unknown.of(A, x, self.seeds(part, "hide", g))
        Theta_0 = simulate_precision(A, self.seeds(part, "Theta_0", g), tries=10_000)
        k = self.observations(x, known)
        X = simulate_observations(Theta_0, k, self.seeds(part, "X", g, repr(float(x))))
        return Problem.create(X, known)

    def graph(self, part: str, g: int) -> Matrix:
        """Graph ``g`` of a part."""
        if self.family.generated:
            return _block(self.dataset, self.name, self.seed, part, g // BLOCK)[g % BLOCK]
        graphs = _read(self.dataset, self.name, self.seed, part)
        if g >= len(graphs):
            raise GraphPriorError(f"{self.dataset} has {len(graphs)} {part} graphs, not {g + 1}")
        return graphs[g]


@lru_cache(maxsize=8)
def _block(dataset: str, name: str, seed: int, part: str, block: int) -> list[Matrix]:
    """A hundred generated graphs."""
    rng = np.random.default_rng([seed, zlib.crc32(f"{name} {part}".encode()), block])
    draw: Draw = getattr(family(dataset), part)
    return draw(BLOCK, rng)


@lru_cache(maxsize=8)
def _read(dataset: str, name: str, seed: int, part: str) -> list[Matrix]:
    """All graphs of a family that is read from files."""
    rng = np.random.default_rng([seed, zlib.crc32(f"{name} {part}".encode()), 0])
    draw: Draw = getattr(family(dataset), part)
    return draw(sys.maxsize, rng)
