"""Prefix-parallel dynamics: one call predicts every horizon, each from the prefix of actions that leads to it."""

from dataclasses import dataclass

import torch
from torch import nn

from dualwm.loss.lore import Rollout
from dualwm.model.dynamics import chained
from dualwm.nets.transformer import Transformer, TransformerSize
from dualwm.registry import nested, part
from dualwm.states import State
from toys_systems import shared
from toys_systems.shared import BLOCK, FRONT, WIDTH, OneLevel, mlp, small_encoder

SPAN = 3


class PrefixModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = small_encoder(FRONT)
        self.dynamics = PrefixStar()

    def learned(self) -> list[nn.Module]:
        return [self]

    def encode(self, frames, proprio) -> State:
        return State(self.encoder(frames, proprio))


class PrefixStar(nn.Module):
    """A causal encoder of [state, actions] gives one token per prefix; a head that sees no other horizon reads it."""

    history, span = 1, SPAN

    def __init__(self) -> None:
        super().__init__()
        self.state, self.act = nn.Linear(WIDTH, WIDTH), nn.Linear(BLOCK, WIDTH)
        size = TransformerSize(depth=1, heads=2, head_width=8, hidden=16)
        self.prefixes = Transformer(WIDTH, size, positions=1 + SPAN, causal=True, conditioned=False)
        self.head = mlp(3 * WIDTH, WIDTH)

    def rollout(self, context: State, actions: torch.Tensor) -> State:
        return chained(self.jump, context, actions, history=self.history, span=self.span)

    def jump(self, context: State, actions: torch.Tensor) -> State:
        z = context.latent
        p = self.prefixes(torch.cat([self.state(z), self.act(actions)], 1))[:, 1:]
        z = z.expand_as(p)
        return State(z + self.head(torch.cat([z, p, z * p], -1)))


@part("method", "toy_prefix_parallel")
@dataclass(frozen=True, kw_only=True)
class PrefixParallel(OneLevel):
    """Every horizon supervised directly and alike. Plans are longer than one call, so that calls are chained."""

    rollout: Rollout = nested(Rollout, Rollout(steps=SPAN, mode="direct", profile="uniform"))

    def build(self) -> PrefixModel:
        return PrefixModel()


METHOD = PrefixParallel()
PLANNER = shared.PLANNER
