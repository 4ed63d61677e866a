"""Cube-Single as a `World`: an arm with a gripper, one block, and a goal that only its picture shows."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualwm.envs import cube_behaviour, cube_core as core, cube_draw
from dualwm.envs.base import Column, Floats, choose, drawn_column, state_rows
from dualwm.envs.cube_behaviour import Behaviour
from dualwm.envs.cube_core import BLOCK, BLOCK_SPEED
from dualwm.envs.pure import PureSimulation
from dualwm.errors import WorldError
from dualwm.records import ColumnSpec

REACH = 0.04
"""Metres: a goal is reached where the block's centre is as near to it as this."""
STILL = 0.02
"""Metres per second below which the block counts as resting."""


@dataclass(frozen=True, kw_only=True)
class Cube:
    """States are positions and velocities of arm, gripper and block (see `cube_core`); actions move the gripper.

    A goal is a state whose block counts. `within4cm`, the rule of the authors' release: the block's centre is within
    4 cm of the goal's, wherever the arm is. `placed` also wants the block released and at rest.
    """

    behaviour: Behaviour = field(default_factory=Behaviour)

    name = "cube"
    action_dim = core.ACTION_WIDTH
    discrete = False
    action_low = -1.0
    action_high = 1.0
    cameras = ("front",)
    state_width = core.STATE_WIDTH
    rules = ("within4cm", "placed")
    one_way_rules = ("placed",)
    resting_rules = ("placed",)
    variants = ("carry",)
    stores_pictures = True
    columns = (
        ColumnSpec(name="state", kind="array", dtype="float64", shape=(core.STATE_WIDTH,), role="state"),
        ColumnSpec(name="proprio", kind="array", dtype="float32", shape=(14,), role="proprio"),
        ColumnSpec(name="action", kind="array", dtype="float32", shape=(core.ACTION_WIDTH,), role="action"),
        drawn_column("cube", "state"),
    )

    @property
    def behaviour_law(self) -> Mapping[str, Any]:
        """The recipe `episode` follows, as plain data."""
        return {"name": "OGBench's oracles carry the block from target to target", **asdict(self.behaviour)}

    def simulate(self, starts: Floats, seeds: Sequence[int], variant: str = "carry") -> PureSimulation:
        """b tables set to `starts`. The motion is not random: the seeds change nothing."""
        assert len(seeds) == len(starts), (len(seeds), len(starts))
        choose("dynamics variant", variant, self.variants, self.name)
        return PureSimulation(self, starts, core.step)

    def draw(self, states: Floats, size: int, camera: str = "front") -> NDArray[np.uint8]:
        """Pictures (b, size, size, 3), seen from the front; a batch gives the bytes of its rows drawn one by one."""
        choose("camera", camera, self.cameras, self.name)
        if not 1 <= size <= 512:
            raise WorldError(f"A picture of Cube has a side of 1 to 512 pixels; asked for {size}.")
        return cube_draw.draw(state_rows("states", states, self.state_width), size)

    def proprio(self, states: Floats) -> dict[str, NDArray[np.float32]]:
        """Angles of the arm's joints, how far the gripper is closed (0 to 1), and the rates of both."""
        angles = np.concatenate([states[:, core.ARM], states[:, core.GRIPPER, None] / core.GRIPPER_CLOSED], axis=1)
        rates = np.concatenate([states[:, core.ARM_SPEED], states[:, core.GRIPPER_SPEED, None]], axis=1)
        return {"proprio": np.concatenate([angles, rates], axis=1).astype(np.float32)}

    def success(
        self, states: Floats, goals: Floats, rule: str = "within4cm"
    ) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Whether each goal is reached, and the distance in metres. For `placed` being as fast as may still be called
        resting counts as 4 cm, and being touched by the gripper as 8 cm at least."""
        choose("success rule", rule, self.rules, self.name)
        here = states.astype(np.float64)
        away = _length(here[:, BLOCK] - goals[:, BLOCK])
        if rule == "placed":
            away = np.maximum(away, REACH / STILL * _length(here[:, BLOCK_SPEED]))
            near = np.flatnonzero(away <= REACH)
            held = near[[core.here().held(here[row]) for row in near]]
            away[held] = 2 * REACH
        return away <= REACH, away

    def planar(self, states: Floats) -> NDArray[np.float64]:
        """Where on the picture the block is, as shares of its width and height, (b, 2)."""
        return np.clip(cube_draw.on_picture(states[:, BLOCK].astype(np.float64)), 0.0, 1.0)

    def facts(self, start: Floats, goal: Floats) -> dict[str, float]:
        """`block_m`, how far the block has to go; `lifted`, 0 or 1: whether the goal has it off the table."""
        begin, end = (np.atleast_2d(state)[:, BLOCK].astype(np.float64) for state in (start, goal))
        return {"block_m": float(_length(end - begin)[0]), "lifted": float(end[0, 2] > 2 * core.REST_HEIGHT)}

    def expert_action(self, states: Floats, goals: Floats) -> NDArray[np.float32]:
        """OGBench's Markov oracle without noise, (b, 5)."""
        expert = cube_behaviour.Expert(core.here())
        rows = zip(states.astype(np.float64), goals.astype(np.float64), strict=True)
        return np.array([expert.act(state, goal) for state, goal in rows], np.float32).reshape(-1, self.action_dim)

    def episode(self, seed: int, max_env_steps: int = 200) -> dict[str, Column]:
        """One episode of the behaviour; see `cube_behaviour` for the recipe."""
        return self.episodes([seed], max_env_steps)[0]

    def episodes(self, seeds: Sequence[int], max_env_steps: int = 200) -> list[dict[str, Column]]:
        """One episode per seed; the same bytes as one by one."""
        return [self._columns(*walk) for walk in cube_behaviour.generate(seeds, max_env_steps, self.behaviour)]

    def _columns(self, states: NDArray[np.float64], actions: NDArray[np.float32]) -> dict[str, Column]:
        """Row t is the state at t and the action taken from it; the last row's action was never taken and is NaN."""
        never = np.full((1, self.action_dim), np.nan, np.float32)
        return {"state": states, **self.proprio(states), "action": np.concatenate([actions, never])}


def _length(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.sqrt((vectors * vectors).sum(axis=-1))
