"""A result in one sentence and a few numbers."""

from __future__ import annotations

import numpy as np

from graphprior.report.trust import checks, expected_errors
from graphprior.results.result import Result


def headline(result: Result) -> str:
    """What was asked and found."""
    facts, (found, _, _) = result.diagnostics, expected_errors(result)
    known = int(np.triu(result.known == 1).sum())
    words = f"{facts.observations.n} variables, {facts.observations.k} observations. "
    words += f"{_count(known, 'edge')} known beforehand; "
    if not facts.unknown_pairs:
        return words + "nothing was unknown."
    unknown = _count(facts.unknown_pairs, "unknown pair")
    return words + f"of {unknown}, {found} judged to be {_edge(found)}."


def tiles(result: Result) -> list[tuple[str, str]]:
    """Numbers to begin with, and what each is."""
    facts, (found, false, _) = result.diagnostics, expected_errors(result)
    weak = sum(check.level == "weak" for check in checks(result))
    return [
        (str(facts.observations.n), "variables"),
        (str(facts.observations.k), "observations"),
        (f"{facts.unknown_pairs:,}", "pairs unknown"),
        (str(found), "edges found"),
        (f"{false:.1f}", "expected false"),
        (str(weak), "weak point" if weak == 1 else "weak points"),
    ]


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" + "s" * (number != 1)


def _edge(number: int) -> str:
    return "an edge" if number == 1 else "edges"
