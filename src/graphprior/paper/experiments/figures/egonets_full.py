"""Ego-nets of which nothing is known: with the bootstrap, and ours without it."""

from graphprior.paper.experiments.run import Comparison
from graphprior.paper.experiments.spec import Budget, Spec, Unknown

BOOTSTRAPPED = ("LPost(p_m=0.3)", "LPost(p_m=0.45)")
SIMPLE = ("GL", "BGL", "TIGER", "Threshold", "GLassoCV")

EXPERIMENT = Comparison(
    Spec(
        name="egonets-full",
        title="Ego-nets, all unknown",
        dataset="egonets",
        unknown=Unknown(share=1.0),
        xs=(1.8, 3.2, 5.6, 10.0),
        x_name="k/n",
        k_per="node",
        methods=("direct", "gibbs", *SIMPLE, "LPost", *BOOTSTRAPPED),
        priors={"evidence": "egonets", "edp-gnn": "egonets-edp-gnn"},
        budgets={method: Budget(100, (1.8, 10.0)) for method in ("LPost", *BOOTSTRAPPED)},
    )
)
