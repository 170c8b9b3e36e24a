"""Colours that the colour-blind can tell apart: light to dark, or orange to purple."""

from __future__ import annotations

KNOWN, NODE, MARK = "#55606e", "#1f2933", "#d55e00"
PROBABILITY = ("#eef3f8", "#9ec4e0", "#3f8fc4", "#0b5394", "#08264f")
CORRELATION = ("#b35806", "#f1a340", "#f7f7f7", "#998ec3", "#542788")
STATES = {"unknown": "#f6e3b4", "no edge, known": "#ffffff", "edge, known": KNOWN}


def ramp(colours: tuple[str, ...], steps: int = 256) -> list[str]:
    """As many colours between the given ones."""
    from bokeh.palettes import interp_palette  # slow to import

    return list(interp_palette(colours, steps))


def states() -> list[str]:
    """As long as a ramp: one third for each state, so that one mapper serves all views."""
    names = list(STATES.values())
    return [names[min(i * 3 // 256, 2)] for i in range(256)]
