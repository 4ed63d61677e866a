"""E_L: frames -> low latent, Eq. (1). The backbone is a part; the projector with BatchNorm is shared by all."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import nn

from dualwm.errors import RecipeError
from dualwm.nets.heads import Projector
from dualwm.nets.images import ConvNet, ViT
from dualwm.registry import part
from dualwm.shapes import Float, Tensor, UInt8


class EncoderConfig(Protocol):
    """What every encoder configuration offers."""

    @property
    def cameras(self) -> tuple[tuple[str, int, int], ...]:
        """(name, height, width) of every camera the model sees."""
        ...

    def backbone(self, height: int, width: int) -> nn.Module:
        """One camera's network; its `width` is the width of its features."""
        ...

    @property
    def projector_hidden(self) -> int:
        """Hidden width of the projector."""
        ...

    @property
    def proprio(self) -> tuple[tuple[str, int], ...]:
        """(column, width) of the proprioceptive columns the model sees."""
        ...


@dataclass(frozen=True, kw_only=True)
class _Inputs:
    cameras: tuple[tuple[str, int, int], ...]
    """(name, height, width) in pixels of every camera the model sees."""
    proprio: tuple[tuple[str, int], ...] = ()
    """(column, width) of the proprioceptive columns appended to the image features. State columns never enter."""
    projector_hidden: int = 2048
    """Hidden width of the projector."""


@part("encoder", "vit")
@dataclass(frozen=True, kw_only=True)
class ViTEncoder(_Inputs):
    """The paper's encoder: ViT-Tiny with 14-pixel patches."""

    patch: int = 14
    """Patch side in pixels; it must divide every camera's height and width."""
    width: int = 192
    """Token width."""
    depth: int = 12
    """Blocks."""
    heads: int = 3
    """Attention heads."""

    def backbone(self, height: int, width: int) -> ViT:
        """One camera's network."""
        _divides(self.patch, height, width)
        return ViT((height, width), self.patch, self.width, self.depth, self.heads)


@part("encoder", "conv")
@dataclass(frozen=True, kw_only=True)
class ConvEncoder(_Inputs):
    """The laptop's encoder: a patchify stem and a few strided convolutions."""

    patch: int = 4
    """Stem patch side in pixels; it must divide every camera's height and width."""
    channels: tuple[int, ...] = (32, 64, 128, 128)
    """Channels of the stem and of each 3x3 stride-2 convolution."""

    def backbone(self, height: int, width: int) -> ConvNet:
        """One camera's network."""
        _divides(self.patch, height, width)
        return ConvNet((height, width), self.patch, self.channels)


def _divides(patch: int, height: int, width: int) -> None:
    if height % patch or width % patch:
        raise RecipeError(
            f"Frames of {height} x {width} pixels cannot be cut into patches of {patch}: both sides must be multiples. "
            f"Change encoder.patch or the camera's size in the recipe."
        )


class Encoder(nn.Module):
    """E_L of Eq. (1): one backbone per camera, features joined with proprio, then the projector."""

    def __init__(self, config: EncoderConfig, latent_width: int) -> None:
        super().__init__()
        self.cameras = tuple(name for name, _, _ in config.cameras)
        self.proprio = tuple(name for name, _ in config.proprio)
        self.backbones = nn.ModuleDict({name: config.backbone(y, x) for name, y, x in config.cameras})
        features = sum(int(self.backbones[name].width) for name in self.cameras)  # pyright: ignore[reportArgumentType]
        features += sum(width for _, width in config.proprio)
        self.projector = Projector(features, config.projector_hidden, latent_width)

    def forward(
        self,
        frames: Mapping[str, UInt8[Tensor, "b y x 3"]],
        proprio: Mapping[str, Float[Tensor, "b q"]] | None = None,
    ) -> Float[Tensor, "b d"]:
        """z^L = E_L(o), Eq. (1)."""
        dtype = self.projector.up.weight.dtype
        features = [self.backbones[name](frames[name]) for name in self.cameras]
        features += [(proprio or {})[name].to(dtype) for name in self.proprio]
        return self.projector(torch.cat(features, -1))
