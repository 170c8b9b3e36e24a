"""The graph families of the paper, one file each.

Grids, dual Barabasi-Albert and ERGM graphs are generated; ego-nets are read
from the folder that the environment variable GRAPHPRIOR_DATA names.
"""

from graphprior.paper.datasets.barabasi_albert import dual_barabasi_albert
from graphprior.paper.datasets.egonets import egonets
from graphprior.paper.datasets.ergm import ergm_graphs
from graphprior.paper.datasets.files import data_folder
from graphprior.paper.datasets.grids import grids
from graphprior.paper.datasets.registry import families, generate

__all__ = [
    "data_folder",
    "dual_barabasi_albert",
    "egonets",
    "ergm_graphs",
    "families",
    "generate",
    "grids",
]
