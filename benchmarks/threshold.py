"""Which threshold tau_k the paper's estimator wants, on ego-nets it was not tested on.

OMP_NUM_THREADS=1 GRAPHPRIOR_DATA=... python benchmarks/threshold.py     (about 5 minutes)

Half of the pairs of ego-nets from the training set are hidden; LPost with the
shipped prior, M = 10, the package's own schedule. Rows: mean F1 at each threshold.
"""

import numpy as np
from problems import egonet_models
from record import save

from graphprior.estimator import PartialGGM
from graphprior.gaussian.simulate import simulate_observations
from graphprior.graphs.matrices import hide, unknown_mask
from graphprior.results.metrics import auc, f1, on_unknown

THRESHOLDS = np.arange(0.1, 1.05, 0.1)


def main(R: int = 12, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    drawn, rows = egonet_models(R, rng), []
    for ratio in (0.15, 0.35, 0.85, 2.0):
        table, aucs, ks = [], [], []
        for r, (A, Theta_0) in enumerate(drawn):
            known = hide(A, rng, share=0.5)
            U = unknown_mask(known)
            k = max(2, int(np.ceil(ratio * U.sum() / 2)))
            X = simulate_observations(Theta_0, k, rng)
            model = PartialGGM("egonets-edp-gnn", engine="langevin", random_state=r).fit(
                X, known=known
            )
            a, p = on_unknown(A, U), on_unknown(model.edge_probabilities_, U)
            table.append([f1(a, p >= tau - 1e-9) for tau in THRESHOLDS])
            aucs.append(auc(a, p))
            ks.append(k)
        means = np.mean(table, axis=0)
        rows.append(
            {
                "k_over_unknown": ratio,
                "mean_k": float(np.mean(ks)),
                "graphs": len(drawn),
                "best_threshold": float(THRESHOLDS[means.argmax()].round(2)),
                "f1": {
                    f"{tau:.1f}": round(float(m), 4)
                    for tau, m in zip(THRESHOLDS, means, strict=True)
                },
                "auc": float(np.nanmean(aucs)),
            }
        )
        print(rows[-1], flush=True)
    save("threshold", "OMP_NUM_THREADS=1 python benchmarks/threshold.py", rows)


if __name__ == "__main__":
    main()
