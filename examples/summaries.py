"""From solved problems to tidy rows, means with standard errors, a table and a figure."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from graphprior.paper.experiments.figure import in_logarithms, styles
from graphprior.paper.experiments.units import truth_and_scores
from graphprior.results.metrics import auc, calibration_error, f1

METRICS = ("bits", "f1", "auc", "false", "missed", "gain", "weight", "seconds")
RESAMPLED = 100
CALIBRATION = ("calibration_error", "calibration_error_se")
# Methods whose scores claim to be probabilities.
PROBABILITIES = ("direct", "gibbs", "auto", "own prior", "BDgraph")
LEAST = 1e-7  # a probability of less than this counts as this much in bits


def values(result: dict[str, Any]) -> dict[str, float]:
    """The metrics of one problem; F1 and AUC mean nothing where no edge is hidden.

    ``bits`` are those of the hidden truth by the probabilities, ``false`` and ``missed`` count
    edges that were found and are none, and the other way round.
    """
    truth, scores = truth_and_scores(result)
    found = scores >= result["threshold"]
    right = np.clip(np.where(truth == 1, scores, 1 - scores), LEAST, 1)
    gain, _, weight = result["gain"] or (np.nan, np.nan, np.nan)
    return {
        "bits": float(-np.log2(right).mean()) if is_probable(result["method"]) else np.nan,
        "f1": float(f1(truth, found)) if truth.any() else np.nan,
        "auc": auc(truth, scores),
        "false": float(np.sum(found & (truth == 0))),
        "missed": float(np.sum(~found & (truth == 1))),
        "gain": gain,
        "weight": weight,
        "seconds": result["seconds"],
    }


def is_probable(method: str) -> bool:
    """Whether a method's scores claim to be probabilities."""
    return method.split(",")[0] in PROBABILITIES


def rows_of(case: str, results: list[dict[str, Any]]) -> pd.DataFrame:
    """One row for each problem, method and metric; failures are rows too."""
    rows = []
    for result in results:
        place = {"case": case, **{key: result[key] for key in ("method", "k", "share")}}
        place |= {"repeat": result["g"], "error": result["error"]}
        found = dict.fromkeys(METRICS, np.nan) if result["error"] else values(result)
        rows += [{**place, "metric": name, "value": value} for name, value in found.items()]
    return pd.DataFrame(rows)


def summary_of(results: list[dict[str, Any]], order: list[str]) -> pd.DataFrame:
    """One row for each method, k and share: means, standard errors, calibration of all pairs."""
    settings = sorted({(r["share"], r["k"]) for r in results})
    rows = []
    for method in order:
        for share, k in settings:
            at = [r for r in results if (r["method"], r["share"], r["k"]) == (method, share, k)]
            if at:
                rows.append({"method": method, "share": share, "k": k, **_point(method, at)})
    return pd.DataFrame(rows)


def _point(method: str, results: list[dict[str, Any]]) -> dict[str, Any]:
    worked = [r for r in results if r["error"] is None]
    out: dict[str, Any] = {"repeats": len(worked), "failed": len(results) - len(worked)}
    table = pd.DataFrame([values(r) for r in worked], columns=list(METRICS))
    for name in METRICS:
        column = table[name].dropna()
        out[name] = column.mean() if len(column) else np.nan
        out[f"{name}_se"] = column.sem() if len(column) > 1 else np.nan
    claims = worked and is_probable(method)
    pooled = _calibration([truth_and_scores(r) for r in worked]) if claims else (np.nan, np.nan)
    out["calibration_error"], out["calibration_error_se"] = pooled
    return out


def _calibration(solved: list[tuple[Any, Any]]) -> tuple[float, float]:
    """Calibration error of all hidings together, and its standard error by drawing hidings anew."""

    def pooled(chosen: Any) -> float:
        truth, p = (np.concatenate(v) for v in zip(*(solved[g] for g in chosen), strict=True))
        return calibration_error(truth, p)

    rng, count = np.random.default_rng(0), len(solved)
    again = [pooled(rng.integers(count, size=count)) for _ in range(RESAMPLED)]
    return pooled(range(count)), float(np.std(again)) if count > 1 else np.nan


def table(title: str, prior: str | None, summary: pd.DataFrame) -> str:
    """Markdown: a table for each metric, a row for each method, a column for each setting."""
    lines = [f"# {title}", ""]
    lines += [f"`direct` and `gibbs` have the prior `{prior}`, believed in full."] if prior else []
    lines += ["`auto` is the default prior. Mean ± standard error over hidings of the same graph,"]
    lines += ["or over graphs.", ""]
    lines += _block("Bits per hidden pair", summary, "bits", "bits_se")
    lines += _block("F1 on the hidden pairs", summary, "f1", "f1_se")
    lines += _block("AUC on the hidden pairs", summary, "auc", "auc_se")
    lines += _block("Calibration error, all hidings together", summary, *CALIBRATION)
    checked = summary[~summary["method"].str.contains("gibbs")]  # the same check
    lines += _block("Gain of the prior by the fit check, bits per pair", checked, "gain", "gain_se")
    averaged = summary[summary["method"].str.contains("averaged|auto")]
    lines += _block("Weight of the prior beside independent edges", averaged, "weight", "weight_se")
    lines += _block("CPU seconds a problem, choice of penalty included", summary, "seconds")
    for row in summary[summary["failed"] > 0].itertuples():
        lines += [f"{row.method} failed on {row.failed} problems: share {row.share:g}, k {row.k}."]
    return "\n".join(lines).rstrip() + "\n"


def _block(title: str, summary: pd.DataFrame, name: str, error: str | None = None) -> list[str]:
    told = summary[summary[name].notna()] if name in summary else summary[:0]
    if told.empty:
        return []
    settings = sorted({(row.share, row.k) for row in summary.itertuples()})
    heads = [f"{share:.0%} hidden, k = {k}" for share, k in settings]
    lines = [f"## {title}", "", f"| method | hidings | {' | '.join(heads)} |"]
    lines.append("|---" * (len(settings) + 2) + "|")
    for method in dict.fromkeys(told["method"]):
        mine = told[told["method"] == method].set_index(["share", "k"])
        cells = [_cell(mine, at, name, error) for at in settings]
        repeats = int(mine["repeats"].max())
        lines.append(f"| {method} | {repeats} | {' | '.join(cells)} |")
    return [*lines, ""]


def _cell(mine: pd.DataFrame, at: tuple[float, int], name: str, error: str | None) -> str:
    if at not in mine.index:
        return "-"
    spread = np.nan if error is None else mine.loc[at, error]
    return f"{mine.loc[at, name]:.3f}" + ("" if np.isnan(spread) else f" ± {spread:.3f}")


def figure(title: str, summary: pd.DataFrame) -> Figure:
    """F1 above and AUC below against k, a column for each share hidden."""
    shares = sorted(summary["share"].unique())
    style = styles(list(dict.fromkeys(summary["method"])))
    page = Figure(figsize=(4.6 * len(shares) + 2.4, 7), layout="constrained")
    axes = page.subplots(2, len(shares), sharey="row", sharex=True, squeeze=False)
    for column, share in enumerate(shares):
        for row, name in enumerate(("f1", "auc")):
            ax = axes[row, column]
            for method, look in style.items():
                mine = summary[(summary["method"] == method) & (summary["share"] == share)]
                ax.errorbar(
                    mine["k"], mine[name], yerr=mine[f"{name}_se"], label=method, capsize=2,
                    ms=5, lw=1.4,
                    **look | {"linestyle": "-" if method in ("direct", "gibbs") else "--"},
                )  # fmt: skip
            in_logarithms(ax, sorted(summary["k"].unique()))
            ax.grid(alpha=0.25)
            ax.set_ylabel(name.upper() if column == 0 else "")
        axes[0, column].set_title(f"{share:.0%} of the pairs hidden", fontsize=9)
        axes[1, column].set_xlabel("observations k")
    page.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside right center", fontsize=8)
    page.suptitle(title, fontsize=10)
    return page
