"""What the page's script gets: every pair as edges.csv has it, and where nodes stand."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import numpy as np

from graphprior.engines.posterior import Reasons
from graphprior.graphs.layout import matrix_order
from graphprior.report.charts import graph_chart, matrix_chart
from graphprior.report.colours import CORRELATION, KNOWN, MARK, NODE, PROBABILITY, ramp, states
from graphprior.results.folder import edges_csv
from graphprior.results.result import Result

PARTS = {
    "prior": "Known part and other pairs (prior)",
    "data": "Data",
    "hidden": "Being among the unknown pairs",
}


def payload(result: Result) -> dict[str, Any]:
    """All of it, ready for JSON.

    The pairs are the text of edges.csv, so that a download is that file. Its
    probabilities are rounded; those that a threshold is held against are not.
    """
    table = result.edge_table()
    order = matrix_order(result.edge_probabilities).tolist()
    return {
        "names": list(result.names),
        "places": np.round(result.places, 4).tolist(),
        "order": order,
        "threshold": result.threshold,
        "meaning": result.meaning,
        "drawn": len(result.samples),
        "parts": _parts(result),
        "csv": packed(edges_csv(table).encode()),
        "probabilities": packed(table["probability"].to_numpy(dtype="<f8").tobytes()),
        "colours": {
            "probability": ramp(PROBABILITY),
            "correlation": ramp(CORRELATION),
            "states": states(),
            "known": KNOWN,
            "node": NODE,
            "mark": MARK,
        },
        "charts": {"graph": graph_chart(), "matrix": matrix_chart(result.names, order)},
    }


def _parts(result: Result) -> list[list[str]]:
    """Column and words of each reason; a new kind of reason is shown by its own name."""
    if result.reasons is None:
        return []
    told = result.reasons._asdict()
    # Few users give beliefs: a column of zeros would only puzzle the others.
    shown = [name for name in Reasons._fields if name != "belief" or told[name].any()]
    return [[f"{name}_log_odds", PARTS.get(name, name.capitalize())] for name in shown]


def packed(content: bytes) -> str:
    """Compressed, as text; the same content is the same text."""
    return base64.b64encode(gzip.compress(content, 6, mtime=0)).decode()


def embedded(value: Any) -> str:
    """JSON that may stand in a script element: nothing in it can end the element or begin one."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
