"""TwoRoom as a `World`: an agent, two rooms, a wall with one door, and a goal that only its picture shows."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualwm.envs import tworoom_behaviour, tworoom_draw, tworoom_path
from dualwm.envs.base import Column, Floats, choose, drawn_column, state_rows
from dualwm.envs.tworoom_behaviour import Behaviour
from dualwm.envs.tworoom_core import CANVAS, COLLISIONS, REACH, WALL_X, TwoRoomSimulation, distance
from dualwm.errors import WorldError
from dualwm.records import ColumnSpec


@dataclass(frozen=True, kw_only=True)
class TwoRoom:
    """States are the agent's centre (x, y) in the 224-unit picture; actions move it by up to 5 px per axis."""

    behaviour: Behaviour = field(default_factory=Behaviour)

    name = "tworoom"
    action_dim = 2
    discrete = False
    action_low = -1.0
    action_high = 1.0
    cameras = ("front",)
    state_width = 2
    distance_unit = "px"
    rules = ("reach16",)
    variants = tuple(COLLISIONS)
    columns = (
        ColumnSpec(name="pos_agent", kind="array", dtype="float32", shape=(2,), role="state"),
        ColumnSpec(name="proprio", kind="array", dtype="float32", shape=(2,), role="proprio"),
        ColumnSpec(name="action", kind="array", dtype="float32", shape=(2,), role="action"),
        drawn_column("tworoom", "pos_agent"),
    )

    @property
    def behaviour_law(self) -> Mapping[str, Any]:
        """The recipe `episode` follows, as plain data."""
        return {"name": "noisy walk to a target in the other room", **asdict(self.behaviour)}

    def simulate(self, starts: Floats, seeds: Sequence[int], variant: str = "snap") -> TwoRoomSimulation:
        """b rooms with the agents at `starts`. The motion is not random: the seeds change nothing."""
        assert len(seeds) == len(starts), (len(seeds), len(starts))
        return TwoRoomSimulation(starts, variant)

    def draw(self, states: Floats, size: int, camera: str = "front") -> NDArray[np.uint8]:
        """Pictures (b, size, size, 3); a batch gives the bytes of its rows drawn one by one."""
        choose("camera", camera, self.cameras, self.name)
        if size < 1:
            raise WorldError(f"A picture of TwoRoom needs a side of at least 1 pixel; asked for {size}.")
        return tworoom_draw.draw(state_rows("states", states, 2), size)

    def proprio(self, states: Floats) -> dict[str, NDArray[np.float32]]:
        """The agent's position."""
        return {"proprio": states.astype(np.float32)}

    def success(
        self, states: Floats, goals: Floats, rule: str = "reach16"
    ) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """`reach16`: the centre is less than 16 px from the goal. With it the distance in px."""
        choose("success rule", rule, self.rules, self.name)
        gap = distance(states.astype(np.float64), goals.astype(np.float64))
        return gap < REACH, gap

    def path_px(self, starts: Floats, goals: Floats) -> NDArray[np.float64]:
        """Length in px of the agent's shortest way from each start to its goal, around the wall; exact, (b,)."""
        return tworoom_path.path_px(starts.astype(np.float64), goals.astype(np.float64))

    def cross_room(self, starts: Floats, goals: Floats) -> NDArray[np.bool_]:
        """Whether start and goal lie on different sides of the wall's centre line, (b,)."""
        return (starts[:, 0] < WALL_X) != (goals[:, 0] < WALL_X)

    def planar(self, states: Floats) -> NDArray[np.float64]:
        """Where on the picture the agent is, as shares of its width and height, (b, 2)."""
        return states.astype(np.float64) / CANVAS

    def facts(self, start: Floats, goal: Floats) -> dict[str, float]:
        """`path_px`, the shortest way, and `cross_room`, 0 or 1, of one task."""
        starts, goals = np.atleast_2d(start), np.atleast_2d(goal)
        return {
            "path_px": float(self.path_px(starts, goals)[0]),
            "cross_room": float(self.cross_room(starts, goals)[0]),
        }

    def expert_action(self, states: Floats, goals: Floats) -> NDArray[np.float32]:
        """The noise-free expert: along the shortest way at full speed, (b, 2)."""
        return tworoom_path.expert_action(states.astype(np.float64), goals.astype(np.float64))

    def episode(self, seed: int, max_env_steps: int = 200) -> dict[str, Column]:
        """One episode of the behaviour; see `tworoom_behaviour` for the recipe."""
        return self.episodes([seed], max_env_steps)[0]

    def episodes(self, seeds: Sequence[int], max_env_steps: int = 200) -> list[dict[str, Column]]:
        """One episode per seed, walked together; the same bytes as one by one."""
        return [_columns(*walk) for walk in tworoom_behaviour.generate(seeds, max_env_steps, self.behaviour)]


def _columns(positions: NDArray[np.float32], actions: NDArray[np.float32]) -> dict[str, Column]:
    """Row t is the position at t and the action taken from it; the last row's action was never taken and is NaN."""
    never = np.full((1, 2), np.nan, np.float32)
    return {"pos_agent": positions, "proprio": positions.copy(), "action": np.concatenate([actions, never])}
