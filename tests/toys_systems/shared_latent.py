"""One latent for both scales: deterministic macro-actions stand for one to four blocks, all distances are L1."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from dualwm.loss.lore import Rollout
from dualwm.model.dynamics import chained
from dualwm.plan.controller import ThreeStage
from dualwm.plan.situation import Propose, usual
from dualwm.registry import nested, part
from dualwm.states import State
from dualwm.train.stage import StageSettings, Watch
from dualwm.zoo.planning import PlanningModel, frozen_copy, three_stage
from dualwm.zoo.rollouts import roll_out, state_errors, state_lore
from toys_systems import shared
from toys_systems.shared import BLOCK, FRAME_SKIP, FRONT, ONE_STEP, WIDTH, OneLevel, RolloutStage, mlp, small_encoder

LONGEST = 4
"""Blocks between two waypoints, at most."""
WAYPOINTS = 2
"""Predicted ones."""
MACRO = 3
WINDOW = 2
"""Low steps a subgoal is given while planning."""


class TwoScales(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = small_encoder(FRONT)
        self.dynamics = Residual(BLOCK)
        self.macro = MacroEncoder()
        self.high = Residual(MACRO)

    def learned(self) -> list[nn.Module]:
        return [self.encoder, self.dynamics]

    def encode(self, frames, proprio) -> State:
        return State(self.encoder(frames, proprio), norm=1)


class Residual(nn.Module):
    """z' = z + F(z, a), at either scale."""

    history, span = 1, 1

    def __init__(self, action_width: int) -> None:
        super().__init__()
        self.change = mlp(WIDTH + action_width, WIDTH)

    def rollout(self, context: State, actions: torch.Tensor) -> State:
        return chained(self.step, context, actions, history=self.history, span=self.span)

    def step(self, context: State, actions: torch.Tensor) -> State:
        z = context.latent
        return replace(context, latent=z + self.change(torch.cat([z, actions], -1)))


class MacroEncoder(nn.Module):
    """The mean of the blocks there are, each told its place: a segment of any length becomes one macro-action."""

    def __init__(self) -> None:
        super().__init__()
        self.places = nn.Parameter(torch.randn(LONGEST, WIDTH))
        self.block, self.out = nn.Linear(BLOCK, WIDTH), mlp(WIDTH, MACRO)

    def forward(self, blocks: torch.Tensor, there: torch.Tensor) -> torch.Tensor:
        tokens = torch.tanh(self.block(blocks) + self.places) * there[..., None]
        return self.out(tokens.sum(-2) / there.sum(-1, keepdim=True))


def gaps_between(uniform: torch.Tensor) -> torch.Tensor:
    """Blocks from each waypoint to the next, 1 to LONGEST, from uniform numbers of the same shape."""
    return 1 + (uniform * LONGEST).long()


def cut(z: State, a: torch.Tensor, gaps: torch.Tensor) -> tuple[State, torch.Tensor, torch.Tensor]:
    """Waypoints (b, m + 1), the blocks from each to the next (b, m, LONGEST, a), and which of those are there."""
    at = torch.cat([torch.zeros_like(gaps[:, :1]), gaps.cumsum(1)], 1)
    rows, steps = torch.arange(len(a), device=a.device)[:, None], torch.arange(LONGEST, device=a.device)
    blocks = a[rows[:, :, None], (at[:, :-1, None] + steps).clamp_max(a.shape[1] - 1)]
    return z[rows, at], blocks, steps < gaps[..., None]


class WaypointStage(RolloutStage):
    """Teacher-forced prediction of waypoints at random distances, on latents of the frozen low level."""

    name = "high"

    def __init__(self, method, inputs) -> None:
        super().__init__(method, inputs)
        self.settings, self.rollout = method.high_stage, method.high_rollout

    def trained(self, model) -> list[nn.Module]:
        return [model.macro, model.high]

    def terms(self, model, batch, step) -> dict[str, torch.Tensor]:
        return {"lore": state_lore(*self.rolled(model, batch, step), self.rollout)}

    def watch(self, model, batch, step) -> Watch:
        predicted, target = self.rolled(model, batch, step)
        return Watch(
            rollout_error={"high": state_errors(predicted, target, self.rollout.norm)},
            latents={"high": target.latent.flatten(0, 1)},
        )

    def rolled(self, model, batch, step) -> tuple[State, State]:
        waypoints, macros = self.waypoints(model, batch, step)
        return roll_out(model.high, waypoints, macros, WAYPOINTS, self.rollout.mode)

    def waypoints(self, model, batch, step) -> tuple[State, torch.Tensor]:
        z, a = self.encoded(model, batch).map(torch.detach), batch["actions"]
        gaps = gaps_between(step.sample_uniform((WAYPOINTS,), "gaps")).to(a.device)
        waypoints, blocks, there = cut(z, a, gaps)
        return waypoints, model.macro(blocks, there)


@part("method", "toy_shared_latent")
@dataclass(frozen=True, kw_only=True)
class SharedLatent(OneLevel):
    """Low level first, then waypoints on top of it. A route's states are low states: a subgoal is met as it is."""

    rollout: Rollout = nested(Rollout, Rollout(steps=2, norm=1))
    high_rollout: Rollout = nested(Rollout, Rollout(steps=WAYPOINTS, mode="teacher_forced", profile="uniform", norm=1))
    high_stage: StageSettings = nested(StageSettings, ONE_STEP)

    def build(self) -> TwoScales:
        return TwoScales()

    def low_steps(self) -> int:
        return WAYPOINTS * LONGEST + 1

    def geometry(self):
        return [(stage, FRAME_SKIP, self.low_steps()) for stage in ("low", "high")]

    def stages(self, inputs) -> list[RolloutStage]:
        return [RolloutStage(self, inputs), WaypointStage(self, inputs)]

    def callables(self, model, normalizer) -> PlanningModel:
        one_level = super().callables(model, normalizer)
        return replace(one_level, high=lambda z, u: model.high.rollout(z[:, None], u), window=WINDOW, macro_width=MACRO)

    def controller(self, model, settings, acting) -> ThreeStage:
        frozen = frozen_copy(model, acting, settings.precision)
        callables, propose = self.callables(frozen, acting.normalizer), self.proposing(frozen)
        return three_stage(callables, settings, acting, frame_skip=FRAME_SKIP, propose=propose)

    def proposing(self, frozen: Any) -> Propose:
        return usual

    def describe(self, model, observation, normalizer) -> Mapping[str, State]:
        z = super().describe(model, observation, normalizer)["low"]
        return {"low": z, "high": z}


METHOD = SharedLatent()
PLANNER = {**shared.PLANNER, "guided_decisions": 3}
