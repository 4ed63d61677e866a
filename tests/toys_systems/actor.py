"""An actor: a network that names the block leading from here to there proposes the mean of every search."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import nn

from dualwm.plan.controller import ThreeStage
from dualwm.plan.proposals import Gaussian, Proposal
from dualwm.plan.situation import Situation
from dualwm.plan.tiles import Tiled
from dualwm.registry import part
from dualwm.states import State
from dualwm.zoo.planning import frozen_copy, three_stage
from toys_systems import shared
from toys_systems.shared import BLOCK, FRAME_SKIP, FRONT, WIDTH, OneLevel, RolloutStage, mlp, small_encoder
from toys_systems.shared_latent import Residual


class ActorModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = small_encoder(FRONT)
        self.dynamics = Residual(BLOCK)
        self.actor = mlp(3 * WIDTH, BLOCK)

    def learned(self) -> list[nn.Module]:
        return [self]

    def encode(self, frames, proprio) -> State:
        return State(self.encoder(frames, proprio))

    def towards(self, z: torch.Tensor, way: torch.Tensor) -> torch.Tensor:
        """The block that goes this way from here."""
        return self.actor(torch.cat([z, way, z * way], -1))

    def plan(self, z: State, goal: State, steps: int) -> torch.Tensor:
        """The actor's own blocks along the model's own prediction, (b, steps, a)."""
        blocks: list[torch.Tensor] = []
        for _ in range(steps):
            blocks.append(self.towards(z.latent, goal.latent - z.latent))
            z = self.dynamics.rollout(z[:, None], blocks[-1][:, None])[:, 0]
        return torch.stack(blocks, 1)


class ActorStage(RolloutStage):
    """Prediction, and the actor on the next step (gradient at both ends) and on the window's end (none at the goal)."""

    weights: Mapping[str, float] = {"lore": 1.0, "next": 0.1, "goal": 0.05}

    def terms(self, model, batch, step) -> dict[str, torch.Tensor]:
        z, a = self.encoded(model, batch).latent, batch["actions"][:, :-1]
        following, end = model.towards(z[:, :-1], z.diff(dim=1)), z[:, -1:].detach()
        leading = model.towards(z[:, :-1], end - z[:, :-1])
        terms = {"next": (following - a).square().mean(), "goal": (leading - a).square().mean()}
        return super().terms(model, batch, step) | terms


@part("method", "toy_actor")
@dataclass(frozen=True, kw_only=True)
class Actor(OneLevel):
    def build(self) -> ActorModel:
        return ActorModel()

    def stages(self, inputs) -> list[ActorStage]:
        return [ActorStage(self, inputs)]

    def controller(self, model, settings, acting) -> ThreeStage:
        frozen = frozen_copy(model, acting, settings.precision)
        plan = Tiled(lambda z, goal: frozen.plan(z, goal, settings.low_plan_steps), settings.tile_rows)

        def propose(situation: Situation) -> Proposal:
            assert isinstance(situation.usual, Gaussian)
            return replace(situation.usual, mean=plan(situation.context[:, -1], situation.goal))

        callables = self.callables(frozen, acting.normalizer)
        return three_stage(callables, settings, acting, frame_skip=FRAME_SKIP, propose=propose)


METHOD = Actor()
PLANNER = shared.PLANNER
