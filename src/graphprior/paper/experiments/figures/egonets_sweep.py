"""Ego-nets: from few pairs unknown to all of them, with 100 observations."""

from graphprior.paper.experiments.run import Comparison
from graphprior.paper.experiments.spec import Budget, Spec, Unknown

SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
SOME = (0.1, 0.5, 0.9, 1.0)

EXPERIMENT = Comparison(
    Spec(
        name="egonets-sweep",
        title="Ego-nets, k = 100",
        dataset="egonets",
        unknown=Unknown(),
        xs=SHARES,
        x_name="share of pairs unknown",
        k_per="graph",
        k=100,
        metric="auc",
        methods=("direct", "gibbs", "direct(no data)", "LPost", "LPr", "LPr(one sample)", "LL"),
        priors={"evidence": "egonets", "edp-gnn": "egonets-edp-gnn"},
        budgets={
            **{m: Budget(100, SOME) for m in ("LPost", "LPr", "LL")},
            "LPr(one sample)": Budget(50, SOME),
        },
    )
)
