"""Make the demo's data: a person, three circles of friends, and noisy measurements.

python scripts/make_demo_data.py    writes src/graphprior/demo/*.csv
"""

from pathlib import Path

import numpy as np
import pandas as pd

from graphprior.gaussian.simulate import simulate_observations, simulate_precision
from graphprior.graphs.matrices import hide, pairs, unvech

FOLDER = Path(__file__).parent.parent / "src" / "graphprior" / "demo"
CIRCLES = {
    "family": ["Bo", "Cleo", "Dev", "Ena", "Finn"],
    "work": ["Gus", "Hana", "Ivo", "June", "Kai", "Lea"],
    "choir": ["Mia", "Noor", "Otto", "Pia", "Quinn", "Rui"],
}
EGO = "Ada"


def ego_net(rng: np.random.Generator) -> tuple[list[str], np.ndarray]:
    """Ada knows everyone; within a circle six in ten know each other, across one in thirty."""
    names = [EGO] + [name for circle in CIRCLES.values() for name in circle]
    circle_of = [-1] + [c for c, circle in enumerate(CIRCLES.values()) for _ in circle]
    rows, cols = pairs(len(names))
    z = np.array(circle_of)
    p = np.where(z[rows] == -1, 1.0, np.where(z[rows] == z[cols], 0.6, 1 / 30))
    return names, unvech((rng.random(len(rows)) < p).astype(float))


def write_edges(path: Path, names: list[str], A: np.ndarray) -> None:
    rows, cols = pairs(len(names))
    said = ~np.isnan(A[rows, cols])
    table = pd.DataFrame(
        {
            "source": [names[i] for i in rows[said]],
            "target": [names[j] for j in cols[said]],
            "present": A[rows[said], cols[said]].astype(int),
        }
    )
    table.to_csv(path, index=False)


def main(seed: int = 1, k: int = 100) -> None:
    rng = np.random.default_rng(seed)
    names, A = ego_net(rng)
    X = simulate_observations(simulate_precision(A, rng, tries=1000), k, rng)
    FOLDER.mkdir(exist_ok=True)
    pd.DataFrame(X, columns=names).round(4).to_csv(FOLDER / "observations.csv", index=False)
    write_edges(FOLDER / "known.csv", names, hide(A, rng, share=0.5))
    write_edges(FOLDER / "truth.csv", names, A)


if __name__ == "__main__":
    main()
