"""Names for arrays and for functions that are handed around."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from torch import Tensor

Matrix = npt.NDArray[np.float64]
Vector = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Index = npt.NDArray[np.intp]
Pairs = tuple[Index, ...]  # rows and columns of some pairs
Graphs = npt.NDArray[np.uint8]  # (M, n, n)
Progress = Callable[[int, int], None]  # how much is done, of how much


class Score(Protocol):
    """Slope of a log-density at noisy graphs ``A_tilde`` (M, n, n), at level ``sigma``."""

    def __call__(self, A_tilde: Tensor, sigma: float) -> Tensor:
        """The slope along each pair: symmetric, the shape of ``A_tilde``."""
        ...
