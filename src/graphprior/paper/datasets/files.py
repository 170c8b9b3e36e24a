"""Where data that are not generated lie."""

from __future__ import annotations

import os
from pathlib import Path

from graphprior.errors import GraphPriorError


def data_folder() -> Path:
    """The folder of real graphs and observations, from GRAPHPRIOR_DATA."""
    folder = os.environ.get("GRAPHPRIOR_DATA", "")
    if not folder or not Path(folder).is_dir():
        raise GraphPriorError(
            f"GRAPHPRIOR_DATA is {folder!r}: set it to the folder of data sets "
            "(it has egonets/train.npz and egonets/test.npz)"
        )
    return Path(folder)
