"""Figure 1 of the paper: from observations to an estimate."""

from graphprior.paper.experiments.figures.egonets_50 import EXPERIMENT as EGONETS
from graphprior.paper.experiments.illustration import Illustration

EXPERIMENT = Illustration(
    name="illustration",
    title="From observations to an estimate",
    spec=EGONETS.spec,
    graph=0,
    x=0.85,
)
