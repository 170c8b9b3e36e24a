"""Size of a problem, and how its estimate was reached: in memory by name, on disk plain values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from numbers import Real
from typing import Any, TypeVar

from graphprior.choices import LikelihoodName
from graphprior.engines.facts import FACTS, EngineFacts
from graphprior.evidence.evidence import EvidenceFacts
from graphprior.evidence.precision import PrecisionFacts
from graphprior.observations.observations import ObservationFacts
from graphprior.observations.series import Order
from graphprior.priors.fit_check import PriorGain

REQUIRED = (
    "threshold", "likelihood", "engine", "n", "k", "unknown_pairs", "prior_gain",
    "precision_shrinkage",
)  # fmt: skip
NUMBERS = ("threshold", "n", "k", "unknown_pairs", "precision_shrinkage")
Part = TypeVar("Part")


@dataclass(frozen=True, repr=False)
class Diagnostics:
    """What is known of a fit, in parts.

    Attributes
    ----------
    observations : ObservationFacts
        How many there are, what they miss, and what they are worth.
    unknown_pairs, believed_pairs, fixed_by_bootstrap : int
        Pairs that were unknown, those with a belief, and those that the bootstrap fixed.
    threshold : float
        The probability at which a pair is reported as an edge.
    engine : str
        Name of the engine.
    likelihood : LikelihoodName or None
        Which likelihood was used; None where the prior was followed alone.
    precision_shrinkage : float
        By how much the covariance was shrunk for the precision matrix of the graph found.
    prior_gain : PriorGain or None
        What the prior gains on this problem; of several, the one that weighs most.
    prior_gains : tuple of PriorGain
        What each of the priors gains, and its weight.
    row_order : Order or None
        How rows depend on those near them; None where nothing is seen.
    data : EvidenceFacts, PrecisionFacts or None
        How the evidence of the data, or the precision matrix that was plugged in, was estimated.
    posterior : EngineFacts or None
        How the engine ran.
    other : dict
        What a result folder holds beside.
    """

    observations: ObservationFacts
    unknown_pairs: int
    threshold: float
    engine: str
    likelihood: LikelihoodName | None
    precision_shrinkage: float = 0.0
    believed_pairs: int = 0
    fixed_by_bootstrap: int = 0
    prior_gain: PriorGain | None = None
    prior_gains: tuple[PriorGain, ...] = ()
    row_order: Order | None = None
    data: EvidenceFacts | PrecisionFacts | None = None
    posterior: EngineFacts | None = None
    other: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_plugged_in(self) -> bool:
        """Whether the data were followed through one precision matrix."""
        return self.likelihood is LikelihoodName.PLUG_IN

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values in one dict, as run.json has it."""
        order = None if self.row_order is None else self.row_order._asdict()
        return {
            **asdict(self.observations),
            "unknown_pairs": self.unknown_pairs,
            "believed_pairs": self.believed_pairs,
            "fixed_by_bootstrap": self.fixed_by_bootstrap,
            "threshold": self.threshold,
            "engine": self.engine,
            "likelihood": self.likelihood,
            "precision_shrinkage": self.precision_shrinkage,
            "prior_gain": None if self.prior_gain is None else asdict(self.prior_gain),
            "prior_gains": [asdict(gain) for gain in self.prior_gains],
            **({} if self.data is None and order is None else {"row_order": order}),
            **({} if self.data is None else self.data.to_dict()),
            **({} if self.posterior is None else asdict(self.posterior)),
            **self.other,
        }

    @classmethod
    def from_dict(cls, told: Any) -> Diagnostics:
        """What `to_dict` gave; a ValueError or TypeError where it cannot be that."""
        if not isinstance(told, dict):
            raise ValueError("diagnostics are no object")
        lacking = [name for name in REQUIRED if name not in told]
        if lacking:
            raise ValueError(f"diagnostics without {', '.join(lacking)}")
        for name in NUMBERS:
            if not isinstance(told[name], Real):
                raise ValueError(f"{name} is {told[name]!r}: expected a number")
        rest = {"effective_k": told["k"], "least_k": told["k"], **told}
        gain, order = rest.pop("prior_gain"), rest.pop("row_order", None)
        likelihood = rest.pop("likelihood")
        parts: dict[str, Any] = {
            "observations": _part(ObservationFacts, rest),
            "data": _part(EvidenceFacts, rest) or _part(PrecisionFacts, rest),
            "posterior": _part(FACTS.get(rest["engine"], EngineFacts), rest),
            "prior_gain": None if gain is None else _gain(gain),
            "prior_gains": tuple(_gain(one) for one in rest.pop("prior_gains", ())),
            "row_order": None if order is None else Order(**order),
            "likelihood": None if likelihood is None else LikelihoodName(likelihood),
        }
        own = {f.name: rest.pop(f.name) for f in fields(cls) if f.name in rest}
        return cls(**own, **parts, other=rest)

    def __repr__(self) -> str:
        return "\n".join(["Diagnostics", *_lines(self.to_dict(), "  ")])


def _gain(told: Any) -> PriorGain:
    """What `asdict` made of it; folders of earlier versions do not name the prior."""
    whole = {"name": "", **told}
    return PriorGain(**{f.name: whole[f.name] for f in fields(PriorGain) if f.name in whole})


def _part(kind: type[Part], rest: dict[str, Any]) -> Part | None:
    """A part by its fields, which are taken out of ``rest``; None where it has none of them."""
    names = [f.name for f in fields(kind)]  # type: ignore[arg-type]
    found = {name: rest.pop(name) for name in names if name in rest}
    return kind(**found) if found else None


def _lines(told: Mapping[str, Any], indent: str) -> Iterator[str]:
    for name, value in told.items():
        if isinstance(value, Mapping):
            yield f"{indent}{name}:"
            yield from _lines(value, indent + "  ")
        else:
            shown = f"{value:.6g}" if isinstance(value, float) else str(value)
            yield f"{indent}{name}: {shown}"
