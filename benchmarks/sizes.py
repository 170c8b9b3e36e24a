"""Nothing known and no prior: whether answers and seconds change smoothly with the number of pairs.

    GRAPHPRIOR_DATA=... OMP_NUM_THREADS=1 python benchmarks/sizes.py [--problems 4]

Simulated: sparse graphs (two edges a variable) with strengths of +-[.2, .6] or masked Wishart, and
dense graphs (a quarter of all pairs) with factor-like strengths; k = 2 n, 10 n, 20 n; nothing or
half known. Real: shares, river stations, a questionnaire, breast cancer. Expected over true edges
is the sum of probabilities over the number of edges.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
import pandas as pd
from record import cpu_seconds, save
from sklearn.datasets import load_breast_cancer

from graphprior import PartialGGM
from graphprior.errors import GraphPriorError, notes
from graphprior.gaussian.simulate import simulate_observations, simulate_precision
from graphprior.graphs.matrices import hide
from graphprior.results.metrics import f1
from graphprior.types import Matrix

KINDS = ("uniform", "wishart", "factor")


def truth(kind: str, n: int, rng: np.random.Generator) -> tuple[Matrix, Matrix]:
    """A graph and its precision matrix."""
    if kind == "factor":
        loadings = rng.standard_normal((n, 3))
        V = loadings @ loadings.T
        limit = np.quantile(np.abs(V[np.triu_indices(n, 1)]), 0.75)
        A = (np.abs(V) > limit) * (1.0 - np.eye(n))
        V = V * A / np.abs(V * A).max()
        return A, V + (0.05 - 1.1 * np.linalg.eigvalsh(V)[0]) * np.eye(n)
    A = np.triu(rng.random((n, n)) < 4 / (n - 1), 1).astype(float)
    A = A + A.T
    if kind == "wishart":
        try:
            return A, simulate_precision(A, rng, tries=5000)
        except GraphPriorError:  # no positive definite draw: another graph
            return truth(kind, n, rng)
    V = np.triu(rng.uniform(0.2, 0.6, (n, n)) * rng.choice([-1, 1], (n, n)) * A, 1)
    V = V + V.T
    return A, V + max(1.0, 0.1 - np.linalg.eigvalsh(V)[0]) * np.eye(n)


def simulated(kind: str, n: int, ratio: int, known: str, problems: int) -> dict[str, object]:
    """Means over some problems of one kind."""
    scores, cpu = [], []
    for g in range(problems):
        rng = np.random.default_rng([11, KINDS.index(kind), n, ratio, g])
        A, Theta = truth(kind, n, rng)
        X = simulate_observations(Theta, ratio * n, rng)
        told = None if known == "nothing" else hide(A, rng, share=0.5)
        with notes():
            seconds, model = cpu_seconds(lambda X=X, told=told: PartialGGM(None).fit(X, known=told))
        at = np.nonzero(np.triu(model.problem_.U))
        a, p = A[at], model.edge_probabilities_[at]
        bits = -np.log2(np.clip(np.where(a == 1, p, 1 - p), 1e-9, 1)).mean()
        settled = float(model.diagnostics_.data.evidence_converged)
        scores.append([p.sum() / a.sum(), f1(a, p >= 0.5), bits, settled])
        cpu.append(seconds)
    ratio_of_edges, score, bits, settled = np.mean(scores, axis=0)
    return {
        "kind": kind, "n": n, "k": ratio * n, "known": known, "problems": problems,
        "expected_over_true": ratio_of_edges, "f1": score, "bits": bits, "settled": settled,
        "median_cpu_seconds": float(np.median(cpu)),
    }  # fmt: skip


def real(name: str, X: Matrix) -> dict[str, object]:
    """Edges found in one table."""
    with notes() as words:
        seconds, model = cpu_seconds(lambda: PartialGGM(None).fit(X))
    return {
        "kind": name, "n": X.shape[1], "k": X.shape[0], "known": "nothing",
        "edges": int(model.adjacency_.sum() // 2),
        "expected_edges": float(model.edge_probabilities_.sum() / 2),
        "settled": float(model.diagnostics_.data.evidence_converged), "median_cpu_seconds": seconds,
        "notes": len(list(words)),
    }  # fmt: skip


def tables() -> list[tuple[str, Matrix]]:
    """Tables by name; those of the data folder need GRAPHPRIOR_DATA."""
    found = [("breast cancer", load_breast_cancer().data)]
    folder = os.environ.get("GRAPHPRIOR_DATA")
    if folder is None:
        print("GRAPHPRIOR_DATA is not set: shares, rivers and the questionnaire are left out")
        return found
    shares = pd.read_csv(Path(folder) / "stocks" / "log_returns.csv.gz").select_dtypes("number")
    shares = shares.dropna(axis=1)
    for n in (40, 50, 55, 56, 60, 80, 120):
        found.append(("shares", shares.iloc[:, :n].to_numpy()))
    events = pd.read_csv(Path(folder) / "danube" / "events.csv").select_dtypes("number")
    events = events.drop(columns="year")
    found.append(("river stations", events.dropna(axis=1).to_numpy()))
    items = pd.read_csv(Path(folder) / "questionnaire" / "items.csv").select_dtypes("number")
    found.append(("questionnaire", items.dropna(axis=0).to_numpy(dtype=float)))
    return found


def main() -> None:
    """Measure and keep."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--problems", type=int, default=4)
    problems = parser.parse_args().problems
    PartialGGM(None).fit(
        np.random.default_rng(0).standard_normal((50, 26))
    )  # compiled before timing
    rows: list[dict[str, object]] = []
    for name, X in tables():
        rows.append(real(name, X))
        print(rows[-1], flush=True)
    for kind in KINDS:
        for ratio in (2, 10, 20):
            for known in ("nothing", "half"):
                for n in (20, 30, 50, 55, 56, 64, 100):
                    rows.append(simulated(kind, n, ratio, known, problems))
                    print(rows[-1], flush=True)
    for n in (68, 200, 400):
        rows.append(simulated("uniform", n, 5, "half" if n == 68 else "nothing", 1))
        print(rows[-1], flush=True)
    save("sizes", "GRAPHPRIOR_DATA=... OMP_NUM_THREADS=1 python benchmarks/sizes.py", rows)


if __name__ == "__main__":
    main()
