"""The pictures of docs/method.md, from the demo's data: `python scripts/method_pictures.py`."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from graphprior import PartialGGM, read_known, read_observations
from graphprior.results.result import Result

DOCS = Path(__file__).parent.parent / "docs"
LARGEST = 6.0  # log-odds beyond this look alike


def demo_result() -> Result:
    """The demo's problem by `direct`."""
    with as_file(files("graphprior") / "demo") as folder:
        X = read_observations(folder / "observations.csv")
        known = read_known(folder / "known.csv", [str(c) for c in X.columns])
    return Result.of(PartialGGM("egonets", random_state=0).fit(X, known=known))


def draw_evidence(result: Result) -> Figure:
    """Known part, data's log-odds, prior's log-odds, posterior."""
    figure = Figure(figsize=(12.5, 3.4), layout="constrained")
    axes = figure.subplots(1, 4)
    assert result.reasons is not None
    nothing = np.where(result.U, np.nan, 1.0)
    known = np.where(result.U, np.nan, result.known)
    axes[0].set_facecolor("#e69f00")
    axes[0].imshow(known, cmap="gray_r", vmin=0, vmax=1.4)
    axes[0].set_title("known part (orange: unknown)", fontsize=9)
    for ax, part, title in (
        (axes[1], result.reasons.data, "the data's log-odds"),
        (axes[2], result.reasons.prior, "the prior's log-odds"),
    ):
        shown = np.where(np.isnan(nothing), part, np.nan)
        image = ax.imshow(shown, cmap="PuOr_r", vmin=-LARGEST, vmax=LARGEST)
        ax.set_title(title, fontsize=9)
        figure.colorbar(image, ax=ax, shrink=0.8)
    image = axes[3].imshow(result.edge_probabilities, cmap="cividis", vmin=0, vmax=1)
    axes[3].set_title("posterior probability", fontsize=9)
    figure.colorbar(image, ax=axes[3], shrink=0.8)
    for ax in axes:
        ax.set_xticks([])
        ax.set_yticks([])
    return figure


def main() -> None:
    """Draw both."""
    from graphprior.plots import plot_prior_and_data

    result = demo_result()
    draw_evidence(result).savefig(DOCS / "method-evidence.png", dpi=110)
    ax = plot_prior_and_data(result)
    ax.figure.savefig(DOCS / "method-scatter.png", dpi=110)


if __name__ == "__main__":
    main()
