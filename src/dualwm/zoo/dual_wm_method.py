"""The method "dual_wm": its configuration, and how its parts become stages and a controller."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import nn

from dualwm.data.normalize import Normalizer
from dualwm.evaluate.needs import Controller
from dualwm.model.dual import DualWM, ModelConfig
from dualwm.model.prepared import prepared
from dualwm.model.window_encoder import repeated_window
from dualwm.plan.settings import PlannerSettings
from dualwm.records import Observation
from dualwm.registry import nested, part
from dualwm.states import State
from dualwm.train.stage import Stage, StageSettings
from dualwm.zoo.dual_wm import HighObjective, HighStage, JointStage, Kind, LowObjective, LowStage, low_steps_needed
from dualwm.zoo.method import Acting, Sees, TrainingInputs
from dualwm.zoo.planning import PlanningModel, frozen_copy, planner_settings, three_stage


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

    @property
    def sees(self) -> Sees:
        """The encoder's cameras and columns."""
        return self.model.low.encoder

    @property
    def action_dim(self) -> int:
        """Width of one environment action."""
        return self.model.action_dim

    def build(self) -> DualWM:
        """The model at random weights."""
        return DualWM(self.model)

    def geometry(self) -> list[tuple[str, int, int]]:
        """(stage, frame_skip, low steps) of the windows each stage reads, for `data check`."""
        kinds: tuple[Kind, ...] = ("low", "high") if self.schedule == "two_stage" else ("joint",)
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
        """Planner variants by name, in any world; a recipe adds its own, such as the paper's search."""
        return {"full": {}, "low-only": {"guided_decisions": 0}}

    def settings(self, plain: Mapping[str, Any], where: str) -> PlannerSettings:
        """Planner settings from plain data."""
        return planner_settings(plain, where)

    def controller(self, model: nn.Module, settings: PlannerSettings, acting: Acting) -> Controller:
        """The three-stage controller over the model."""
        assert isinstance(model, DualWM)
        frozen = frozen_copy(model, acting, settings.precision)
        fast = prepared(model, getattr(torch, settings.precision), acting.device)
        callables = PlanningModel(
            sees=self.sees,
            normalizer=acting.normalizer,
            encoder=lambda frames, proprio: State(frozen.encode(frames, proprio)),
            low=lambda z, a: State(fast.low(z.latent, a)),
            high=lambda z, u: State(fast.high(z.latent, u)),
            lifter=lambda window: State(fast.lift(window.latent)),
            window=self.model.window,
            low_history=self.model.low.history,
            macro_width=self.model.high.macro_encoder.macro_width,
        )
        return three_stage(callables, settings, acting, frame_skip=self.model.frame_skip)

    @torch.inference_mode()
    def describe(self, model: nn.Module, observation: Observation, normalizer: Normalizer) -> Mapping[str, State]:
        """Low latents of what is seen, and high latents of each of them repeated to a window."""
        assert isinstance(model, DualWM)
        device = next(model.parameters()).device
        low: list[torch.Tensor] = []
        for begin in range(0, observation.tasks, _CHUNK):
            rows = slice(begin, begin + _CHUNK)
            frames = {name: torch.from_numpy(x[rows]).to(device) for name, x in observation.frames.items()}
            proprio = {
                name: torch.from_numpy(normalizer.normalize(name, observation.proprio[name][rows])).to(device)
                for name in model.low.E_L.proprio
            }
            low.append(model.encode(frames, proprio))
        z_L = torch.cat(low)
        return {"low": State(z_L), "high": State(model.lift(repeated_window(z_L, self.model.window)))}


_CHUNK = 1024
"""Frames described at a time: bounds memory."""
