"""The methods of a figure: whether they can run here, and what their results are results of."""

from __future__ import annotations

from dataclasses import dataclass, field

from graphprior.errors import GraphPriorError
from graphprior.io.inputs import file_hash
from graphprior.paper.baselines.protocol import Method, Penalty, Setting
from graphprior.paper.baselines.registry import factory, unavailable
from graphprior.paper.experiments.spec import Spec, short_hash
from graphprior.paper.experiments.tuning import TUNED
from graphprior.priors.store import prior_path


@dataclass(frozen=True)
class _Probe(Setting):
    """A setting that reads no prior: it notes which are asked for, and refuses any not there."""

    asked: list[str] = field(default_factory=list)

    def prior(self, kind: str) -> str:
        name = super().prior(kind)
        prior_path(name)
        self.asked.append(name)
        return name


def _probed(spec: Spec, method: str) -> tuple[Method, list[str]]:
    """A figure's method, with penalties that are still to be tuned, and the priors it takes."""
    penalties = {lasso: Penalty(0.0, 0.0, 1.0) for lasso in set(TUNED.values())}
    probe = _Probe(spec.priors, penalties, spec.T)
    return factory(method)(probe), probe.asked


def missing(spec: Spec, method: str) -> str | None:
    """Why a method cannot run on a figure here; None where it can."""
    factory(method)  # a name that no method has is no reason to skip it
    try:
        _probed(spec, method)
    except GraphPriorError as error:
        return str(error)
    return unavailable(method)


def described(spec: Spec, method: str) -> str:
    """A method in words that change with its parameters; of a plain function, its name."""
    made, _ = _probed(spec, method)
    return getattr(made, "__qualname__", None) or repr(made)


def mark(spec: Spec, method: str) -> str:
    """A short hash of all that decides a method's units: problems, parameters, priors.

    Units with another mark, or none, are of something else under the same name.
    """
    if method.startswith("tune "):
        return spec.mark
    priors = [file_hash(prior_path(name)) for name in _probed(spec, method)[1]]
    return short_hash(spec.identity, described(spec, method), *priors)
