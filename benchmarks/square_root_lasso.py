"""TIGER's solver beside others, on the same data in the same run.

    OMP_NUM_THREADS=1 python benchmarks/square_root_lasso.py    (a minute; needs the `test` extra)

All n regressions of dual Barabasi-Albert graphs. Violations are of the optimality conditions, on
the scale of correlations, the worst of all problems; skglm and coordinate descent are asked for
1e-6. skglm gives up where little residual is left, coordinate descent does after 3000 sweeps.
"""

import warnings

import numpy as np
from record import cpu_seconds, save
from skglm.experimental.sqrt_lasso import SqrtLasso

from graphprior.engines.bootstrap import correlation
from graphprior.evidence.precision import standardise
from graphprior.gaussian.simulate import simulate_observations, simulate_precision
from graphprior.paper.baselines.tiger import square_root_lasso, tiger_penalty
from graphprior.paper.datasets import dual_barabasi_albert
from graphprior.types import Matrix

SMALLEST = 1e-2  # residual below which others count a variable as explained


def violation(X: Matrix, B: Matrix, lam: float) -> float:
    Z = standardise(X)
    left = Z - Z @ B
    limit = lam * np.sqrt(np.mean(left**2, axis=0))
    slope = Z.T @ left / len(Z)
    off = np.where(B != 0, np.abs(slope - limit * np.sign(B)), np.abs(slope) - limit)
    np.fill_diagonal(off, 0.0)
    return float(off.max())


def ours(X: Matrix, lam: float) -> Matrix:
    R = correlation(X)
    return np.array([square_root_lasso(R, j, lam) for j in range(len(R))]).T


def skglm(X: Matrix, lam: float) -> Matrix:
    Z = standardise(X)
    k, n = Z.shape
    model = SqrtLasso(alpha=lam * np.sqrt(k), tol=1e-6 * np.sqrt(k), fit_intercept=False)
    B = np.zeros((n, n))
    for j in range(n):
        others = np.arange(n) != j
        B[others, j] = model.fit(np.asfortranarray(Z[:, others]), Z[:, j]).coef_
    return B


def coordinate_descent(X: Matrix, lam: float) -> Matrix:
    """All regressions at once, their residuals' sizes estimated anew after each sweep."""
    R = correlation(X)
    n = len(R)
    B, G, sigma = np.zeros((n, n)), np.zeros((n, n)), np.ones(n)
    for _ in range(3000):
        for i in range(n):
            slope = R[i] - G[i] + B[i]
            new = np.sign(slope) * np.maximum(np.abs(slope) - lam * sigma, 0)
            new[i] = 0.0
            G += np.outer(R[i], new - B[i])
            B[i] = new
        square = 1 - 2 * (R * B).sum(0) + (B * G).sum(0)
        sigma = np.sqrt(np.maximum(square, SMALLEST**2))
        off = np.where(
            B != 0, np.abs(R - G - lam * sigma * np.sign(B)), np.abs(R - G) - lam * sigma
        )
        np.fill_diagonal(off, 0.0)
        if off.max() <= 1e-6:
            break
    return B


SOLVERS = {
    "graphprior": ours,
    "skglm": skglm,
    "coordinate descent": coordinate_descent,
}


def compare(k: int, repeats: int) -> list[dict[str, object]]:
    rng = np.random.default_rng(k)
    graphs = dual_barabasi_albert(repeats, rng, sizes=(50,))
    data = [simulate_observations(simulate_precision(A, rng, 10000), k, rng) for A in graphs]
    rows = []
    lam = tiger_penalty(50, k)
    for name, solve in SOLVERS.items():
        runs = [cpu_seconds(lambda X=X, solve=solve: solve(X, lam)) for X in data]
        rows.append({
            "n": 50,
            "k": k,
            "solver": name,
            "median_cpu_seconds": float(np.median([seconds for seconds, _ in runs])),
            "violation": max(violation(X, B, lam) for X, (_, B) in zip(data, runs, strict=True)),
        })  # fmt: skip
    return rows


def main(repeats: int = 5) -> None:
    warnings.simplefilter("ignore")
    X = np.random.default_rng(0).standard_normal((20, 4))
    compiling, _ = cpu_seconds(lambda: skglm(X, 0.5))
    rows: list[dict[str, object]] = [{"solver": "skglm", "cpu_seconds_to_compile": compiling}]
    rows += [row for k in (5, 20, 400) for row in compare(k, repeats)]
    command = "OMP_NUM_THREADS=1 python benchmarks/square_root_lasso.py"
    save("square_root_lasso", command, rows)


if __name__ == "__main__":
    main()
