"""One transformer for every sequence in the package: causal or not, conditioned (AdaLN-zero) or not.

Each sub-layer is normalised twice: a parameter-free LayerNorm that the condition may modulate, then an affine one of
its own. The second keeps only channel-dependent modulation; it stays because published weights need it.
"""

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F

from dualwm.nets.dropout import Dropout
from dualwm.shapes import Float, Tensor


@dataclass(frozen=True, kw_only=True)
class TransformerSize:
    """Sizes of a transformer."""

    depth: int
    """Blocks."""
    heads: int
    """Attention heads."""
    head_width: int = 64
    """Width of one head; the heads together need not equal the model width."""
    hidden: int
    """Hidden width of each block's MLP."""
    dropout: float = 0.0
    """Share of units dropped in training, in attention weights, attention output and MLP."""


_FEW = 8
"""Tokens up to which plain products are three times faster on a CPU than the fused kernel, which tiles for many."""

PLAIN_EPS = 1e-6
"""Epsilon of the norms without weights."""


class Attention(nn.Module):
    """Multi-head self-attention with its own affine LayerNorm and a bias-free fused projection."""

    def __init__(self, width: int, size: TransformerSize, causal: bool) -> None:
        super().__init__()
        inner = size.heads * size.head_width
        self.heads, self.inner, self.causal = size.heads, inner, causal
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * inner, bias=False)
        self.out = nn.Linear(inner, width)
        self.drop_weights = Dropout(size.dropout)
        self.drop = Dropout(size.dropout)

    def forward(self, x: Float[Tensor, "b t d"]) -> Float[Tensor, "b t d"]:
        """What each token gathers from those it may see."""
        x = self.norm(x)
        if x.shape[1] == 1 and not self.drop_weights.active:
            # A softmax over one key is 1, so a single token attends to exactly its own value.
            value = F.linear(x, self.qkv.weight[2 * self.inner :])
            return self.drop(self.out(value))
        q, k, v = (y.unflatten(-1, (self.heads, -1)).transpose(1, 2) for y in self.qkv(x).split(self.inner, dim=-1))
        if self.drop_weights.active or q.shape[-2] <= _FEW:
            mixed = self._in_small_products(q, k, v)
        else:
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.drop(self.out(mixed.transpose(1, 2).flatten(2)))

    def _in_small_products(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
        if self.causal:
            future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
            scores = scores.masked_fill(future, -torch.inf)
        return self.drop_weights(scores.softmax(-1)) @ v


class FeedForward(nn.Module):
    """LayerNorm, Linear, GELU, Linear."""

    def __init__(self, width: int, size: TransformerSize) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, size.hidden)
        self.down = nn.Linear(size.hidden, width)
        self.drop = Dropout(size.dropout)

    def forward(self, x: Float[Tensor, "b t d"]) -> Float[Tensor, "b t d"]:
        """Token by token."""
        return self.drop(self.down(self.drop(F.gelu(self.up(self.norm(x))))))


class Block(nn.Module):
    """A residual block. With a condition, six vectors modulate and gate it; at initialisation it is the identity."""

    def __init__(self, width: int, size: TransformerSize, causal: bool, conditioned: bool) -> None:
        super().__init__()
        self.attention = Attention(width, size, causal)
        self.mlp = FeedForward(width, size)
        self.modulation = nn.Linear(width, 6 * width) if conditioned else None
        if self.modulation is not None:
            nn.init.zeros_(self.modulation.weight)
            nn.init.zeros_(self.modulation.bias)

    def forward(
        self, x: Float[Tensor, "b t d"], condition: Float[Tensor, "b t d"] | None = None
    ) -> Float[Tensor, "b t d"]:
        """One residual step, modulated per token where there is a condition."""
        if self.modulation is None:
            x = x + self.attention(_plain_norm(x))
            return x + self.mlp(_plain_norm(x))
        assert condition is not None, "a conditioned block needs a condition"
        shift_a, scale_a, gate_a, shift_m, scale_m, gate_m = self.modulation(F.silu(condition)).chunk(6, -1)
        x = x + gate_a * self.attention(_plain_norm(x) * (1 + scale_a) + shift_a)
        return x + gate_m * self.mlp(_plain_norm(x) * (1 + scale_m) + shift_m)


def _plain_norm(x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], eps=PLAIN_EPS)


class Transformer(nn.Module):
    """Learned positions, blocks, a final LayerNorm. `positions` is the longest sequence it accepts."""

    def __init__(self, width: int, size: TransformerSize, *, positions: int, causal: bool, conditioned: bool) -> None:
        super().__init__()
        self.positions = nn.Parameter(torch.randn(positions, width))
        self.blocks = nn.ModuleList(Block(width, size, causal, conditioned) for _ in range(size.depth))
        self.norm = nn.LayerNorm(width)

    def forward(
        self, x: Float[Tensor, "b t d"], condition: Float[Tensor, "b t d"] | None = None
    ) -> Float[Tensor, "b t d"]:
        """Tokens in, tokens out; `condition` has one row per token."""
        assert x.shape[1] <= len(self.positions), f"{x.shape[1]} tokens, at most {len(self.positions)} positions"
        x = x + self.positions[: x.shape[1]]
        for block in self.blocks:
            x = block(x, condition)
        return self.norm(x)
