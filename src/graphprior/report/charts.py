"""The two drawings, as Bokeh documents whose sources the page's script fills.

Names of variables are not in them: the script sets those as plain text, so
that no name is ever taken for markup or for a formula.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from bokeh.core.properties import value
from bokeh.embed import json_item
from bokeh.models import (
    BasicTickFormatter,
    ColorBar,
    ColumnDataSource,
    FixedTicker,
    HoverTool,
    LinearColorMapper,
    PanTool,
    PlainText,
    Range1d,
    Segment,
    TapTool,
    WheelZoomTool,
)
from bokeh.plotting import figure

from graphprior.report.colours import MARK, NODE, PROBABILITY, ramp

LABELLED = 45  # nodes up to which the matrix has room for their names
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


def graph_chart() -> dict[str, Any]:
    """Known edges below found ones, a mark for the pair looked at, nodes and their names on top."""
    plot = _plot("graph", Range1d(-0.05, 1.1), Range1d(-0.07, 1.07), 560)
    ends: dict[str, list[float]] = {
        name: [] for name in ("x0", "y0", "x1", "y1", "colour", "width", "alpha", "pair")
    }
    lines = {}
    for name in ("known-edges", "found-edges", "pair"):
        source = ColumnDataSource(data=dict(ends), name=name)
        glyph = Segment(
            x0="x0", y0="y0", x1="x1", y1="y1", line_color="colour", line_width="width",
            line_alpha="alpha", line_cap="round",
        )  # fmt: skip
        lines[name] = plot.add_glyph(source, glyph)
        lines[name].nonselection_glyph = None
    nodes = ColumnDataSource(
        data={name: [] for name in ("x", "y", "size", "alpha", "fill", "label")}, name="nodes"
    )
    dots = plot.scatter(
        "x", "y", size="size", fill_color="fill", line_color=NODE, line_width=1.2,
        alpha="alpha", source=nodes, nonselection_alpha="alpha",
    )  # fmt: skip
    dots.nonselection_glyph = None
    plot.text(
        "x", "y", text="label", source=nodes, x_offset=8, y_offset=-4, text_font=value(FONT),
        text_font_size="11.5px", text_color=NODE, text_alpha="alpha",
        background_fill_color="white", background_fill_alpha=0.72, padding=1, border_radius=3,
    )  # fmt: skip
    edges = [lines["known-edges"], lines["found-edges"]]
    pan = PanTool()
    plot.add_tools(
        pan,
        WheelZoomTool(modifiers="ctrl"),
        HoverTool(renderers=edges, tooltips=None, line_policy="interp"),
        TapTool(renderers=[dots, *edges]),
    )
    plot.toolbar.active_drag = pan
    plot.axis.visible = False
    return _document(plot)


def matrix_chart(names: tuple[str, ...], order: list[int]) -> dict[str, Any]:
    """One picture of n x n cells; rows from the top in the matrix's order."""
    n = len(names)
    plot = _plot("matrix", Range1d(0, n), Range1d(0, n), 620)
    mapper = LinearColorMapper(palette=ramp(PROBABILITY), low=0, high=255, name="cell-colours")
    cells = ColumnDataSource(data={"image": [np.zeros((n, n), dtype=np.uint8)]}, name="cells")
    plot.image("image", x=0, y=0, dw=n, dh=n, source=cells, color_mapper=mapper, origin="top_left")
    cursor = ColumnDataSource(data={"x": [], "y": []}, name="cursor")
    plot.rect(
        "x", "y", width=1, height=1, source=cursor, fill_alpha=0, line_color=MARK, line_width=2.5
    )
    scale = LinearColorMapper(palette=ramp(PROBABILITY), low=0, high=1, name="scale-colours")
    plot.add_layout(
        ColorBar(
            color_mapper=scale, width=14, name="scale", major_label_text_font=FONT, padding=4,
            major_label_text_font_size="11px", bar_line_color=None,
            formatter=BasicTickFormatter(use_scientific=False),
        ),
        "right",
    )  # fmt: skip
    if n <= LABELLED:
        for axis, nodes in ((plot.xaxis, order), (plot.yaxis, order[::-1])):
            axis.ticker = FixedTicker(ticks=[i + 0.5 for i in range(n)])
            axis.major_label_overrides = {
                i + 0.5: PlainText(text=_short(names[node])) for i, node in enumerate(nodes)
            }
        plot.xaxis.major_label_orientation = "vertical"
        plot.axis.major_label_text_font = FONT
        plot.axis.major_label_text_font_size = "10px"
        plot.axis.axis_line_color = plot.axis.major_tick_line_color = None
        plot.axis.minor_tick_line_color = None
    else:
        plot.axis.visible = False
    return _document(plot)


def _short(name: str, most: int = 16) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"


def _plot(name: str, x_range: Range1d, y_range: Range1d, height: int) -> figure:
    plot = figure(
        name=name, x_range=x_range, y_range=y_range, height=height, sizing_mode="stretch_width",
        tools="", toolbar_location=None, background_fill_color=None, border_fill_color=None,
        outline_line_color=None, min_border=4,
    )  # fmt: skip
    plot.grid.visible = False
    return plot


def _document(plot: figure) -> dict[str, Any]:
    """What BokehJS embeds; models are counted from 1, for the same result is the same page."""
    content: Any = json_item(plot)
    numbers: dict[str, str] = {}
    doc = _renumber(content["doc"], numbers)
    return {"doc": doc, "root_id": numbers[content["root_id"]]}


def _renumber(part: Any, numbers: dict[str, str]) -> Any:
    if isinstance(part, dict):
        return {
            key: _number(value, numbers) if key == "id" else _renumber(value, numbers)
            for key, value in part.items()
        }
    if isinstance(part, list | tuple):
        return [_renumber(item, numbers) for item in part]
    return part


def _number(old: str, numbers: dict[str, str]) -> str:
    return numbers.setdefault(old, f"m{len(numbers)}")
