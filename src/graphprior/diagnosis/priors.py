"""What priors are worth on a problem, and how much each weighs, in words."""

from __future__ import annotations

from graphprior.priors.fit_check import PriorGain
from graphprior.priors.load import INDEPENDENT


def gain_in_words(gain: PriorGain) -> str:
    """What one prior gains."""
    return (
        f"{gain.bits:.3f} ± {gain.standard_error:.3f} bits per pair over the edge rate alone, on "
        f"{asked_in_words(gain)}"
    )


def asked_in_words(gain: PriorGain) -> str:
    """What the prior was asked."""
    if gain.known:
        return f"{gain.pairs} known pairs that were hidden from it"
    return f"the data's evidence about {gain.pairs} pairs"


def weights_in_words(gains: tuple[PriorGain, ...]) -> str | None:
    """Which prior the problem looks like, and the weight of each; None where none was checked."""
    if not gains:
        return None
    if not any(gain.pairs for gain in gains):
        if len(gains) == 1:
            return None
        told = [f"{_named(gain)} {_weight(gain)}" for gain in gains]
        return f"there was too little to check the priors on; weights: {', '.join(told)}"
    if len(gains) == 1:
        return f"{_named(gains[0])} gains {gain_in_words(gains[0])}"
    first, *rest = sorted(gains, key=lambda gain: -gain.weight)
    lead = f"the graph looks most like {_named(first)} (weight {_weight(first)}"
    if first.name == INDEPENDENT:
        lead = f"no prior predicts much better than the edge rate: {INDEPENDENT} have weight "
        return lead + _weight(first) + _others(rest)
    return f"{lead}): it gains {gain_in_words(first)}" + _others(rest)


def _others(gains: list[PriorGain]) -> str:
    told = ""
    for gain in gains:
        if gain.name == INDEPENDENT:
            told += f"; {INDEPENDENT} have weight {_weight(gain)}"
        else:
            size = f"gain {gain.bits:.3f} ± {gain.standard_error:.3f}"
            told += f"; {_named(gain)} has weight {_weight(gain)} ({size})"
    return told


def _named(gain: PriorGain) -> str:
    if gain.name == INDEPENDENT:
        return INDEPENDENT
    return f"prior {gain.name}" if gain.name else "the prior"


def _weight(gain: PriorGain) -> str:
    """Two digits; never 1 or 0 where it is neither."""
    if 0.005 < gain.weight < 0.995:
        return f"{gain.weight:.2f}"
    return "above 0.99" if gain.weight >= 0.995 else "below 0.01"
