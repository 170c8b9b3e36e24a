"""Ego-nets with half of the pairs unknown."""

from graphprior.paper.experiments.run import Comparison
from graphprior.paper.experiments.spec import (
    ALGORITHM_1,
    FAST,
    RATIOS,
    SOME_RATIOS,
    Budget,
    Spec,
    Unknown,
)

EXPERIMENT = Comparison(
    Spec(
        name="egonets-50",
        title="Ego-nets, 50% unknown",
        dataset="egonets",
        unknown=Unknown(share=0.5),
        xs=RATIOS,
        x_name="k/|U|",
        k_per="unknown pair",
        methods=(*FAST, *ALGORITHM_1, "langevin", "BDgraph"),
        priors={"evidence": "egonets", "edp-gnn": "egonets-edp-gnn"},
        budgets={
            **ALGORITHM_1,
            "LPr(relaxed)": Budget(100),
            "langevin": Budget(100, SOME_RATIOS),
            "BDgraph": Budget(8, SOME_RATIOS),
        },
    )
)
