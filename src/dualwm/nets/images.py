"""Image backbones: a vision transformer (the paper's) and strided convolutions (the laptop's)."""

from itertools import pairwise

import torch
from torch import nn
from torch.nn import functional as F

from dualwm.shapes import Float, Tensor, UInt8

_IMAGENET_MEAN = (0.485, 0.456, 0.406)
_IMAGENET_STD = (0.229, 0.224, 0.225)
_CENTRE = 128.0


class PatchStem(nn.Conv2d):
    """Non-overlapping patches of uint8 frames, normalised by ImageNet's mean and deviation, to channels.

    The normalisation is folded into the convolution, which is the same arithmetic with one pass less over the pixels.
    Bytes are centred first, because a half-precision product of large raw values would round away small differences.
    """

    scale: Tensor
    shift: Tensor

    def __init__(self, width: int, patch: int) -> None:
        super().__init__(3, width, patch, patch)
        mean, std = torch.tensor(_IMAGENET_MEAN) * 255, torch.tensor(_IMAGENET_STD) * 255
        self.register_buffer("scale", (1 / std)[:, None, None], persistent=False)
        self.register_buffer("shift", ((_CENTRE - mean) / std)[:, None, None], persistent=False)

    def forward(self, input: UInt8[Tensor, "b y x 3"]) -> Float[Tensor, "b d v u"]:
        """One vector per patch of the frames, in ImageNet's scale (Appendix D)."""
        assert self.bias is not None
        dtype = self.weight.dtype
        if torch.is_autocast_enabled(input.device.type):
            dtype = torch.get_autocast_dtype(input.device.type)
        centred = input.to(dtype).sub_(_CENTRE).permute(0, 3, 1, 2)
        bias = self.bias + (self.weight * self.shift).sum((1, 2, 3))
        return F.conv2d(centred, self.weight * self.scale, bias, self.stride)


class ViT(nn.Module):
    """Pre-norm vision transformer with a class token; returns the normalised class token."""

    def __init__(self, size: tuple[int, int], patch: int, width: int, depth: int, heads: int) -> None:
        super().__init__()
        patches = (size[0] // patch) * (size[1] // patch)
        self.patchify = PatchStem(width, patch)
        self.cls = nn.Parameter(torch.zeros(1, 1, width))
        self.positions = nn.Parameter(torch.zeros(1, patches + 1, width))
        self.blocks = nn.ModuleList(_ViTBlock(width, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.width = width
        self.apply(_truncated_normal)
        nn.init.trunc_normal_(self.cls, std=0.02)
        nn.init.trunc_normal_(self.positions, std=0.02)

    def forward(self, x: UInt8[Tensor, "b y x 3"]) -> Float[Tensor, "b d"]:
        """One vector of features per frame."""
        tokens = self.patchify(x).flatten(2).transpose(1, 2)
        tokens = torch.cat([self.cls.expand(len(x), -1, -1), tokens], 1) + self.positions
        for block in self.blocks:
            tokens = block(tokens)
        return self.norm(tokens)[:, 0]


class _ViTBlock(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width, eps=1e-12), nn.LayerNorm(width, eps=1e-12)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Float[Tensor, "b p d"]) -> Float[Tensor, "b p d"]:
        q, k, v = (y.unflatten(-1, (self.heads, -1)).transpose(1, 2) for y in self.qkv(self.norm1(x)).chunk(3, -1))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


def _truncated_normal(module: nn.Module) -> None:
    if isinstance(module, (nn.Linear, nn.Conv2d)):
        nn.init.trunc_normal_(module.weight, std=0.02)
        if module.bias is not None:
            nn.init.zeros_(module.bias)


class ConvNet(nn.Module):
    """A patchify stem, then 3x3 stride-2 convolutions with GELU; returns the flattened last map.

    Overlapping windows after the stem keep sub-patch positions; no normalisation layers, which cost more than they
    give at this depth on a CPU.
    """

    def __init__(self, size: tuple[int, int], patch: int, channels: tuple[int, ...]) -> None:
        super().__init__()
        self.stem = PatchStem(channels[0], patch)
        self.convolutions = nn.ModuleList(nn.Conv2d(i, o, 3, 2, 1) for i, o in pairwise(channels))
        grid = [side // patch for side in size]
        for _ in self.convolutions:
            grid = [-(-side // 2) for side in grid]
        self.width = channels[-1] * grid[0] * grid[1]

    def forward(self, frames: UInt8[Tensor, "b y x 3"]) -> Float[Tensor, "b d"]:
        """One vector of features per frame."""
        x = self.stem(frames)
        for convolution in self.convolutions:
            x = convolution(F.gelu(x))
        return F.gelu(x).flatten(1)
