"""Frozen patch-grid latents: a random patch encoder that never learns, and dynamics over grids of patches."""

from dataclasses import dataclass

import torch
from torch import nn

from dualwm.loss.lore import Rollout
from dualwm.model.dynamics import chained
from dualwm.nets.images import PatchStem
from dualwm.nets.transformer import Transformer, TransformerSize
from dualwm.registry import nested, part
from dualwm.states import State
from toys_systems import shared
from toys_systems.shared import BLOCK, HEIGHT, WIDTH, OneLevel

PATCH = 8
PATCHES = (HEIGHT // PATCH) ** 2


class PatchModel(nn.Module):
    """State.tokens holds one vector per patch; the vector of the frame is their mean."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = PatchStem(WIDTH, PATCH)
        self.dynamics = ConcatPatch()

    def learned(self) -> list[nn.Module]:
        return [self.dynamics]

    def encode(self, frames, proprio) -> State:
        tokens = self.patches(frames["front"]).flatten(2).transpose(1, 2)
        return State(tokens.mean(1), tokens=tokens)


class ConcatPatch(nn.Module):
    """Each patch of up to two frames carries its frame's action; the last frame's patches become the next grid."""

    history, span = 2, 1

    def __init__(self) -> None:
        super().__init__()
        self.act = nn.Linear(BLOCK, WIDTH)
        size = TransformerSize(depth=1, heads=2, head_width=8, hidden=16)
        self.core = Transformer(2 * WIDTH, size, positions=2 * PATCHES, causal=False, conditioned=False)
        self.out = nn.Linear(2 * WIDTH, WIDTH)

    def rollout(self, context: State, actions: torch.Tensor) -> State:
        return chained(self.step, context, actions, history=self.history, span=self.span)

    def step(self, context: State, actions: torch.Tensor) -> State:
        assert context.tokens is not None
        b, t, p, d = context.tokens.shape
        acts = self.act(actions)[:, :, None].expand(b, t, p, d)
        mixed = self.core(torch.cat([context.tokens, acts], -1).flatten(1, 2))
        tokens = context.tokens[:, -1:] + self.out(mixed[:, None, -p:])
        return State(tokens.mean(2), tokens=tokens)


@part("method", "toy_patch_grid")
@dataclass(frozen=True, kw_only=True)
class PatchGrid(OneLevel):
    """Teacher-forced one-step prediction, as such systems train; the targets are frozen anyway."""

    rollout: Rollout = nested(Rollout, Rollout(steps=3, mode="teacher_forced", profile="uniform"))

    def build(self) -> PatchModel:
        return PatchModel()


METHOD = PatchGrid()
PLANNER = {**shared.PLANNER, "history": 2}
