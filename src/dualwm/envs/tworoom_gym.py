"""`dualwm/TwoRoom-v0` for Gymnasium: one room, seen as pictures, with the goal shown as the picture of being there."""

from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from dualwm.envs.base import Floats
from dualwm.envs.tworoom import TwoRoom
from dualwm.envs.tworoom_core import CANVAS, HIGH, LOW, free_points, in_wall, on_float32_grid
from dualwm.envs.world_gym import WorldEnv


class TwoRoomEnv(WorldEnv):
    """Reach the goal picture: the agent's centre less than 16 px from the goal.

    image_size:   side of `pixels` and `goal`.
    collision:    `snap` (end-point test) or `swept` (no tunnelling).
    random_goal:  a fresh goal at every reset; otherwise always `FIXED_GOAL`.
    reset options: `state` and `goal` set the agent's and the goal's position (x, y).
    """

    FIXED_GOAL: ClassVar[tuple[float, float]] = (168.0, 168.0)

    def __init__(
        self,
        image_size: int = 64,
        collision: str = "snap",
        random_goal: bool = True,
        render_mode: str | None = None,
    ):
        position = spaces.Box(0.0, CANVAS, (2,), np.float32)
        super().__init__(
            TwoRoom(), variant=collision, rule="reach16", image_size=image_size, proprio=position,
            render_mode=render_mode,
        )  # fmt: skip
        self.random_goal = random_goal

    def draw_pair(self) -> tuple[Floats, Floats]:
        """Two points outside the wall."""
        start = self._anywhere()
        return start, self._anywhere() if self.random_goal else np.array([self.FIXED_GOAL])

    def lawful_states(self, name: str, states: NDArray[Any]) -> Floats:
        """A point outside the wall."""
        return free_points(name, states)

    def _anywhere(self) -> NDArray[np.float64]:
        while True:
            point = on_float32_grid(self.np_random.uniform(LOW, HIGH, (1, 2)))
            if not in_wall(point)[0]:
                return point
