"""What the planner receives of a model: callables in tiles of fixed size and one precision, and the action space.

A method hands over functions of tensors and States (`PlanningModel`) and gets its three-stage controller
(`three_stage`); a one-level method leaves out the high level and plans without guidance.
"""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from dualwm.data.normalize import Normalizer
from dualwm.errors import ControllerError
from dualwm.nets.allocation import reuse_freed_memory
from dualwm.plan.controller import ThreeStage
from dualwm.plan.costs import Roll
from dualwm.plan.proposals import Box
from dualwm.plan.search import Budget
from dualwm.plan.settings import PlannerSettings
from dualwm.plan.situation import Propose, usual
from dualwm.plan.tiles import Tiled, tile_of
from dualwm.records import Goal, Observation
from dualwm.registry import dataclass_from_plain
from dualwm.shapes import Tensor
from dualwm.states import State
from dualwm.zoo.method import Acting, Sees
from dualwm.zoo.sources import Encode

_FRAME_TILE = 8
"""Frames per encoder call: decisions bring one frame per task, and a lone task should not pay for hundreds."""

N = TypeVar("N", bound=nn.Module)


def last_state(window: State) -> State:
    """The lift of a method with one state space: the window's last state."""
    return window[:, -1]


def no_route(z_H: State, macros: Tensor) -> State:
    """The high dynamics of a method that has none: nothing changes. It plans with `guided_decisions=0`."""
    return z_H.map(lambda x: x[:, None].expand(len(x), macros.shape[1], *x.shape[1:]))


@dataclass(frozen=True, kw_only=True)
class PlanningModel:
    """`plan.controller.Model` over a model's functions; rows first in all of them, State in and State out."""

    sees: Sees
    normalizer: Normalizer
    encoder: Encode
    low: Roll
    """P_L: observed states (rows, t) and t - 1 + n blocks -> n predicted states."""
    high: Roll = no_route
    """P_H: high states (rows,) and m macro-actions -> m predicted high states."""
    lifter: Callable[[State], State] = last_state
    """E_H: windows (rows, k) -> high states (rows,)."""
    window: int = 1
    low_history: int = 1
    macro_width: int = 1
    low_rows: int = 1
    """Candidates a task brings to a low search: the rows of a call of `low` or `lifter`."""
    high_rows: int = 1
    """Candidates a task brings to a high search: the rows of a call of `high`."""
    tile_rows: int = 512
    """Rows of one call at most."""
    dtype: torch.dtype = torch.float32
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    observe: Callable[[NDArray[Any]], Observation] | None = None
    """What is seen at simulator states, where there is a world to draw them."""

    @torch.inference_mode()
    def encode(self, observation: Observation) -> State:
        """E_L of what is seen now."""
        inputs = self._inputs(observation.frames, observation.proprio)
        return _float(self._encode_tiles(*inputs))

    def encode_goal(self, goal: Goal) -> State:
        """E_L of the goal's picture, given or drawn at the goal's state; or the goal's latent as it is given."""
        if goal.latent is not None:
            return State(torch.from_numpy(goal.latent).to(self.device))
        if goal.frames is not None:
            return self.encode(Observation(frames=goal.frames, proprio=goal.proprio))
        if goal.state is not None and self.observe is not None:
            return self.encode(self.observe(goal.state))
        raise ControllerError(
            "This system reaches goals given as pictures or as latents, and the goal has neither; a state alone can be "
            "reached by systems of a known world. Pass Goal(frames={camera: pictures}) of what should be reached."
        )

    @torch.inference_mode()
    def lift(self, window: State) -> State:
        """E_H."""
        return _float(self._lift_tiles(self._cast(window)))

    @torch.inference_mode()
    def roll_low(self, context: State, actions: Tensor) -> State:
        """P_L."""
        return _float(self._low_tiles(self._cast(context), actions.to(self.dtype)))

    @torch.inference_mode()
    def roll_high(self, z_H: State, macros: Tensor) -> State:
        """P_H."""
        return _float(self._high_tiles(self._cast(z_H), macros.to(self.dtype)))

    @property
    def singly(self) -> "PlanningModel":
        """The same callables where a task brings one row."""
        return self._singly

    @cached_property
    def _singly(self) -> "PlanningModel":
        return replace(self, low_rows=1, high_rows=1)

    @cached_property
    def _encode_tiles(self) -> Tiled[State]:
        return Tiled(self._encode_rows, _FRAME_TILE)

    @cached_property
    def _lift_tiles(self) -> Tiled[State]:
        return Tiled(self.lifter, tile_of(self.low_rows, self.tile_rows), self.tile_rows)

    @cached_property
    def _low_tiles(self) -> Tiled[State]:
        return Tiled(self.low, tile_of(self.low_rows, self.tile_rows), self.tile_rows)

    @cached_property
    def _high_tiles(self) -> Tiled[State]:
        return Tiled(self.high, tile_of(self.high_rows, self.tile_rows), self.tile_rows)

    def _encode_rows(self, *inputs: Tensor) -> State:
        cameras = [name for name, _, _ in self.sees.cameras]
        columns = [name for name, _ in self.sees.proprio]
        frames = dict(zip(cameras, inputs[: len(cameras)], strict=True))
        return self.encoder(frames, dict(zip(columns, inputs[len(cameras) :], strict=True)))

    def _inputs(
        self, frames: Mapping[str, NDArray[np.uint8]], proprio: Mapping[str, NDArray[np.float32]]
    ) -> list[Tensor]:
        """What the encoder reads, checked: users without a simulator hand over pictures of all kinds."""
        inputs: list[Tensor] = []
        for name, height, width in self.sees.cameras:
            found = frames[name].shape[1:] if name in frames else "none"
            if found != (height, width, 3):
                raise ControllerError(
                    f"This system sees pictures of {height} x {width} pixels from camera {name!r} and was given "
                    f"{found} (cameras: {', '.join(frames) or 'none'}). Draw or resize the pictures to that size."
                )
            inputs.append(torch.from_numpy(frames[name]).to(self.device))
        for name, width in self.sees.proprio:
            found = proprio[name].shape[1:] if name in proprio else "none"
            if found != (width,):
                raise ControllerError(
                    f"This system reads {width} proprioceptive numbers from column {name!r} and was given {found} "
                    f"(columns: {', '.join(proprio) or 'none'}). Pass them in Observation.proprio, in the data's units."
                )
            rows = torch.from_numpy(proprio[name].astype(np.float32, copy=False)).to(self.device)
            inputs.append(self.normalizer.normalize(name, rows))
        return inputs

    def _cast(self, state: State) -> State:
        return state.map(lambda x: x.to(self.dtype))


def _float(state: State) -> State:
    return state.map(lambda x: x.float())


def frozen_copy(model: N, acting: Acting, precision: str = "float32") -> N:
    """A copy of the model to plan with, so that training may go on with the original."""
    return copy.deepcopy(model).eval().requires_grad_(False).to(acting.device, getattr(torch, precision))


@dataclass(frozen=True)
class BlockActions:
    """Between environment actions and normalised blocks of `frame_skip` actions. Discrete actions are one-hot rows."""

    frame_skip: int
    action_dim: int
    low: tuple[float, ...]
    """Bounds per action component, or one number for all."""
    high: tuple[float, ...]
    normalizer: Normalizer
    column: str = "action"
    discrete_values: int | None = None
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    def to_model(self, executed: NDArray[np.float32]) -> Tensor:
        """(b, f, action_dim) -> (b, f * width)."""
        rows = torch.from_numpy(executed).to(self.device)
        return self.normalizer.normalize_blocks(self.column, rows.flatten(1))

    def to_env(self, block: Tensor) -> NDArray[np.float32]:
        """(b, f * width) -> (b, f, action_dim), inside the action box; or one key per environment step (Appendix I)."""
        rows = block.detach().reshape(len(block), self.frame_skip, -1)
        if self.discrete_values is not None:
            return torch.nn.functional.one_hot(rows.argmax(-1), self.discrete_values).float().cpu().numpy()
        env = self.normalizer.denormalize(self.column, rows)
        low, high = (torch.tensor(end, device=env.device) for end in (self.low, self.high))
        return env.clamp(low, high).float().cpu().numpy()

    def box(self) -> Box:
        """Bounds of one normalised block."""
        ends = [torch.tensor(end, device=self.device).expand(1, self.action_dim) for end in (self.low, self.high)]
        low, high = (self.normalizer.normalize(self.column, end).repeat(1, self.frame_skip)[0] for end in ends)
        return Box(low, high)


def planner_settings(plain: Mapping[str, Any], where: str) -> PlannerSettings:
    """Planner settings from plain data. Search budgets may be written candidates/iterations/elites."""
    data = dict(plain)
    for name in ("low_search", "high_search"):
        if isinstance(data.get(name), str):
            data[name] = vars(Budget.parse(data[name]))
    return dataclass_from_plain(PlannerSettings, data, where)


def three_stage(
    model: PlanningModel, settings: PlannerSettings, acting: Acting, *, frame_skip: int, propose: Propose = usual
) -> ThreeStage:
    """The three-stage controller over a model's callables, in the tiles, precision and place that were asked for."""
    reuse_freed_memory()
    callables = replace(
        model,
        low_rows=settings.low_search.candidates,
        high_rows=settings.high_search.candidates,
        tile_rows=settings.tile_rows,
        dtype=getattr(torch, settings.precision),
        device=acting.device,
        observe=acting.observe,
    )
    actions = BlockActions(
        frame_skip=frame_skip,
        action_dim=acting.action_dim,
        low=acting.action_low,
        high=acting.action_high,
        normalizer=acting.normalizer,
        column=acting.action_column,
        discrete_values=acting.discrete_values,
        device=acting.device,
    )
    cameras = tuple(name for name, _, _ in model.sees.cameras)
    return ThreeStage(callables, actions, settings, propose, cameras)
