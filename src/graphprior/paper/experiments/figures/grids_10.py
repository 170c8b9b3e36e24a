"""Grids with a tenth of the pairs unknown."""

from graphprior.paper.experiments.run import Comparison
from graphprior.paper.experiments.spec import ALGORITHM_1, FAST, RATIOS, Spec, Unknown

EXPERIMENT = Comparison(
    Spec(
        name="grids-10",
        title="Grids, 10% unknown",
        dataset="grids",
        unknown=Unknown(share=0.1),
        xs=RATIOS,
        x_name="k/|U|",
        k_per="unknown pair",
        methods=(*FAST, *ALGORITHM_1),
        priors={"evidence": "grids", "edp-gnn": "grids-edp-gnn"},
        budgets=ALGORITHM_1,
    )
)
