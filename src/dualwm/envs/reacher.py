"""Reacher as a `World`: a two-link arm driven by torques, and a goal posture that only its picture shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualwm.envs import reacher_core as core
from dualwm.envs.base import Column, Floats, choose, drawn_column, state_rows
from dualwm.envs.offscreen import Studio, drawing_copy
from dualwm.envs.pure import PureSimulation
from dualwm.errors import WorldError
from dualwm.records import ColumnSpec

REACH = 0.05
"""Radians: a goal is reached where both joints are nearer to it than this."""
_START, _ACTIONS = (0x4EAC_4E00 + purpose for purpose in range(2))
"""Second halves of the Philox keys: what the numbers are for."""
_STIFFNESS, _DAMPING = 2.5, 0.1
"""Of the expert: torque per radian away from the goal, and per radian per second."""
_CAMERA_HEIGHT, _FIELD_OF_VIEW = 0.74, np.deg2rad(45.0)
"""Of the camera above the finger tip, and of its picture."""

_STUDIO = Studio(lambda: drawing_copy(core.model(), hidden=("target",)))


@dataclass(frozen=True, kw_only=True)
class Reacher:
    """States are angles and velocities of both joints and the angles half a step ago; actions are two torques.

    A goal is a state whose angles count. `joints`, the rule of the authors' release, compares angles as they are: the
    shoulder's, which is never wrapped, may differ by whole turns that no picture shows. `wrapped` compares postures.
    Both are tested after each of the two physics steps of an environment step, and are not asked about velocities.
    """

    name = "reacher"
    action_dim = 2
    discrete = False
    action_low = -1.0
    action_high = 1.0
    cameras = ("front",)
    state_width = core.STATE_WIDTH
    distance_unit = "rad"
    rules = ("joints", "wrapped")
    one_way_rules = ("joints", "wrapped")
    """A state remembers half a step ago, a goal does not."""
    variants = ("torque",)
    stores_pictures = True
    columns = (
        ColumnSpec(name="state", kind="array", dtype="float64", shape=(core.STATE_WIDTH,), role="state"),
        ColumnSpec(name="proprio", kind="array", dtype="float32", shape=(4,), role="proprio"),
        ColumnSpec(name="action", kind="array", dtype="float32", shape=(2,), role="action"),
        drawn_column("reacher", "state"),
    )

    @property
    def behaviour_law(self) -> Mapping[str, Any]:
        """The recipe `episode` follows, as plain data."""
        return {"name": "from rest in any posture, torques drawn uniformly and independently"}

    def simulate(self, starts: Floats, seeds: Sequence[int], variant: str = "torque") -> PureSimulation:
        """b arms set to `starts`. The motion is not random: the seeds change nothing."""
        assert len(seeds) == len(starts), (len(seeds), len(starts))
        choose("dynamics variant", variant, self.variants, self.name)
        return PureSimulation(self, starts, core.step)

    def draw(self, states: Floats, size: int, camera: str = "front") -> NDArray[np.uint8]:
        """Pictures (b, size, size, 3), seen from above; a batch gives the bytes of its rows drawn one by one."""
        choose("camera", camera, self.cameras, self.name)
        if not 1 <= size <= 512:
            raise WorldError(f"A picture of Reacher has a side of 1 to 512 pixels; asked for {size}.")
        return _STUDIO.draw(state_rows("states", states, self.state_width)[:, core.ANGLES], size)

    def proprio(self, states: Floats) -> dict[str, NDArray[np.float32]]:
        """Angles and velocities of both joints."""
        return {"proprio": states[:, core.MOTION].astype(np.float32)}

    def success(
        self, states: Floats, goals: Floats, rule: str = "joints"
    ) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Whether both joints were within 0.05 rad after either physics step, and by how much the worse one missed."""
        choose("success rule", rule, self.rules, self.name)
        aims = goals[:, core.ANGLES]
        missed = np.stack([states[:, at] - aims for at in (core.ANGLES, core.HALFWAY)]).astype(np.float64)
        if rule == "wrapped":
            missed = (missed + np.pi) % (2 * np.pi) - np.pi
        worst = np.abs(missed).max(axis=2).min(axis=0)
        return worst < REACH, worst

    def planar(self, states: Floats) -> NDArray[np.float64]:
        """Where on the picture the finger tip is, as shares of its width and height, (b, 2)."""
        seen = 2 * _CAMERA_HEIGHT * np.tan(_FIELD_OF_VIEW / 2)
        return 0.5 + core.finger(states[:, core.ANGLES].astype(np.float64)) * (1, -1) / seen

    def facts(self, start: Floats, goal: Floats) -> dict[str, float]:
        """`joint_rad`, how far the worse joint has to turn, and `tip_m`, how far the finger tip is from the goal's."""
        angles = np.stack([start, goal])[:, core.ANGLES].astype(np.float64)
        ends = core.finger(angles)
        return {
            "joint_rad": float(np.abs(angles[1] - angles[0]).max()),
            "tip_m": float(np.hypot(*(ends[1] - ends[0]))),
        }

    def expert_action(self, states: Floats, goals: Floats) -> NDArray[np.float32]:
        """Torques that pull both joints to the goal's angles and brake them, (b, 2)."""
        pull = _STIFFNESS * (goals[:, core.ANGLES] - states[:, core.ANGLES]) - _DAMPING * states[:, 2:4]
        return np.clip(pull, -1.0, 1.0).astype(np.float32)

    def episode(self, seed: int, max_env_steps: int = 200) -> dict[str, Column]:
        """One episode: from rest in any posture, i.i.d. uniform torques."""
        return self.episodes([seed], max_env_steps)[0]

    def episodes(self, seeds: Sequence[int], max_env_steps: int = 200) -> list[dict[str, Column]]:
        """One episode per seed, simulated together; the same bytes as one by one."""
        starts = np.zeros((len(seeds), self.state_width))
        starts[:, core.ANGLES] = [_stream(seed, _START).uniform(-_REST, _REST) for seed in seeds]
        starts[:, core.HALFWAY] = starts[:, core.ANGLES]
        actions = np.stack([_stream(seed, _ACTIONS).uniform(-1, 1, (max_env_steps, 2)) for seed in seeds])
        actions = actions.astype(np.float32)
        led = core.roll(starts, actions.astype(np.float64))
        return [self._columns(np.vstack([s, path]), a) for s, path, a in zip(starts, led, actions, strict=True)]

    def _columns(self, states: NDArray[np.float64], actions: NDArray[np.float32]) -> dict[str, Column]:
        """Row t is the state at t and the action taken from it; the last row's action was never taken and is NaN."""
        never = np.full((1, 2), np.nan, np.float32)
        return {"state": states, **self.proprio(states), "action": np.concatenate([actions, never])}


_REST = np.array([np.pi, core.WRIST_LIMIT])
"""Angles an episode begins with lie between minus and plus these."""


def _stream(seed: int, purpose: int) -> np.random.Generator:
    assert seed >= 0, seed
    return np.random.Generator(np.random.Philox(key=np.array([seed, purpose], np.uint64)))
