"""The method "dual_wm": its configuration, and how its parts become stages and a controller."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from dualwm.errors import RecipeError
from dualwm.evaluate.needs import Controller
from dualwm.model.dual import DualWM, ModelConfig
from dualwm.model.window_encoder import repeated_window
from dualwm.plan.controller import ThreeStage
from dualwm.plan.settings import PlannerSettings
from dualwm.registry import dataclass_from_plain, nested, part
from dualwm.states import State
from dualwm.train.stage import Stage, StageSettings
from dualwm.zoo.dual_wm import HighObjective, HighStage, JointStage, LowObjective, LowStage, low_steps_needed
from dualwm.zoo.method import Acting, TrainingInputs
from dualwm.zoo.planning import BlockActions, DualWMForPlanning


@part("method", "dual_wm")
@dataclass(frozen=True, kw_only=True)
class DualWMMethod:
    """Dual-WM: sizes, objective, optimisation."""

    model: ModelConfig = nested(ModelConfig)
    """Sizes and clocks."""
    low: LowObjective = nested(LowObjective, LowObjective())
    """Low-level objective."""
    high: HighObjective = nested(HighObjective, HighObjective())
    """High-level objective."""
    low_stage: StageSettings = nested(StageSettings)
    """Optimisation of the low level; of everything in joint training."""
    high_stage: StageSettings = nested(StageSettings)
    """Optimisation of the high level."""
    schedule: Literal["two_stage", "joint"] = "two_stage"
    """two_stage trains low, then high on cached frozen latents; joint minimises Eq. (7) at once."""

    def __post_init__(self) -> None:
        if self.model.low.history > self.low.rollout.steps + self.model.low.history:
            raise RecipeError("The low-level rollout needs at least one step.")

    def build(self) -> DualWM:
        """The model at random weights."""
        return DualWM(self.model)

    def geometry(self) -> list[tuple[str, int, int]]:
        """(stage, frame_skip, low steps) of the windows each stage reads, for `data check`."""
        kinds: tuple[Literal["low", "high", "joint"], ...] = (
            ("low", "high") if self.schedule == "two_stage" else ("joint",)
        )
        return [
            (kind, self.model.frame_skip, low_steps_needed(kind, self.model, self.low, self.high)) for kind in kinds
        ]

    def stages(self, inputs: TrainingInputs) -> Sequence[Stage[Any]]:
        """Low then high, or one joint stage."""
        if self.schedule == "joint":
            return [JointStage(self.model, self.low_stage, self.low, self.high, inputs)]
        return [
            LowStage(self.model, self.low_stage, self.low, self.high, inputs),
            HighStage(self.model, self.high_stage, self.low, self.high, inputs),
        ]

    def variants(self) -> Mapping[str, Mapping[str, Any]]:
        """Planner variants by name."""
        return {"full": {}, "low-only": {"guided_decisions": 0}, "paper": PAPER_PLANNER}

    def settings(self, plain: Mapping[str, Any], where: str) -> PlannerSettings:
        """Planner settings from plain data. Search budgets may be written candidates/iterations/elites."""
        from dualwm.plan.search import Budget

        data = dict(plain)
        for name in ("low_search", "high_search"):
            if isinstance(data.get(name), str):
                budget = Budget.parse(data[name])
                data[name] = {
                    "candidates": budget.candidates,
                    "iterations": budget.iterations,
                    "elites": budget.elites,
                }
        return dataclass_from_plain(PlannerSettings, data, where)

    def controller(self, model: nn.Module, settings: PlannerSettings, acting: Acting) -> Controller:
        """The three-stage controller over the model."""
        assert isinstance(model, DualWM)
        callables = DualWMForPlanning(
            model, tile_rows=settings.tile_rows, precision=settings.precision, device=acting.device
        )
        actions = BlockActions(
            frame_skip=self.model.frame_skip,
            action_dim=acting.action_dim,
            low=acting.action_low,
            high=acting.action_high,
            normalizer=acting.normalizer,
            column=acting.action_column,
            discrete_values=acting.discrete_values,
            device=acting.device,
        )
        return ThreeStage(callables, actions, settings)

    @torch.inference_mode()
    def describe(self, model: nn.Module, frames: Mapping[str, NDArray[np.uint8]]) -> Mapping[str, State]:
        """Low latents of frames, and high latents of each frame repeated to a window."""
        assert isinstance(model, DualWM)
        device = next(model.parameters()).device
        count = len(next(iter(frames.values())))
        low: list[torch.Tensor] = []
        for begin in range(0, count, 1024):
            part_of = {name: torch.from_numpy(x[begin : begin + 1024]).to(device) for name, x in frames.items()}
            low.append(model.encode(part_of))
        z_L = torch.cat(low)
        z_H = model.lift(repeated_window(z_L, self.model.window))
        return {"low": State(z_L), "high": State(z_H)}


PAPER_PLANNER: Mapping[str, Any] = {
    "low_search": "300/30/30",
    "high_search": "100/20/10",
    "low_plan_steps": 8,
    "high_plan_steps": 6,
    "guided_decisions": 6,
    "max_routes": 4,
    "route_every_decisions": None,
    "converge_within_high_steps": 0,
    "route_cost": "terminal",
    "final_cost": "terminal",
    "history": 1,
    "low_std": 1.0,
    "high_std": 1.0,
    "correlation": 0.0,
    "bounds": "none",
    "warm_start": True,
    "warm_start_route": False,
}
"""The paper's search on TwoRoom (guidance length from the authors' release), one flag away: `SYSTEM:paper`."""
