"""ERGM graphs: what a prior is worth that learned from 250 to 1000 of them."""

from graphprior.baselines.langevin import TRAINING_SETS
from graphprior.experiments.run import Comparison
from graphprior.experiments.spec import Budget, Spec, Unknown

EXPERIMENT = Comparison(
    Spec(
        name="ergm",
        title="ERGM graphs, 30 pairs unknown, half of them edges",
        dataset="ergm",
        unknown=Unknown(count=30, ones=0.5),
        xs=(25, 100, 350, 1300),
        x_name="k",
        k_per="x",
        metric="accuracy",
        methods=(
            "direct", "gibbs", "WGL", "GL", "Threshold", "TIGER", "GraphSAGE",
            *(f"direct(|A|={count})" for count in TRAINING_SETS),
            *(f"LPost(|A|={count})" for count in TRAINING_SETS),
        ),
        priors={
            "evidence": "ergm",
            **{f"evidence {count}": f"ergm-{count}" for count in TRAINING_SETS},
            **{f"edp-gnn {count}": f"ergm-{count}-edp-gnn" for count in TRAINING_SETS},
        },
        budgets={f"LPost(|A|={count})": Budget(12, (100, 1300)) for count in TRAINING_SETS},
    )
)  # fmt: skip
