"""The picture of a self-check: probabilities given against shares that are edges."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphprior.diagnosis.self_check import Bin, SelfCheck
from graphprior.engines.posterior import share_interval

WIDTH, HEIGHT = 360, 320
LEFT, RIGHT, TOP, BOTTOM = 58, 350, 10, 280  # of the square in which points lie
TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)


def reliability_picture(check: SelfCheck) -> dict[str, Any]:
    """Points and bars in the units of the picture, and the numbers beside it."""
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "left": LEFT,
        "right": RIGHT,
        "top": TOP,
        "bottom": BOTTOM,
        "ticks": [{"x": _x(t), "y": _y(t), "words": f"{t:g}"} for t in TICKS],
        "points": [_point(b) for b in check.bins],
        "label": "Share that are edges against probability given: "
        + "; ".join(_words(b) for b in check.bins),
        "rows": check.table(),
    }


def _point(b: Bin) -> dict[str, Any]:
    low, high = share_interval(np.array(b.share), np.array(b.pairs))
    return {
        "x": _x(b.p),
        "y": _y(b.share),
        "low": _y(float(low)),
        "high": _y(float(high)),
        "words": f"{_words(b)} ({b.pairs} pairs)",
    }


def _words(b: Bin) -> str:
    return f"{b.p:.3f} given, {b.share:.3f} are"


def _x(value: float) -> float:
    return round(LEFT + value * (RIGHT - LEFT), 1)


def _y(value: float) -> float:
    return round(BOTTOM - value * (BOTTOM - TOP), 1)
