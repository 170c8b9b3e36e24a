"""All figures on one page, the reliability diagram and the table of seconds, from committed rows.

    python scripts/overview.py

Reads results/*/summary.csv and reliability.csv as `graphprior experiment` wrote them; writes
results/overview/{curves,reliability}.png, calibration.csv and seconds.md.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from graphprior.paper.experiments.figure import in_logarithms
from graphprior.paper.experiments.folder import save_figure, save_table
from graphprior.paper.experiments.published import best
from graphprior.paper.experiments.registry import experiments
from graphprior.paper.experiments.run import Comparison
from graphprior.plots import plot_bins

RESULTS = Path(__file__).parent.parent / "results"
OUT = RESULTS / "overview"
# Colour and label of each curve.
OURS = {"direct": ("#0072b2", "direct"), "gibbs": ("#e69f00", "gibbs")}
REDONE = ("#009e73", "LPost redone")
RELAXED = dict.fromkeys(
    ("LPost(relaxed)", "LPost(relaxed; |A|=1000)"), ("#cc79a7", "LPost, our schedule")
)


def curves(summary: pd.DataFrame) -> Figure:
    """A panel for each figure: ours by engine, the paper's method redone, the best published."""
    figures = list(summary["figure"].unique())
    page = Figure(figsize=(13, 6.5), layout="constrained")
    axes = page.subplots(2, 4).ravel()
    for ax, name in zip(axes, figures, strict=False):
        rows = summary[summary["figure"] == name]
        for method, (colour, label) in {**OURS, **redone(rows), **RELAXED}.items():
            mine = rows[(rows["method"] == method) & rows["value"].notna()]
            if len(mine):
                ax.errorbar(
                    mine["x"], mine["value"], yerr=mine["sd"], color=colour, marker="o", ms=4,
                    label=label,
                )  # fmt: skip
        theirs = best(name)
        ax.plot(
            list(theirs), list(theirs.values()), color="#777777", marker="s", ms=4, ls="--",
            label="best published",
        )  # fmt: skip
        if name != "egonets-sweep":
            in_logarithms(ax, theirs)
        ax.set_ylim(0.2, 1.0)
        ax.set_title(name, fontsize=10)
        ax.set_ylabel(rows["metric"].iloc[0])
    for ax in axes[len(figures) :]:
        ax.set_axis_off()
    axes[0].legend(fontsize=8)
    return page


def redone(rows: pd.DataFrame) -> dict[str, tuple[str, str]]:
    """The paper's method as this figure ran it, in the variant that was published as its best."""
    for name in ("LPost(p_m=0.45)", "LPost(|A|=1000)", "LPost"):
        if (rows["method"] == name).any():
            return {name: REDONE}
    return {}


def pooled(bins: pd.DataFrame) -> pd.DataFrame:
    """Bins of all figures together."""
    bins = bins.assign(bin=(bins["probability"] * 10).astype(int).clip(upper=9))
    weighted = bins.assign(
        probability=bins["probability"] * bins["pairs"], edges=bins["edges"] * bins["pairs"]
    )
    found = weighted.groupby("bin")[["probability", "edges", "pairs"]].sum()
    return found.assign(
        probability=found["probability"] / found["pairs"], edges=found["edges"] / found["pairs"]
    )


def seconds(summary: pd.DataFrame) -> str:
    """Markdown: CPU seconds for a problem by method and figure."""
    table = summary.pivot_table(index="method", columns="figure", values="seconds", sort=False)
    lines = [f"| method | {' | '.join(table.columns)} |", "|---" * (len(table.columns) + 1) + "|"]
    for method, row in table.iterrows():
        cells = ["-" if np.isnan(v) else f"{v:.2f}" for v in row]
        name = str(method).replace("|", "\\|")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Draw and keep."""
    names = [e.name for e in experiments().values() if isinstance(e, Comparison)]
    run = [name for name in names if (RESULTS / name / "summary.csv").exists()]
    summary = pd.concat([pd.read_csv(RESULTS / name / "summary.csv") for name in run])
    bins = pd.concat([pd.read_csv(RESULTS / name / "reliability.csv") for name in run])
    by_method = {m: pooled(bins[bins["method"] == m]) for m in OURS}
    OUT.mkdir(parents=True, exist_ok=True)
    save_figure(OUT / "curves.png", curves(summary))
    diagram = {m: b.itertuples(index=False, name=None) for m, b in by_method.items()}
    save_figure(OUT / "reliability.png", plot_bins(diagram).figure)
    errors = [
        (method, int(b["pairs"].sum()),
         float((abs(b["probability"] - b["edges"]) * b["pairs"]).sum() / b["pairs"].sum()))
        for method, b in by_method.items()
    ]  # fmt: skip
    columns = ["method", "pairs", "calibration_error"]
    save_table(OUT / "calibration.csv", pd.DataFrame(errors, columns=columns))
    (OUT / "seconds.md").write_text(seconds(summary))


if __name__ == "__main__":
    main()
