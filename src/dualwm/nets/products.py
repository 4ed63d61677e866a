"""Products with weights that no longer change, arranged once for the machine they are used on.

On x86 processors oneDNN multiplies float32 as exactly as the library behind `torch.mm` and, where that one does not
know the processor's widest instructions, more than twice as fast; it also applies the activation while the result is
still in the cache. PyTorch reaches it in float32 only through the operator that its own compiler emits.
"""

import platform
from typing import Literal

import torch
from torch.nn import functional as F

from dualwm.shapes import Float, Tensor

Activation = Literal["none", "gelu", "silu"]

_SMALL = 4096
"""Numbers in a weight below which the call costs more than it saves."""

_ONEDNN_NAMES = {"none": "none", "gelu": "gelu", "silu": "swish"}


def onednn_multiplies(dtype: torch.dtype, device: torch.device) -> bool:
    """Whether products of this kind go through oneDNN: decided by what is there, never by a measurement."""
    if device.type != "cpu" or platform.machine().lower() not in ("x86_64", "amd64"):
        return False
    if not torch.backends.mkldnn.is_available() or not hasattr(torch.ops.mkldnn, "_linear_pointwise"):
        return False
    if dtype == torch.bfloat16:
        return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
    return dtype == torch.float32


class Product:
    """x -> activation(x W^T + b) for a copy of W and b, which may come in a wider type."""

    def __init__(
        self,
        weight: Float[Tensor, "o i"],
        bias: Float[Tensor, " o"] | None,
        activation: Activation = "none",
        *,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        self._activation = activation
        self._weight = weight.detach().to(device, dtype, copy=True).contiguous()
        self._bias = None if bias is None else bias.detach().to(device, dtype, copy=True).contiguous()
        self._packed: Tensor | None = None
        if self._weight.numel() >= _SMALL and onednn_multiplies(dtype, device):
            self._packed = torch.ops.mkldnn._reorder_linear_weight(self._weight)

    def __call__(self, x: Float[Tensor, "*rows i"]) -> Float[Tensor, "*rows o"]:
        """The product, row by row."""
        if self._packed is not None:
            name = _ONEDNN_NAMES[self._activation]
            return torch.ops.mkldnn._linear_pointwise(x, self._packed, self._bias, name, [], "none")
        y = F.linear(x, self._weight, self._bias)
        if self._activation == "gelu":
            return F.gelu(y)
        return F.silu(y) if self._activation == "silu" else y
