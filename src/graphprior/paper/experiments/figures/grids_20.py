"""Grids with a fifth of the pairs unknown."""

from dataclasses import replace

from graphprior.paper.experiments.figures.grids_10 import EXPERIMENT as GRIDS_10
from graphprior.paper.experiments.run import Comparison
from graphprior.paper.experiments.spec import Unknown

EXPERIMENT = Comparison(
    replace(
        GRIDS_10.spec,
        name="grids-20",
        title="Grids, 20% unknown",
        unknown=Unknown(share=0.2),
    )
)
