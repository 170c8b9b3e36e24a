"""From finished units to tidy rows: a value for each graph, and Algorithm 2's means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from graphprior.paper.experiments.published import curve
from graphprior.paper.experiments.spec import Spec
from graphprior.paper.experiments.units import solve_unit, truth_and_scores
from graphprior.results.metrics import METRICS, auc, calibration_error, reliability, split_metric

COLUMNS = ["figure", "method", "x", "graph", "seed", "metric", "value", "seconds", "error"]


class Finished:
    """The results of a figure by method and x."""

    def __init__(self, spec: Spec, results: Mapping[str, Any], methods: list[str]) -> None:
        self.spec, self.methods = spec, methods
        self.by_point: dict[tuple[str, float], dict[int, Mapping[str, Any]]] = {}
        numbers = sorted({int(key.rsplit("|")[-1]) for key in results})
        for method in methods:
            for x in spec.xs:
                keys = {g: solve_unit(spec, method, x, g, {})[0] for g in numbers}
                found = {g: results[key] for g, key in keys.items() if key in results}
                if found:
                    self.by_point[method, x] = found

    def points(self) -> set[tuple[str, float, int]]:
        """Method, x and graph of all that is finished."""
        return {(*point, g) for point, found in self.by_point.items() for g in found}

    def rows(self) -> pd.DataFrame:
        """One row for each graph and metric; failures are rows too."""
        rows: list[dict[str, Any]] = []
        for (method, x), found in self.by_point.items():
            worked = {g: r for g, r in found.items() if r["error"] is None}
            values = self._by_graph(worked)
            for g, result in found.items():
                for metric in dict.fromkeys((self.spec.metric, "auc")):
                    value = values[metric].get(g, float("nan")) if g in worked else float("nan")
                    rows.append({
                        "figure": self.spec.name, "method": method, "x": x, "graph": g,
                        "seed": self.spec.seed, "metric": metric, "value": value,
                        "seconds": result["seconds"], "error": result["error"],
                    })  # fmt: skip
        return pd.DataFrame(rows, columns=COLUMNS)

    def _by_graph(self, worked: Mapping[int, Any]) -> dict[str, dict[int, float]]:
        pairs = {g: truth_and_scores(r) for g, r in worked.items()}
        values = {"auc": {g: auc(a, s) for g, (a, s) in pairs.items()}}
        if self.spec.metric in METRICS and len(pairs) >= 2:
            judged = self._split(list(pairs.values())).by_graph
            values[self.spec.metric] = dict(zip(pairs, judged.tolist(), strict=True))
        return {self.spec.metric: {}} | values

    def _split(self, pairs: list[tuple[Any, Any]]) -> Any:
        truths, scores = zip(*pairs, strict=True)
        return split_metric(
            truths, scores, self.spec.seeds("splits"), METRICS[self.spec.metric],
            S=self.spec.splits,
        )  # fmt: skip

    def summary(self) -> pd.DataFrame:
        """One row for each method and x: Algorithm 2, its spread over splits, cost, failures."""
        return pd.DataFrame([self._point(*point) for point in self.by_point])

    def _point(self, method: str, x: float) -> dict[str, Any]:
        found = self.by_point[method, x]
        worked = [truth_and_scores(r) for r in found.values() if r["error"] is None]
        out: dict[str, Any] = {
            "figure": self.spec.name, "method": method, "x": x, "metric": self.spec.metric,
            "value": np.nan, "sd": np.nan, "threshold": np.nan, "auc": np.nan,
            "calibration_error": np.nan, "graphs": len(worked),
            "failed": len(found) - len(worked),
            "published": curve(self.spec.name, method).get(x, np.nan),
            "seconds": float(np.mean([r["seconds"] for r in found.values()])),
        }  # fmt: skip
        if not worked:
            return out
        areas = np.array([auc(a, s) for a, s in worked])
        kinds = ~np.isnan(areas)
        out["auc"] = float(areas[kinds].mean()) if kinds.any() else np.nan
        truth, scores = (np.concatenate(part) for part in zip(*worked, strict=True))
        out["calibration_error"] = calibration_error(truth, scores)
        if self.spec.metric == "auc":
            spread = areas[kinds].std(ddof=1) / np.sqrt(kinds.sum()) if kinds.sum() > 1 else np.nan
            return out | {"value": out["auc"], "sd": float(spread)}
        if len(worked) >= 2:
            split = self._split(worked)
            out |= {"value": split.mean, "sd": float(split.values.std())}
            out["threshold"] = float(split.thresholds.mean())
        return out

    def reliability(self) -> pd.DataFrame:
        """Bins of probability against the share of edges, over all x."""
        rows = []
        for method in self.methods:
            found = [
                truth_and_scores(r)
                for x in self.spec.xs
                for r in self.by_point.get((method, x), {}).values()
                if r["error"] is None
            ]
            if found:
                truth, scores = (np.concatenate(part) for part in zip(*found, strict=True))
                rows += [(self.spec.name, method, *bin_) for bin_ in reliability(truth, scores)]
        return pd.DataFrame(rows, columns=["figure", "method", "probability", "edges", "pairs"])
