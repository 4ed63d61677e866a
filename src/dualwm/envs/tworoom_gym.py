"""`dualwm/TwoRoom-v0` for Gymnasium: one room, seen as pictures, with the goal shown as the picture of being there."""

from typing import Any, ClassVar, cast

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from dualwm.envs.base import choose
from dualwm.envs.tworoom import TwoRoom
from dualwm.envs.tworoom_core import CANVAS, HIGH, LOW, TwoRoomSimulation, free_points, in_wall, on_float32_grid
from dualwm.errors import WorldError

Observation = dict[str, NDArray[Any]]


class TwoRoomEnv(gymnasium.Env[Observation, NDArray[np.float32]]):
    """Reach the goal picture: reward 1 and termination once the agent's centre is less than 16 px from the goal.

    image_size:   side of `pixels` and `goal`.
    collision:    `snap` (end-point test) or `swept` (no tunnelling).
    random_goal:  a fresh goal at every reset; otherwise always `FIXED_GOAL`.
    reset options: `state` and `goal` set the agent's and the goal's position (x, y).
    info:         `success`, `distance` (px), `state` (the position, float64).
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"], "render_fps": 20}  # pyright: ignore[reportIncompatibleVariableOverride]
    FIXED_GOAL: ClassVar[tuple[float, float]] = (168.0, 168.0)

    def __init__(
        self,
        image_size: int = 64,
        collision: str = "snap",
        random_goal: bool = True,
        render_mode: str | None = None,
    ):
        self.world = TwoRoom()
        self.collision = choose("dynamics variant", collision, self.world.variants, self.world.name)
        self.image_size, self.random_goal = image_size, random_goal
        self.render_mode = render_mode
        picture = spaces.Box(0, 255, (image_size, image_size, 3), np.uint8)
        position = spaces.Box(0.0, CANVAS, (2,), np.float32)
        self.observation_space = cast(
            spaces.Space[Observation], spaces.Dict({"pixels": picture, "proprio": position, "goal": picture})
        )
        self.action_space = spaces.Box(-1.0, 1.0, (2,), np.float32)
        self._room: TwoRoomSimulation | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Place agent and goal: from the options where given, else anywhere outside the wall."""
        super().reset(seed=seed)
        given = options or {}
        unknown = set(given) - {"state", "goal"}
        if unknown:
            raise WorldError(f"TwoRoom's reset options are 'state' and 'goal', each (x, y); found {sorted(unknown)}.")
        start, goal = self._anywhere(), self._anywhere() if self.random_goal else np.array([self.FIXED_GOAL])
        if "state" in given:
            start = free_points("reset's state", np.atleast_2d(given["state"]))
        if "goal" in given:
            goal = free_points("reset's goal", np.atleast_2d(given["goal"]))
        self._room = self.world.simulate(start, [0], self.collision)
        self._goal = goal
        self._goal_picture = self.world.draw(goal, self.image_size)[0]
        return self._observation(), self._info()

    def step(self, action: NDArray[Any]) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Move by 5 px times the action, clamped to [-1, 1]."""
        move = np.asarray(action, np.float64)
        if move.shape != (2,) or not np.isfinite(move).all():
            raise WorldError(f"An action of TwoRoom is two finite numbers, its x and y velocity; found {action!r}.")
        self._simulation().step(move[None])
        info = self._info()
        return self._observation(), float(info["success"]), bool(info["success"]), False, info

    def render(self) -> NDArray[np.uint8] | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The current picture, if the environment was made with `render_mode="rgb_array"`."""
        return self._picture() if self.render_mode == "rgb_array" else None

    def _simulation(self) -> TwoRoomSimulation:
        if self._room is None:
            raise WorldError("TwoRoom was asked to step or draw before its first reset(). Call reset() first.")
        return self._room

    def _anywhere(self) -> NDArray[np.float64]:
        while True:
            point = on_float32_grid(self.np_random.uniform(LOW, HIGH, (1, 2)))
            if not in_wall(point)[0]:
                return point

    def _picture(self) -> NDArray[np.uint8]:
        return self.world.draw(self._simulation().states, self.image_size)[0]

    def _observation(self) -> Observation:
        position = self._simulation().states[0].astype(np.float32)
        return {"pixels": self._picture(), "proprio": position, "goal": self._goal_picture.copy()}

    def _info(self) -> dict[str, Any]:
        states = self._simulation().states
        success, gap = self.world.success(states, self._goal)
        return {"success": bool(success[0]), "distance": float(gap[0]), "state": states[0].copy()}
