"""Graphs drawn from the paper's kind of prior beside its training set and the authors' samples.

graphprior sample --prior egonets-edp-gnn --count 200 --out drawn
GRAPHPRIOR_DATA=... python benchmarks/prior_check.py drawn

Writes results/egonets-prior/. The authors' samples are what their trained network drew
(egonets/reference_prior_samples.npz in the data folder).
"""

import json
import sys
from pathlib import Path

from record import COMMIT

from graphprior.graphs.statistics import graph_statistics, histogram_distance
from graphprior.io.graph_sets import read_npz
from graphprior.paper.datasets import data_folder, egonets
from graphprior.paper.experiments.folder import save_figure
from graphprior.plots import plot_degree_histograms

OUT = Path(__file__).parent.parent / "results" / "egonets-prior"


def main(drawn: Path) -> None:
    sets = {
        "training set": graph_statistics(egonets("train")),
        "drawn": graph_statistics(read_npz(drawn / "graphs.npz")),
        "authors' samples": graph_statistics(
            read_npz(data_folder() / "egonets" / "reference_prior_samples.npz")
        ),
    }
    real = sets["training set"]["degree_histogram"]
    for name, facts in sets.items():
        facts["degree_histogram_distance"] = histogram_distance(facts["degree_histogram"], real)
        print(name, {k: round(v, 3) for k, v in facts.items() if k != "degree_histogram"})
    OUT.mkdir(parents=True, exist_ok=True)
    run = json.loads((drawn / "statistics.json").read_text())
    facts = {"commands": __doc__.splitlines()[2:4], "commit": COMMIT}
    facts |= {key: run[key] for key in ("seed", "count", "schedule", "versions", "machine")}
    (OUT / "statistics.json").write_text(json.dumps({**facts, "sets": sets}, indent=1) + "\n")
    save_figure(OUT / "degrees.png", plot_degree_histograms(sets).figure)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
