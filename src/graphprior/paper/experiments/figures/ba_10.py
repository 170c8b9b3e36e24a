"""Dual Barabasi-Albert graphs with a tenth of the pairs unknown, a fifth of those edges."""

from graphprior.paper.experiments.run import Comparison
from graphprior.paper.experiments.spec import ALGORITHM_1, FAST, RATIOS, Spec, Unknown

EXPERIMENT = Comparison(
    Spec(
        name="ba-10",
        title="Dual Barabasi-Albert, 10% unknown",
        dataset="barabasi-albert",
        unknown=Unknown(share=0.1, ones=0.2),
        xs=RATIOS,
        x_name="k/|U|",
        k_per="unknown pair",
        methods=(*FAST, *ALGORITHM_1),
        priors={"evidence": "barabasi-albert", "edp-gnn": "barabasi-albert-edp-gnn"},
        budgets=ALGORITHM_1,
    )
)
