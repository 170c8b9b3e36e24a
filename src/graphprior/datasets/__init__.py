"""The graph families of the paper, one file each.

Grids, dual Barabasi-Albert and ERGM graphs are generated; ego-nets are read
from the folder that the environment variable GRAPHPRIOR_DATA names.
"""

from graphprior.datasets.barabasi_albert import dual_barabasi_albert
from graphprior.datasets.egonets import egonets
from graphprior.datasets.ergm import ergm_graphs
from graphprior.datasets.files import data_folder
from graphprior.datasets.grids import grids
from graphprior.datasets.registry import families, generate

__all__ = [
    "data_folder",
    "dual_barabasi_albert",
    "egonets",
    "ergm_graphs",
    "families",
    "generate",
    "grids",
]
