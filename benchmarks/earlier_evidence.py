"""Drawn evidence and that of an earlier version, in the same problems and with the same prior.

    git worktree add ../earlier 994f503
    PYTHONPATH=../earlier/src python benchmarks/earlier_evidence.py save earlier.npz
    OMP_NUM_THREADS=1 python benchmarks/earlier_evidence.py compare earlier.npz

Version 994f503 had expectation propagation. Problems are those of dual Barabasi-Albert graphs at
k/|U| = .35, of which 30 are taken. Evidence alone, after one pass of the prior, and after five of
`direct`, where size and rate of edges are estimated and where the evidence is told the simulator's
own (variance 1/n and the true rate of the hidden pairs). "at the mean" judges slack at the mean of
the drawn precision matrices, as was done until it was found that this sees slack where there is
none. `auc_change` is the change of AUC against the earlier version, with its standard error;
`slope` that of the truth on the log-odds of all problems, for which 1 is right.
"""

from __future__ import annotations

import argparse
import warnings
from importlib import import_module
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.metrics import roc_auc_score

FIGURE, X, GRAPHS = "ba-10", 0.35, 30
STAGES = ("evidence alone", "one pass", "five passes")
EARLIER = {
    "experiment": "graphprior.experiments.registry", "slab": "graphprior.slab",
    "evidence": "graphprior.evidence",
}  # fmt: skip
NOW = {
    "experiment": "graphprior.paper.experiments.registry", "slab": "graphprior.evidence.slab",
    "evidence": "graphprior.evidence.evidence",
}  # fmt: skip
Solved = dict[str, list[np.ndarray]]


def solve(modules: dict[str, str], short: bool = False) -> Solved:
    """Log-odds of the pairs asked for, by what is told and the stage; and the truth.

    A short run tells nothing and makes one pass.
    """
    parts = {name: import_module(path) for name, path in modules.items()}
    reason = import_module("graphprior.engines.direct").reason
    spec = parts["experiment"].experiment(FIGURE).spec
    prior = import_module("graphprior").load_prior(spec.priors["evidence"])
    found: Solved = {}
    for g in range(GRAPHS):
        A = spec.graph("test", g)
        problem = spec.problem(X, A, "test", g)
        at = np.nonzero(np.triu(problem.U))
        found.setdefault("truth", []).append(A[at])
        rate = float(np.clip(A[at].mean(), 0.02, 0.98))
        told = parts["slab"].Slab(1 / len(A), rate)
        for words, fixed in (("estimated", None), ("told", told))[: 1 if short else 2]:
            evidence = parts["evidence"].data_evidence(problem, fixed=fixed)
            usual = np.log(rate / (1 - rate))
            one = reason(problem.known, prior, evidence, 1, True)[0].posterior
            each = [evidence.log_bf + usual, one]
            if not short:
                each.append(reason(problem.known, prior, evidence)[0].posterior)
            for stage, log_odds in zip(STAGES, each, strict=False):
                found.setdefault(f"{words}, {stage}", []).append(log_odds[at])
            found.setdefault(f"slack {words}", []).append(np.array([evidence.slack.size]))
    return found


def row(name: str, key: str, found: Solved, earlier: Solved) -> dict[str, Any]:
    """How one kind of evidence fares at one stage."""
    truths, log_odds = earlier["truth"], found[key]
    a, z = np.concatenate(truths), np.concatenate(log_odds)
    each = np.array([roc_auc_score(t, s) for t, s in zip(truths, log_odds, strict=True)])
    before = np.array([roc_auc_score(t, s) for t, s in zip(truths, earlier[key], strict=True)])
    change = each - before
    told, stage = key.split(", ")

    def loss(c: np.ndarray) -> float:
        return float(np.mean(np.logaddexp(0, c[0] + c[1] * z) - a * (c[0] + c[1] * z)))

    return {
        "evidence": name, "told": told, "stage": stage, "problems": len(each),
        "auc": float(each.mean()), "auc_change": float(change.mean()),
        "standard_error": float(change.std(ddof=1) / np.sqrt(len(each))),
        "bits": loss(np.array([0.0, 1.0])) / np.log(2),
        "slope": float(minimize(loss, [0.0, 1.0]).x[1]),
        "expected_over_true": float(expit(z).sum() / a.sum()),
        "with_slack": float(np.mean(np.concatenate(found[f"slack {told}"]) > 0)),
    }  # fmt: skip


def compare(earlier: Solved) -> list[dict[str, Any]]:
    """Rows of the earlier evidence, the drawn one, and the drawn one with slack at the mean."""
    module = import_module(NOW["evidence"])
    found = {"earlier": earlier, "drawn": solve(NOW)}
    right, module.with_variances = module.with_variances, lambda Theta, S: Theta
    found["drawn, slack at the mean"] = solve(NOW, short=True)
    module.with_variances = right
    keys = [f"{words}, {stage}" for words in ("estimated", "told") for stage in STAGES]
    return [
        row(name, key, one, earlier) for name, one in found.items() for key in keys if key in one
    ]


def main() -> None:
    """Save what the earlier version says, or compare with it and keep the rows."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("save", "compare"))
    parser.add_argument("file")
    chosen = parser.parse_args()
    if chosen.what == "save":
        flat = {
            f"{key}|{g}": v for key, values in solve(EARLIER).items() for g, v in enumerate(values)
        }
        np.savez_compressed(chosen.file, **flat)
        return
    read = np.load(chosen.file)
    earlier: Solved = {}
    for name in read.files:
        earlier.setdefault(name.split("|")[0], []).append(read[name])
    from record import save  # it needs this version of the package

    command = "OMP_NUM_THREADS=1 python benchmarks/earlier_evidence.py compare earlier.npz"
    save("earlier-evidence", command, compare(earlier))


if __name__ == "__main__":
    main()
