"""Grids with a fifth of the pairs unknown."""

from dataclasses import replace

from graphprior.experiments.figures.grids_10 import EXPERIMENT as GRIDS_10
from graphprior.experiments.run import Comparison
from graphprior.experiments.spec import Unknown

EXPERIMENT = Comparison(
    replace(
        GRIDS_10.spec,
        name="grids-20",
        title="Grids, 20% unknown",
        unknown=Unknown(share=0.2),
    )
)
