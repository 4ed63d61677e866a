"""The plain way to score plans, written from the weights alone: the yardstick of W2 and of the tests of equal scores.

Full-horizon rollouts, the whole context recomputed at every step, one task at a time, and nothing left out because it
cannot matter. It is plain, not slow: every predictor call is a batch of all candidates through large matrix products.
Weights come by the names they have in a System folder (`low.P_L.core.blocks.0.attention.qkv.weight`, ...).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

Scores = Callable[[Tensor], Tensor]
"""Candidates (s, h, a) of one task -> costs (s,)."""


@dataclass(frozen=True)
class Part:
    """The weights below one name, and the number of attention heads where there is a transformer below it."""

    weights: Mapping[str, Tensor]
    name: str
    heads: int = 1

    def __getitem__(self, name: str) -> Tensor:
        return self.weights[f"{self.name}.{name}"]

    def __contains__(self, name: str) -> bool:
        return f"{self.name}.{name}" in self.weights

    def below(self, name: str) -> "Part":
        """A part of this part."""
        return Part(self.weights, f"{self.name}.{name}", self.heads)


def _linear(part: Part, x: Tensor) -> Tensor:
    return F.linear(x, part["weight"], part.weights.get(f"{part.name}.bias"))


def _norm(part: Part, x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], part["weight"], part["bias"])


def _bare_norm(x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], eps=1e-6)


def _attention(part: Part, x: Tensor, causal: bool) -> Tensor:
    q, k, v = _linear(part.below("qkv"), _norm(part.below("norm"), x)).chunk(3, -1)
    q, k, v = (y.unflatten(-1, (part.heads, -1)).transpose(1, 2) for y in (q, k, v))
    mixed = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
    return _linear(part.below("out"), mixed.transpose(1, 2).flatten(2))


def _mlp(part: Part, x: Tensor) -> Tensor:
    return _linear(part.below("down"), F.gelu(_linear(part.below("up"), _norm(part.below("norm"), x))))


def _block(part: Part, x: Tensor, condition: Tensor | None, causal: bool) -> Tensor:
    attention, mlp = part.below("attention"), part.below("mlp")
    if condition is None:
        x = x + _attention(attention, _bare_norm(x), causal)
        return x + _mlp(mlp, _bare_norm(x))
    shift, scale, gate, shift2, scale2, gate2 = _linear(part.below("modulation"), F.silu(condition)).chunk(6, -1)
    x = x + gate * _attention(attention, _bare_norm(x) * (1 + scale) + shift, causal)
    return x + gate2 * _mlp(mlp, _bare_norm(x) * (1 + scale2) + shift2)


def transformer(part: Part, x: Tensor, condition: Tensor | None, causal: bool) -> Tensor:
    """Positions, blocks, final norm: (b, t, d) -> (b, t, d)."""
    x = x + part["positions"][: x.shape[1]]
    number = 0
    while f"blocks.{number}.mlp.up.weight" in part:
        x = _block(part.below(f"blocks.{number}"), x, condition, causal)
        number += 1
    return _norm(part.below("norm"), x)


def predict(part: Part, states: Tensor, conditions: Tensor) -> Tensor:
    """One call of a predictor, Eq. (2): the state after the last of t states, (b, d)."""
    out = transformer(part.below("core"), states, conditions, causal=True)
    if "head.up.weight" not in part:
        return out[:, -1]
    head = part.below("head")
    hidden, norm = _linear(head.below("up"), out), head.below("norm")
    hidden = (hidden - norm["running_mean"]) / (norm["running_var"] + 1e-5).sqrt() * norm["weight"] + norm["bias"]
    return _linear(head.below("down"), F.gelu(hidden))[:, -1]


def roll(part: Part, start: Tensor, conditions: Tensor, history: int) -> Tensor:
    """Eq. (4): from one state (b, d) along h conditions (b, h, d), the context recomputed at every step; (b, h, d)."""
    states = [start]
    for step in range(conditions.shape[1]):
        first = max(0, step + 1 - history)
        states.append(predict(part, torch.stack(states[first:], 1), conditions[:, first : step + 1]))
    return torch.stack(states[1:], 1)


@dataclass(frozen=True)
class Plain:
    """A Dual-WM as a bag of weights, for one task at a time."""

    weights: Mapping[str, Tensor]
    low_heads: int
    high_heads: int
    window_heads: int
    history: int
    window: int

    def roll_low(self, z: Tensor, blocks: Tensor) -> Tensor:
        """P_L from one observed state (d,) along candidates (s, h, a)."""
        embed = Part(self.weights, "low.embed_action")
        c = _linear(embed.below("down"), F.silu(_linear(embed.below("up"), _linear(embed.below("mix"), blocks))))
        start = z.expand(len(blocks), -1)
        return roll(Part(self.weights, "low.P_L", self.low_heads), start, c, self.history)

    def roll_high(self, z_H: Tensor, macros: Tensor) -> Tensor:
        """P_H from one high state (e,) along candidates (s, m, u)."""
        c = _linear(Part(self.weights, "high.E_A.lift"), macros)
        return roll(Part(self.weights, "high.P_H", self.high_heads), z_H.expand(len(macros), -1), c, 1)

    def lift(self, windows: Tensor) -> Tensor:
        """E_H of windows (b, k, d)."""
        part = Part(self.weights, "high.E_H", self.window_heads)
        last = transformer(part.below("core"), windows, None, causal=False)[:, -1]
        return _linear(part.below("out"), _norm(part.below("norm"), last))

    def converge(self, z: Tensor, goal: Tensor) -> Scores:
        """Eq. (10), terminal."""
        return lambda blocks: (self.roll_low(z, blocks)[:, -1] - goal).square().sum(-1)

    def refine(self, z: Tensor, subgoal: Tensor) -> Scores:
        """Eq. (9) right after the subgoal was set (p = 0). The whole horizon is rolled out, k steps of it compared."""
        return lambda blocks: (self.lift(self.roll_low(z, blocks)[:, : self.window]) - subgoal).square().sum(-1)

    def route(self, z_H: Tensor, goal_H: Tensor) -> Scores:
        """Eq. (8), terminal."""
        return lambda macros: (self.roll_high(z_H, macros)[:, -1] - goal_H).square().sum(-1)


def search(
    scores: Scores, mean: Tensor, std: Tensor, noise: Callable[[int], Tensor], iterations: int, elites: int
) -> Tensor:
    """CEM for one task: (h, a). `noise(i)` gives the standard normals (s, h, a) of iteration i."""
    for iteration in range(iterations):
        eps = noise(iteration)
        eps[0] = 0
        candidates = mean + std * eps
        best = candidates[scores(candidates).argsort(stable=True)[:elites]]
        mean, std = best.mean(0), best.std(0)
    return mean
