"""How a result was made, and how to cite it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

from graphprior.results.result import Result

PAPER = (
    "M. Sevilla, A. G. Marques and S. Segarra. Estimation of partially known Gaussian graphical "
    "models with score-based structural priors. AISTATS 2024."
)
LONGEST = 8  # entries of a list that a person still reads


def citations(result: Result) -> list[str]:
    """The method's paper, and the software by its version."""
    return [PAPER, f"The graphprior developers. graphprior, version {_release(result)}."]


def _release(result: Result) -> str:
    """That which estimated; a model that is still in memory was estimated by this one."""
    return str(result.run.get("versions", {}).get("graphprior", version("graphprior")))


def groups(result: Result) -> list[tuple[str, list[tuple[str, str]]]]:
    """Facts in groups: what was asked, with what, and how the estimate fared."""
    run = dict(result.run)
    told = [
        ("Arguments", run.pop("arguments", {})),
        ("Inputs (SHA-256)", run.pop("inputs", {})),
        ("Versions", run.pop("versions", {"graphprior": _release(result)})),
        ("Machine", run.pop("machine", {})),
        ("Diagnostics", result.diagnostics.to_dict()),
        ("Prior's card", _short_card(result.card)),
    ]
    first = [("Run", run)] if run else []
    return [(title, list(_rows(facts))) for title, facts in first + told if facts]


def _short_card(card: dict[str, Any] | None) -> dict[str, Any]:
    """The card without curves and histograms, which the prior's own file holds."""
    if card is None:
        return {}
    return {key: value for key, value in card.items() if key not in ("machine", "drawn")}


def _rows(facts: dict[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """A nested dict as lines; lists that no person reads are counted instead."""
    for key, value in facts.items():
        name = f"{above}{key}"
        if isinstance(value, dict):
            yield from _rows(value, f"{name}: ")
        elif isinstance(value, list) and len(value) > LONGEST:
            yield name, f"({len(value)} entries)"
        else:
            yield name, _words(value)


def _words(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
