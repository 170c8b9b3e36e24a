"""Ego-nets with half of the pairs unknown."""

from graphprior.experiments.run import Comparison
from graphprior.experiments.spec import FAST, RATIOS, Budget, Spec, Unknown

EXPERIMENT = Comparison(
    Spec(
        name="egonets-50",
        title="Ego-nets, 50% unknown",
        dataset="egonets",
        unknown=Unknown(share=0.5),
        xs=RATIOS,
        x_name="k/|U|",
        k_per="unknown pair",
        methods=(
            *FAST,
            "LPost",
            "LPr",
            "LPost(eps=1e-5)",
            "LPr(eps=1e-5)",
            "langevin",
            "BDgraph",
        ),
        priors={"evidence": "egonets", "edp-gnn": "egonets-edp-gnn"},
        budgets={
            "LPost": Budget(20, (0.35, 2.0)),
            "LPr": Budget(20),
            "LPost(eps=1e-5)": Budget(20, (0.35, 2.0)),
            "LPr(eps=1e-5)": Budget(20),
            "langevin": Budget(8, (0.35,)),
            "BDgraph": Budget(8, (0.35, 2.0)),
        },
    )
)
