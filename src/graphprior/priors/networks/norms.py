"""LayerNorm over channels that come first, most of it done in the maps around it.

A pass over all pairs is dear and one over the weights is not. Channels that are
read only through LayerNorm lose their mean there: maps that never give them
one save taking it away. Gain and shift go into the maps that read them.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


def centred(linear: nn.Linear) -> tuple[Tensor, Tensor]:
    """Weights (D, C) and bias (D, 1) of the map with its mean output taken away."""
    W, b = linear.weight, linear.bias
    return W - W.mean(0), (b - b.mean())[:, None]


class Standardised(torch.autograd.Function):
    """Channels (C, N) of mean zero over the root of their mean square."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, eps: float) -> Tensor:
        """Divide."""
        inverse_size = h.square().mean(0).add_(eps).rsqrt_()
        x = h * inverse_size
        ctx.save_for_backward(x, inverse_size)
        return x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        """Its slope, in half of the passes that torch's own makes."""
        x, inverse_size = ctx.saved_tensors
        return torch.addcmul(grad, x, (grad * x).mean(0), value=-1).mul_(inverse_size), None


def map_standardised(linear: nn.Linear, norm: nn.LayerNorm, x: Tensor) -> Tensor:
    """``linear`` of what ``norm`` gives, (D, N), of channels that are already standardised."""
    bias = torch.addmv(linear.bias, linear.weight, norm.bias)
    return torch.addmm(bias[:, None], linear.weight * norm.weight, x)
