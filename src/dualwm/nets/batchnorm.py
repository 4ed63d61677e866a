"""BatchNorm over the rows of the GLOBAL batch, with statistics that can be re-estimated before a model is frozen."""

from collections.abc import Generator
from contextlib import contextmanager

import torch
from torch import nn

from dualwm.reduce import ALONE, Reduce
from dualwm.shapes import Float, Tensor


class BatchNorm(nn.Module):
    """Normalise each feature over rows. Statistics pass through `reduce`, so processes share one batch."""

    running_mean: Tensor
    running_var: Tensor

    def __init__(self, width: int, momentum: float = 0.1, eps: float = 1e-5) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))
        self.register_buffer("running_mean", torch.zeros(width))
        self.register_buffer("running_var", torch.ones(width))
        self.momentum, self.eps = momentum, eps
        self.reduce: Reduce = ALONE
        self.accumulated = 0.0
        """Rows seen while re-estimating; 0 outside `reestimating`."""
        self.accumulating = False

    def forward(self, x: Float[Tensor, "rows width"]) -> Float[Tensor, "rows width"]:
        """Batch statistics in training and while re-estimating, running statistics otherwise."""
        if not self.training and not self.accumulating:
            scale = self.weight * torch.rsqrt(self.running_var + self.eps)
            return x * scale + (self.bias - self.running_mean * scale)
        wide = x.float()
        rows = wide.shape[0] * self.reduce.world
        mean = self.reduce.sum(wide.sum(0)) / rows
        centred = wide - mean
        var = self.reduce.sum(centred.square().sum(0)) / rows
        self._remember(mean.detach(), var.detach(), rows)
        return (centred * torch.rsqrt(var + self.eps) * self.weight + self.bias).to(x.dtype)

    @torch.no_grad()
    def _remember(self, mean: Tensor, var: Tensor, rows: int) -> None:
        unbiased = var * (rows / max(rows - 1, 1))
        if self.accumulating:
            self.accumulated += rows
            weight = rows / self.accumulated
        else:
            weight = self.momentum
        self.running_mean.lerp_(mean, weight)
        self.running_var.lerp_(unbiased, weight)


def batchnorms(module: nn.Module) -> list[BatchNorm]:
    """Every BatchNorm inside a module."""
    return [m for m in module.modules() if isinstance(m, BatchNorm)]


def share_statistics(module: nn.Module, reduce: Reduce) -> None:
    """Let every BatchNorm of `module` take its statistics over the processes of `reduce`."""
    for norm in batchnorms(module):
        norm.reduce = reduce


@contextmanager
def reestimating(module: nn.Module) -> Generator[None]:
    """Within this context forward passes replace the running statistics by plain averages over the rows seen.

    The exponential average trails a moving encoder; a frozen model deserves statistics of its final weights.
    """
    norms = batchnorms(module)
    for norm in norms:
        norm.accumulating, norm.accumulated = True, 0.0
    try:
        with torch.no_grad():
            yield
    finally:
        for norm in norms:
            norm.accumulating = False
