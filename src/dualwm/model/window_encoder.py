"""E_H: a window of k low latents -> high latent, Eq. (1), and the ways to cut windows and macro segments."""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import nn

from dualwm.errors import RecipeError
from dualwm.nets.transformer import Transformer, TransformerSize
from dualwm.registry import nested, part
from dualwm.shapes import Float, Tensor


class WindowEncoderConfig(Protocol):
    """What every E_H configuration offers."""

    def build(self, low_width: int, high_width: int, window: int) -> nn.Module:
        """The module: (b, k, low_width) -> (b, high_width)."""
        ...


@part("window_encoder", "transformer")
@dataclass(frozen=True, kw_only=True)
class TransformerWindow:
    """The paper's E_H: a bidirectional transformer read out at its last token."""

    size: TransformerSize = nested(TransformerSize, TransformerSize(depth=4, heads=8, hidden=768))
    """Sizes of the transformer."""
    positions: int = 64
    """Rows of the position table; only the first `window` are used."""

    def build(self, low_width: int, high_width: int, window: int) -> nn.Module:
        """The module: E_H of Eq. (1)."""
        del window
        return WindowEncoder(self, low_width, high_width)


class WindowEncoder(nn.Module):
    """Eq. (1): z^H = E_H(W), no residual path from low to high."""

    def __init__(self, config: TransformerWindow, low_width: int, high_width: int) -> None:
        super().__init__()
        self.core = Transformer(low_width, config.size, positions=config.positions, causal=False, conditioned=False)
        self.norm = nn.LayerNorm(low_width)
        self.out = nn.Linear(low_width, high_width)

    def forward(self, window: Float[Tensor, "b k d"]) -> Float[Tensor, "b e"]:
        """Eq. (1): the high latent lives at the window's last frame."""
        return self.out(self.norm(self.core(window)[:, -1]))


@part("window_encoder", "identity")
@dataclass(frozen=True, kw_only=True)
class IdentityWindow:
    """One space for both scales: a window's high state is its last low state. Nothing is learned."""

    def build(self, low_width: int, high_width: int, window: int) -> nn.Module:
        """The module."""
        del window
        if low_width != high_width:
            raise RecipeError(
                f"The window encoder 'identity' shares one space between the levels, so their widths must be equal; "
                f"got {low_width} and {high_width}. Change high.width or choose another window encoder."
            )
        return _IdentityWindow()


class _IdentityWindow(nn.Module):
    def forward(self, window: Float[Tensor, "b k d"]) -> Float[Tensor, "b d"]:
        return window[:, -1]


def windows(z: Float[Tensor, "b t d"], k: int) -> Float[Tensor, "b m k d"]:
    """Cut T = k * m low latents into disjoint windows W_t of k, Eq. (1); each ends where its high state lives."""
    return z.reshape(z.shape[0], -1, k, z.shape[-1])


def segments(a: Float[Tensor, "b t a"], k: int, count: int) -> Float[Tensor, "b m k a"]:
    """Macro segments A_t: the k blocks that lead from one window's last frame to the next window's last frame.

    With windows at [0, k), [k, 2k), ... segment i (from 1) is blocks i*k - 1 .. i*k + k - 2: for k = 3 first 2, 3, 4,
    then 5, 6, 7. So (z^H_{i-1}, u_i) -> z^H_i is causal, Eq. (2).
    """
    return a[:, k - 1 : k - 1 + count * k].reshape(a.shape[0], count, k, a.shape[-1])


def repeated_window(z: Float[Tensor, "*b d"], k: int) -> Float[Tensor, "*b k d"]:
    """The window of a single frame: its latent repeated k times (section 3.2)."""
    return z.unsqueeze(-2).expand(*z.shape[:-1], k, z.shape[-1])


def padded_window(z: Float[Tensor, "b t d"], k: int) -> Float[Tensor, "b k d"]:
    """The last k observed latents, padded on the left with the oldest."""
    if z.shape[1] >= k:
        return z[:, -k:]
    return torch.cat([z[:, :1].expand(-1, k - z.shape[1], -1), z], 1)
