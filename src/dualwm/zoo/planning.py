"""Dual-WM's callables for the planner: encode, roll, lift, each in tiles of fixed size and one precision."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

from dualwm.data.normalize import Normalizer
from dualwm.model.dual import DualWM
from dualwm.plan.proposals import Box
from dualwm.plan.tiles import Tiled
from dualwm.records import Goal, Observation
from dualwm.shapes import Tensor
from dualwm.states import State

_FRAME_TILE = 8
"""Frames per encoder call: decisions bring one frame per task, and a lone task should not pay for hundreds."""


class DualWMForPlanning:
    """`plan.controller.Model` over a trained DualWM. The model is copied, so training may go on with the original."""

    def __init__(self, model: DualWM, *, tile_rows: int, precision: str, device: torch.device) -> None:
        config = model.config
        self.window, self.low_history = config.window, config.low.history
        self.macro_width: int = config.high.macro_encoder.macro_width
        self.device, self.dtype = device, getattr(torch, precision)
        self._model = copy.deepcopy(model).eval().requires_grad_(False).to(device, self.dtype)
        self._frames = Tiled(self._encode_rows, _FRAME_TILE)
        self._lift = Tiled(lambda w: State(self._model.lift(w.latent)), tile_rows)
        self._low = Tiled(lambda z, a: State(self._model.low.rollout(z.latent, a)), tile_rows)
        self._high = Tiled(lambda z, u: State(self._model.high.rollout(z.latent, u)), tile_rows)

    def _encode_rows(self, *frames: Tensor) -> State:
        names = self._model.low.E_L.cameras
        return State(self._model.encode(dict(zip(names, frames, strict=True))))

    @torch.inference_mode()
    def encode_frames(self, frames: Mapping[str, NDArray[np.uint8]]) -> State:
        """E_L of a batch of frames by camera."""
        names = self._model.low.E_L.cameras
        return _float(self._frames(*(torch.from_numpy(frames[name]).to(self.device) for name in names)))

    def encode(self, observation: Observation) -> State:
        """E_L of the current frames."""
        return self.encode_frames(observation.frames)

    def encode_goal(self, goal: Goal) -> State:
        """E_L of the goal image, or the goal's latent as it is given."""
        if goal.latent is not None:
            return State(torch.from_numpy(goal.latent).to(self.device))
        assert goal.frames is not None, "this system reaches goals given as images or latents"
        return self.encode_frames(goal.frames)

    @torch.inference_mode()
    def lift(self, window: State) -> State:
        """E_H."""
        return _float(self._lift(self._cast(window)))

    @torch.inference_mode()
    def roll_low(self, context: State, actions: Tensor) -> State:
        """P_L."""
        return _float(self._low(self._cast(context), actions.to(self.dtype)))

    @torch.inference_mode()
    def roll_high(self, z_H: State, macros: Tensor) -> State:
        """P_H."""
        return _float(self._high(self._cast(z_H), macros.to(self.dtype)))

    def _cast(self, state: State) -> State:
        return state.map(lambda x: x.to(self.dtype))


def _float(state: State) -> State:
    return state.map(lambda x: x.float())


@dataclass(frozen=True)
class BlockActions:
    """Between environment actions and normalised blocks of `frame_skip` actions."""

    frame_skip: int
    action_dim: int
    low: float
    high: float
    normalizer: Normalizer
    column: str = "action"
    discrete_values: int | None = None
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    def to_model(self, executed: NDArray[np.float32]) -> Tensor:
        """(b, f, action_dim) -> (b, f * width)."""
        rows = torch.from_numpy(executed).to(self.device)
        if self.discrete_values is not None:
            index = rows[..., 0].nan_to_num(nan=0.0).long()
            return torch.nn.functional.one_hot(index, self.discrete_values).float().flatten(1)
        return self.normalizer.normalize_blocks(self.column, rows.flatten(1))

    def to_env(self, block: Tensor) -> NDArray[np.float32]:
        """(b, f * width) -> (b, f, action_dim), inside the action box."""
        rows = block.detach().unflatten(1, (self.frame_skip, -1))
        if self.discrete_values is not None:
            return rows.argmax(-1, keepdim=True).float().cpu().numpy()
        env = self.normalizer.denormalize(self.column, rows)
        return env.clamp(self.low, self.high).float().cpu().numpy()

    def box(self) -> Box:
        """Bounds of one normalised block."""
        width = self.discrete_values or self.action_dim
        ends = [torch.full((1, width), value, device=self.device) for value in (self.low, self.high)]
        low, high = (self.normalizer.normalize(self.column, end).repeat(1, self.frame_skip)[0] for end in ends)
        return Box(low, high)
