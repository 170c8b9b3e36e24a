"""ERGM graphs: what a prior is worth that learned from 250 to 1000 of them."""

from graphprior.paper.baselines.langevin import TRAINING_SETS
from graphprior.paper.experiments.run import Comparison
from graphprior.paper.experiments.spec import Budget, Spec, Unknown

PAPERS = tuple(f"LPost(|A|={count})" for count in TRAINING_SETS)
RELAXED = tuple(f"LPost(relaxed; |A|={count})" for count in TRAINING_SETS)

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
            *PAPERS, *RELAXED,
        ),
        priors={
            "evidence": "ergm",
            **{f"evidence {count}": f"ergm-{count}" for count in TRAINING_SETS},
            **{f"edp-gnn {count}": f"ergm-{count}-edp-gnn" for count in TRAINING_SETS},
        },
        budgets={
            **dict.fromkeys(PAPERS, Budget(58, (100, 1300))),
            **dict.fromkeys(RELAXED, Budget(20, (100, 1300))),
        },
    )
)  # fmt: skip
