"""What all plots share: colours that the colour-blind can tell apart, axes, names of variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

# Of Okabe and Ito's colours.
KNOWN, FOUND, UNKNOWN, GREY, MARK = "#3b3b3b", "#0072b2", "#e69f00", "#999999", "#d55e00"
SETS = (FOUND, UNKNOWN, "#009e73", "#cc79a7")
CELLS = "cividis"
LABELS = 60  # more names than this on one plot cannot be read


def canvas(ax: Axes | None, width: float = 6.0, height: float = 5.0) -> Axes:
    """The axes given, or those of a new figure that nothing else knows of."""
    if ax is not None:
        return ax
    made: Axes = Figure(figsize=(width, height), layout="constrained").subplots()
    return made


def shortened(name: str, most: int = 18) -> str:
    """A name that leaves room for the plot, and in which a dollar begins no formula."""
    cut = name if len(name) <= most else f"{name[: most - 1]}…"
    return cut.replace("$", r"\$")


def list_down(ax: Axes, labels: Sequence[str]) -> Any:
    """Heights for rows from the top down, with their (shortened) labels; they are returned."""
    y = list(range(len(labels)))[::-1]
    size = 7 if len(labels) <= 30 else max(3.0, 210 / len(labels))
    ax.set_yticks(y, labels, fontsize=size)
    ax.set_ylim(-0.6, len(labels) - 0.4)
    return y
