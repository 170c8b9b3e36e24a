"""The supplement's figure on the choice of lambda(k)."""

from graphprior.paper.experiments.figures.egonets_50 import EXPERIMENT as EGONETS
from graphprior.paper.experiments.tuning_figure import TuningFigure

EXPERIMENT = TuningFigure(
    name="lambda-tuning",
    title="Penalty of the weighted graphical lasso, ego-nets, 50% unknown",
    spec=EGONETS.spec,
    lasso="WGL",
)
