"""Type aliases for arrays and for functions that are passed as arguments."""

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
Pairs = tuple[Index, ...]  # row indices and column indices of some pairs
Graphs = npt.NDArray[np.uint8]  # M adjacency matrices, shape (M, n, n)
Progress = Callable[[int, int], None]  # called with (steps done, steps in total)


class Score(Protocol):
    """Gradient of a log-density at noisy graphs ``A_tilde`` (M, n, n) with noise ``sigma``."""

    def __call__(self, A_tilde: Tensor, sigma: float) -> Tensor:
        """Return the derivative for each pair: symmetric, with the shape of ``A_tilde``."""
        ...
