"""A fitted estimator in a notebook: headline, small drawing, likeliest edges, what is weak."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphprior.report.assets import template
from graphprior.report.headline import headline
from graphprior.report.trust import checks
from graphprior.results.result import Result

TOP = 6  # edges listed
LARGEST = 150  # nodes that a small drawing can show
WIDTH, HEIGHT, MARGIN = 330, 220, 12


def result_card(result: Result) -> str:
    """A piece of HTML without scripts."""
    table = result.edge_table()
    unknown = table[table["known"] == 0].head(TOP)
    return template("card.html").render(
        headline=headline(result),
        meaning=result.meaning,
        rows=list(unknown[["source", "target", "probability"]].itertuples(index=False)),
        drawing=drawing(result) if len(result.names) <= LARGEST else None,
        weak=[check for check in checks(result) if check.level == "weak"],
    )


def drawing(result: Result) -> dict[str, Any]:
    """Lines and dots of the estimated graph, in the units of the picture."""
    xy = MARGIN + result.places * (WIDTH - 2 * MARGIN, HEIGHT - 2 * MARGIN)
    xy[:, 1] = HEIGHT - xy[:, 1]
    rows, cols = np.nonzero(np.triu(result.adjacency))
    lines = [
        {
            "ends": [round(float(c), 1) for c in (*xy[i], *xy[j])],
            "known": bool(result.O[i, j]),
            "width": round(0.6 + 2.4 * float(result.edge_probabilities[i, j]), 1),
        }
        for i, j in zip(rows, cols, strict=True)
    ]
    dots = [(name, *np.round(place, 1)) for name, place in zip(result.names, xy, strict=True)]
    return {"width": WIDTH, "height": HEIGHT, "lines": lines, "dots": dots}
