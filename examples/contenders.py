"""Methods that a worked example compares, each with a threshold that never saw the hidden truth.

Ours reports an edge at probability 0.5, and so does BDgraph. The lassos'
penalties and the cut of partial correlations are chosen on the known part: as
many known pairs as are unknown (at most half of them) are hidden as well, and
what finds those best is taken. A user could do the same.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd

from graphprior.errors import GraphPriorError, GraphPriorWarning
from graphprior.estimator import PartialGGM
from graphprior.graphs.matrices import unknown_mask, unvech, vech
from graphprior.paper.baselines.langevin import prior_once
from graphprior.paper.baselines.lasso import supports
from graphprior.paper.baselines.protocol import Penalty, Setting
from graphprior.paper.baselines.registry import factory
from graphprior.priors.fit_check import PriorGain
from graphprior.priors.load import AUTO
from graphprior.priors.store import shipped_priors
from graphprior.problem.problem import Problem
from graphprior.results.metrics import THRESHOLDS, f1, on_unknown
from graphprior.types import Matrix, Vector

FOLDERS = (Path(__file__).parent / "priors", Path("build/priors"))
LAMBDAS = tuple(float(lam) for lam in np.geomspace(0.03, 0.95, 13))  # of correlations


@dataclass(frozen=True)
class Answer:
    """Scores of the unknown pairs, where they become edges, and what the prior was worth."""

    scores: Vector
    threshold: float = 0.5
    gain: PriorGain | None = None


class Contender(Protocol):
    """(Problem, beliefs or None, rng) -> Answer."""

    def __call__(
        self, problem: Problem, beliefs: Matrix | None, rng: np.random.Generator
    ) -> Answer:
        """The answer to one problem."""
        ...


def prior_file(name: str) -> Path:
    """Where a prior lies: among those of the examples, just trained, or shipped."""
    places = [folder / f"{name}.safetensors" for folder in FOLDERS]
    for path in [*places, *([shipped_priors()[name]] if name in shipped_priors() else [])]:
        if path.is_file():
            return path
    raise GraphPriorError(
        f"the prior {name!r} is not there (looked for {places[0].name} in examples/priors and "
        "build/priors): train it as examples/README.md tells"
    )


@dataclass(frozen=True)
class Ours:
    """Edge probabilities of `PartialGGM`; ``prior`` None takes pairs as independent.

    "auto" is the default prior of the package. A prior that is ``averaged`` is so with independent
    edges; without, it is believed in full.
    """

    prior: str | None
    engine: str = "direct"
    averaged: bool = False
    slack: float | None = None
    believes: bool = False

    def __call__(
        self, problem: Problem, beliefs: Matrix | None, rng: np.random.Generator
    ) -> Answer:
        """Probabilities of the unknown pairs, and the prior's gain."""
        model = self.fit(problem, beliefs, rng)
        return Answer(on_unknown(model.edge_probabilities_, problem.U), 0.5, model.prior_gain_)

    def fit(self, problem: Problem, beliefs: Matrix | None, rng: np.random.Generator) -> PartialGGM:
        """The fitted model."""
        named = self.prior not in (None, AUTO)
        prior = prior_once(str(prior_file(self.prior))) if named else self.prior
        # A pair is known or believed, not both.
        told = np.where(problem.U, beliefs, np.nan) if self.believes else None
        model = PartialGGM(
            prior,
            engine=self.engine,
            prior_weight="auto" if self.averaged else "full",
            null_scale=self.slack,
            random_state=rng,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GraphPriorWarning)  # the gain is a column instead
            X = pd.DataFrame(problem.X, columns=list(problem.names))
            return model.fit(X, known=problem.known, beliefs=told)


def hide_more(problem: Problem, rng: np.random.Generator) -> tuple[Problem, Vector]:
    """The problem with known pairs hidden too, and which pairs (in the order of vech) those are."""
    a = vech(problem.known)
    known = np.flatnonzero(~np.isnan(a))
    if len(known) < 2:
        raise GraphPriorError("nothing is known: there is no known part to choose a threshold on")
    count = min(len(a) - len(known), len(known) // 2)
    # As many edges as their share: a draw without any would choose nothing.
    edges, gaps = known[a[known] == 1], known[a[known] == 0]
    ones = min(len(edges), max(1, round(count * len(edges) / len(known))))
    more = np.concatenate([
        rng.choice(edges, ones, replace=False),
        rng.choice(gaps, min(len(gaps), max(count - ones, 1)), replace=False),
    ])  # fmt: skip
    less = a.copy()
    less[more] = np.nan
    return problem.with_known(unvech(less)), np.sort(more)


def _asked(problem: Problem, shown: Problem, more: Vector) -> tuple[Vector, Any]:
    """Truth of the pairs that were hidden more, and where they stand among the unknown ones."""
    where = np.isin(np.flatnonzero(vech(unknown_mask(shown.known))), more)
    return vech(problem.known)[more], where


def best_penalty(problem: Problem, uses_known: bool, rng: np.random.Generator) -> float:
    """The lasso's penalty with the highest F1 on known pairs that were hidden from it."""
    shown, more = hide_more(problem, rng)
    truth, where = _asked(problem, shown, more)
    found = [f1(truth, s[where] == 1) for s in supports(shown, LAMBDAS, uses_known)]
    return LAMBDAS[int(np.argmax(found))]


def lasso(name: str) -> Contender:
    """A graphical lasso, with what is known (WGL) or without (GL)."""

    def contender(problem: Problem, beliefs: Matrix | None, rng: np.random.Generator) -> Answer:
        lam = best_penalty(problem, name == "WGL", rng)
        setting = Setting(penalties={name: Penalty(0.0, 0.0, 1 / lam)})
        return Answer(factory(name)(setting)(problem, rng))

    return contender


def threshold(problem: Problem, beliefs: Matrix | None, rng: np.random.Generator) -> Answer:
    """Absolute partial correlations, cut where known pairs that were hidden are found best."""
    scores = factory("Threshold")(Setting())
    shown, more = hide_more(problem, rng)
    truth, where = _asked(problem, shown, more)
    found = f1(truth, scores(shown, rng)[where] >= THRESHOLDS[:, None])
    return Answer(scores(problem, rng), float(THRESHOLDS[int(np.argmax(found))]))


def bdgraph(problem: Problem, beliefs: Matrix | None, rng: np.random.Generator) -> Answer:
    """BDgraph with its usual chain."""
    return Answer(factory("BDgraph")(Setting())(problem, rng))


OTHERS: dict[str, Callable[..., Answer]] = {
    "WGL": lasso("WGL"),
    "GL": lasso("GL"),
    "Threshold": threshold,
    "BDgraph": bdgraph,
}


def contenders(
    prior: str | None, wrong: str | None, believes: bool = False
) -> dict[str, Callable[..., Answer]]:
    """All methods of an example by name: ours with several priors and with none, and others.

    ``prior`` is the one of its own, and ``wrong`` one that should not fit, where there are any.
    """
    ours: dict[str, Callable[..., Answer]] = {}
    if prior:
        ours["direct"] = Ours(prior)
        ours["gibbs"] = Ours(prior, "gibbs")
        ours["direct, exact zeros"] = Ours(prior, slack=0.0)
        ours["own prior, averaged"] = Ours(prior, averaged=True)
    ours["auto"] = Ours(AUTO, averaged=True)
    ours["direct, no prior"] = Ours(None)
    if wrong:
        ours[f"direct, {wrong}"] = Ours(wrong)
        ours[f"direct, {wrong} averaged"] = Ours(wrong, averaged=True)
    if believes:
        ours["direct, beliefs"] = Ours(prior, believes=True)
        ours["direct, no prior, beliefs"] = Ours(None, believes=True)
    return ours | OTHERS
