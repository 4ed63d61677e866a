"""Proprio in state and cost: two cameras and the body's coordinates, all of them encoded, predicted and compared."""

from dataclasses import dataclass

import torch
from torch import nn

from dualwm.model.dynamics import chained
from dualwm.registry import part
from dualwm.states import State
from toys_systems import shared
from toys_systems.shared import BLOCK, FRONT, SIDE, WIDTH, OneLevel, mlp, small_encoder

COORDINATES = ("proprio", 2)
SHARE = 0.5
"""Weight of proprio in every distance."""


class BodyModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = small_encoder(FRONT, SIDE)
        self.dynamics = BodyDynamics()

    def learned(self) -> list[nn.Module]:
        return [self]

    def encode(self, frames, proprio) -> State:
        dtype = next(self.parameters()).dtype
        return State(self.encoder(frames), proprio=proprio["proprio"].to(dtype), proprio_weight=SHARE)


class BodyDynamics(nn.Module):
    """One residual step of latent and coordinates together."""

    history, span = 1, 1

    def __init__(self) -> None:
        super().__init__()
        self.change = mlp(WIDTH + 2 + BLOCK, WIDTH + 2)

    def rollout(self, context: State, actions: torch.Tensor) -> State:
        return chained(self.step, context, actions, history=self.history, span=self.span)

    def step(self, context: State, actions: torch.Tensor) -> State:
        assert context.proprio is not None
        whole = torch.cat([context.latent, context.proprio], -1)
        z, q = (whole + self.change(torch.cat([whole, actions], -1))).split([WIDTH, 2], -1)
        return State(z, proprio=q, proprio_weight=SHARE)


@part("method", "toy_proprio")
@dataclass(frozen=True, kw_only=True)
class Body(OneLevel):
    cameras: tuple[tuple[str, int, int], ...] = (FRONT, SIDE)
    proprio: tuple[tuple[str, int], ...] = (COORDINATES,)

    def build(self) -> BodyModel:
        return BodyModel()


METHOD = Body()
PLANNER = shared.PLANNER
