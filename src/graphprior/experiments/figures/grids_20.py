"""Grids with a fifth of the pairs unknown."""

from graphprior.experiments.run import Comparison
from graphprior.experiments.spec import BUDGETS, FAST, RATIOS, Budget, Spec, Unknown

EXPERIMENT = Comparison(
    Spec(
        name="grids-20",
        title="Grids, 20% unknown",
        dataset="grids",
        unknown=Unknown(share=0.2),
        xs=RATIOS,
        x_name="k/|U|",
        k_per="unknown pair",
        methods=(*FAST, "LPost", "LPr"),
        priors={"evidence": "grids", "edp-gnn": "grids-edp-gnn"},
        budgets={
            **BUDGETS,
            "LPost": Budget(4, (0.35, 2.0)),
            "LPr": Budget(4),
        },
    )
)
