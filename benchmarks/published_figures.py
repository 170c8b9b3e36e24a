"""Curves against the published ones, and the reliability diagram, from the rows of published.py.

    python benchmarks/published_figures.py

Reads results/benchmarks/published/*.json, writes results/published/{curves,reliability}.png and the
calibration error over all runs to results/benchmarks/calibration.json.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from record import RESULTS, save

COLOURS = {"direct": "#0072b2", "gibbs": "#e69f00"}
OUT = RESULTS.parent / "published"


def load() -> dict[str, list[dict[str, Any]]]:
    """Rows of every figure that was run."""
    files = sorted((RESULTS / "published").glob("*.json"))
    return {path.stem: json.loads(path.read_text())["rows"] for path in files}


def curves(figures: dict[str, list[dict[str, Any]]]) -> Figure:
    """One panel for each figure: ours by engine, the published best in grey."""
    figure = Figure(figsize=(11, 6.5), layout="constrained")
    axes = figure.subplots(2, 3).ravel()
    for ax, (name, rows) in zip(axes, figures.items(), strict=False):
        points = [row for row in rows if "x" in row]
        for engine, colour in COLOURS.items():
            mine = [row for row in points if row["engine"] == engine]
            ax.errorbar(
                [row["x"] for row in mine], [row["value"] for row in mine],
                yerr=[row["splits_sd"] for row in mine], color=colour, marker="o", ms=4,
                label=engine,
            )  # fmt: skip
        first = [row for row in points if row["engine"] == "direct"]
        ax.plot(
            [row["x"] for row in first], [row["published_best"] for row in first],
            color="#888888", marker="s", ms=4, ls="--", label="best published",
        )  # fmt: skip
        ax.set_xscale("log")
        ax.set_xticks([row["x"] for row in first], [f"{row['x']:g}" for row in first])
        ax.minorticks_off()
        ax.set_ylim(0.2, 1.0)
        ax.set_title(name, fontsize=10)
        ax.set_ylabel(points[0]["metric"])
    axes[0].legend(fontsize=8)
    return figure


def pooled(figures: dict[str, list[dict[str, Any]]], engine: str) -> list[dict[str, float]]:
    """Bins of all figures together."""
    found: dict[int, list[dict[str, float]]] = {}
    for rows in figures.values():
        for row in rows:
            if "bins" in row and row["engine"] == engine:
                for b in row["bins"]:
                    found.setdefault(min(int(b["p"] * 10), 9), []).append(b)
    out = []
    for which in sorted(found):
        pairs = np.array([b["pairs"] for b in found[which]], dtype=float)
        out.append({
            "p": float(np.average([b["p"] for b in found[which]], weights=pairs)),
            "edges": float(np.average([b["edges"] for b in found[which]], weights=pairs)),
            "pairs": float(pairs.sum()),
        })  # fmt: skip
    return out


def reliability(bins: dict[str, list[dict[str, float]]]) -> Figure:
    """Probability against the share of edges that have it, with two standard errors."""
    figure = Figure(figsize=(4.5, 4.2), layout="constrained")
    ax = figure.subplots()
    ax.plot([0, 1], [0, 1], color="#888888", lw=0.8)
    for engine, rows in bins.items():
        edges = np.array([b["edges"] for b in rows])
        error = 2 * np.sqrt(edges * (1 - edges) / [b["pairs"] for b in rows])
        ax.errorbar(
            [b["p"] for b in rows], edges, yerr=error, color=COLOURS[engine], marker="o", ms=4,
            label=engine,
        )  # fmt: skip
    ax.set_xlabel("probability given")
    ax.set_ylabel("share of such pairs that are edges")
    ax.legend(fontsize=8)
    return figure


def main() -> None:
    """Draw and keep."""
    figures = load()
    bins = {engine: pooled(figures, engine) for engine in COLOURS}
    OUT.mkdir(parents=True, exist_ok=True)
    curves(figures).savefig(OUT / "curves.png", dpi=110)
    reliability(bins).savefig(OUT / "reliability.png", dpi=110)
    rows = [
        {
            "engine": engine, "pairs": sum(b["pairs"] for b in found), "bins": found,
            "calibration_error": sum(abs(b["p"] - b["edges"]) * b["pairs"] for b in found)
            / sum(b["pairs"] for b in found),
        }
        for engine, found in bins.items()
    ]  # fmt: skip
    save("calibration", "python benchmarks/published_figures.py", rows)


if __name__ == "__main__":
    main()
