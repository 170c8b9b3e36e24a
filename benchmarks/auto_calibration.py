"""Whether probabilities of the default prior are right, over the problems of averaging.py.

    GRAPHPRIOR_DATA=... OMP_NUM_THREADS=1 python benchmarks/auto_calibration.py [--problems 12]

Probabilities beside frequencies, in ten bins of as many pairs each, and the mean distance of the
two, for pairs of all kinds together and by share unknown. `beyond_chance` takes off what perfect
probabilities would show by chance: the mean of the same over draws of the truth from them.
"""

from __future__ import annotations

import argparse
from typing import Any

import averaging
import numpy as np
from averaging import BINS, KINDS, SHARES, bits, calibration_error, solve
from record import save

from graphprior.types import Vector

CANDIDATES = {"none": {"prior": None}, "auto": {"prior": "auto"}}
DRAWS = 200


def row(name: str, share: float | None, a: Vector, p: Vector) -> dict[str, Any]:
    """One candidate over many pairs."""
    rng = np.random.default_rng(5)
    by_chance = [calibration_error(rng.random(len(p)) < p, p) for _ in range(DRAWS)]
    parts = np.array_split(np.argsort(p, kind="stable"), BINS)
    error = calibration_error(a, p)
    return {
        "candidate": name, "unknown": share, "pairs": len(p), "bits": float(bits(a, p).mean()),
        "calibration_error": error, "beyond_chance": error - float(np.mean(by_chance)),
        "expected_over_true": float(p.sum() / a.sum()),
        "probability": [float(p[part].mean()) for part in parts],
        "frequency": [float(a[part].mean()) for part in parts],
    }  # fmt: skip


def main() -> None:
    """Measure and keep."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--problems", type=int, default=12)
    problems = parser.parse_args().problems
    averaging.CANDIDATES.clear()
    averaging.CANDIDATES.update(CANDIDATES)
    found: dict[tuple[str, float], list[tuple[Vector, Vector]]] = {}
    for kind in KINDS:
        for share in SHARES:
            for g in range(problems):
                for told in solve(kind, share, g):
                    found.setdefault((told["candidate"], share), []).append((told["a"], told["p"]))
    rows = []
    for name in CANDIDATES:
        for share in (None, *SHARES):
            each = [
                pair
                for (candidate, own), pairs in found.items()
                if candidate == name and share in (None, own)
                for pair in pairs
            ]
            a, p = (np.concatenate([pair[at] for pair in each]) for at in (0, 1))
            rows.append(row(name, share, a, p))
    command = "OMP_NUM_THREADS=1 python benchmarks/auto_calibration.py"
    save("auto-calibration", command, rows)


if __name__ == "__main__":
    main()
