"""Dropout whose mask is a function of (seed, step, sample, layer, call), never of the process that draws it.

A run split over several processes must drop the same units as a run on one. A counter-based integer hash of the
sample's global id gives exactly that, on any device, without a generator per sample.
"""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import nn

from dualwm.shapes import Float, Int, Tensor


@dataclass
class DropoutKey:
    """What the masks of one training step depend on. `calls` counts uses, so a layer in a rollout never repeats."""

    seed: int
    step: int
    sample_ids: Int[Tensor, " b"]
    calls: int = 0


class Dropout(nn.Module):
    """Inverted dropout. In training with `p > 0` it needs a key: see `keyed`."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p
        self.key: DropoutKey | None = None

    @property
    def active(self) -> bool:
        """Whether a forward pass would drop anything now."""
        return self.training and self.p > 0

    def forward(self, x: Float[Tensor, "rows *rest"]) -> Float[Tensor, "rows *rest"]:
        """Kept units are scaled by 1 / (1 - p). Rows belong to samples in order, equally many each."""
        if not self.active:
            return x
        assert self.key is not None, "dropout in training needs `keyed(model, key)` around the forward pass"
        self.key.calls += 1
        keep = _uniform(self.key, x) >= self.p
        return x * keep / (1 - self.p)


@contextmanager
def keyed(model: nn.Module, key: DropoutKey) -> Generator[None]:
    """Give every dropout layer of `model` this step's key for the duration of a forward pass."""
    layers = [module for module in model.modules() if isinstance(module, Dropout)]
    for layer in layers:
        layer.key = key
    try:
        yield
    finally:
        for layer in layers:
            layer.key = None


@contextmanager
def of_samples(module: nn.Module, rows: Int[Tensor, " r"]) -> Generator[None]:
    """Within `keyed`: what passes through `module` belongs to these samples of the batch only."""
    layers = [layer for layer in module.modules() if isinstance(layer, Dropout) and layer.key is not None]
    keys = {id(layer.key): layer.key for layer in layers if layer.key is not None}
    whole = {name: key.sample_ids for name, key in keys.items()}
    for key in keys.values():
        key.sample_ids = key.sample_ids[rows.to(key.sample_ids.device)]
    try:
        yield
    finally:
        for name, key in keys.items():
            key.sample_ids = whole[name]


def _uniform(key: DropoutKey, x: Tensor) -> Tensor:
    """Uniform numbers in [0, 1) shaped like x; row r belongs to sample r // rows_per_sample."""
    ids = key.sample_ids.to(x.device)
    rows_per_sample = x.shape[0] // max(1, ids.shape[0])
    width = x.shape[1:].numel() * rows_per_sample
    element = torch.arange(width, device=x.device)
    word = ((key.seed * 1_000_003 + key.step) * 65_537 + key.calls) % (1 << 63)
    base = _mix(ids + _mix(torch.tensor(word, device=x.device)))
    mixed = _mix(base[:, None] + element[None, :] * 0x9E3779B1)
    return ((mixed >> 11) & 0xFFFFFF).reshape(x.shape).to(torch.float32) / float(1 << 24)


def _mix(v: Tensor) -> Tensor:
    """A 64-bit finaliser: wrapping multiplications and xor-shifts, identical on every device."""
    v = (v ^ (v >> 30)) * -4658895280553007687
    v = (v ^ (v >> 27)) * -7723592293110705685
    return v ^ (v >> 31)
