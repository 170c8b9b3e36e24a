"""What the ERGM of the paper looks like when drawn as the authors draw it.

python benchmarks/ergm_degrees.py     writes results/ergm-degrees/ (under a minute)
"""

import json
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from record import commit

from graphprior.graphs.matrices import vech
from graphprior.graphs.statistics import degree_histogram
from graphprior.paper.datasets import ergm_graphs
from graphprior.paper.experiments.folder import save_figure

OUT = Path(__file__).parent.parent / "results" / "ergm-degrees"


def main(count: int = 200, seed: int = 0) -> None:
    rows = []
    for toggles in (2_000, 10_000, 50_000, 200_000):
        graphs = ergm_graphs(count, np.random.default_rng(seed), toggles=toggles)
        degrees = np.concatenate([A.sum(0) for A in graphs])
        rows.append(
            {
                "toggles": toggles,
                "density": float(np.mean([vech(A).mean() for A in graphs])),
                "even_degrees": float((degrees % 2 == 0).mean()),
                "degree_histogram": degree_histogram(graphs)[:16],
            }
        )
        print({key: value for key, value in rows[-1].items() if key != "degree_histogram"})
    OUT.mkdir(parents=True, exist_ok=True)
    facts = {"command": "python benchmarks/ergm_degrees.py", "commit": commit(), "seed": seed}
    facts |= {"graphs": count, "n": 50, "beta": [0.7, -2.0], "gamma": 0.3, "rows": rows}
    (OUT / "degrees.json").write_text(json.dumps(facts, indent=1) + "\n")
    figure = Figure(figsize=(7, 3.2), layout="constrained")
    ax = figure.subplots()
    for r, row in enumerate(rows):
        x = np.arange(len(row["degree_histogram"])) + 0.2 * r - 0.3
        ax.bar(x, row["degree_histogram"], 0.2, label=f"{row['toggles']:,} toggles")
    ax.set_xlabel("degree")
    ax.set_ylabel("share of nodes")
    ax.legend(fontsize=8)
    save_figure(OUT / "degrees.png", figure)


if __name__ == "__main__":
    main()
