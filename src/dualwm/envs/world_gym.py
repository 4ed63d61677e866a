"""A world as a Gymnasium environment: one simulator seen as pictures, with the goal as the picture of being there."""

from typing import Any, ClassVar, cast

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from dualwm.envs.base import Floats, Simulation, World, choose
from dualwm.errors import WorldError

Observation = dict[str, NDArray[Any]]


class WorldEnv(gymnasium.Env[Observation, Any]):
    """Reach the goal picture: reward 1 and termination once the world's success rule holds.

    reset options: `state` and `goal` set the simulator's state and the goal's.
    info:          `success`, `distance` (in the rule's unit), `state` (the simulator's, float64).

    A subclass says how start and goal are drawn (`draw_pair`) and what a lawful state is (`lawful_states`).
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"], "render_fps": 20}  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(
        self,
        world: World,
        *,
        variant: str,
        rule: str,
        image_size: int,
        proprio: spaces.Box,
        render_mode: str | None = None,
    ):
        """`proprio` is the space of the world's one proprioceptive column."""
        self.world = world
        self.variant = choose("dynamics variant", variant, world.variants, world.name)
        self.rule = choose("success rule", rule, world.rules, world.name)
        self.image_size, self.render_mode = image_size, render_mode
        picture = spaces.Box(0, 255, (image_size, image_size, 3), np.uint8)
        self.observation_space = cast(
            spaces.Space[Observation], spaces.Dict({"pixels": picture, "proprio": proprio, "goal": picture})
        )
        low, high = np.float32(world.action_low), np.float32(world.action_high)
        self.action_space = cast(
            spaces.Space[Any],
            spaces.Discrete(world.action_dim) if world.discrete else spaces.Box(low, high, (world.action_dim,)),
        )
        self._simulated: Simulation | None = None

    def draw_pair(self) -> tuple[Floats, Floats]:
        """Start and goal states (1, state_width) from `self.np_random`, for what the reset's options leave open."""
        raise NotImplementedError

    def lawful_states(self, name: str, states: NDArray[Any]) -> Floats:
        """The given states (1, state_width), or an error that begins with `name`."""
        raise NotImplementedError

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Set the simulator and the goal: to the options where given, else anywhere lawful."""
        super().reset(seed=seed)
        given = options or {}
        unknown = set(given) - {"state", "goal"}
        if unknown:
            raise WorldError(
                f"The reset options of {self.world.name} are 'state' and 'goal', each a state of "
                f"{self.world.state_width} numbers; found {sorted(unknown)}."
            )
        start, goal = self.draw_pair()
        if "state" in given:
            start = self.lawful_states("reset's state", np.atleast_2d(given["state"]))
        if "goal" in given:
            goal = self.lawful_states("reset's goal", np.atleast_2d(given["goal"]))
        self._simulated = self.world.simulate(start, [0], self.variant)
        self._goal = goal.astype(np.float64)
        self._goal_picture = self.world.draw(goal, self.image_size)[0]
        return self._observation(), self._info()

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Take one environment step."""
        self._simulation().step(self._row(action))
        info = self._info()
        return self._observation(), float(info["success"]), bool(info["success"]), False, info

    def render(self) -> NDArray[np.uint8] | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The current picture, if the environment was made with `render_mode="rgb_array"`."""
        return self._picture() if self.render_mode == "rgb_array" else None

    def _row(self, action: Any) -> NDArray[np.float64]:
        """The action as the world takes it, (1, action_dim)."""
        given, width = np.asarray(action), self.world.action_dim
        if self.world.discrete:
            if given.shape != () or given.dtype.kind not in "iu" or not 0 <= given < width:
                raise WorldError(
                    f"An action of {self.world.name} is a whole number from 0 to {width - 1}; found {action!r}."
                )
            return np.eye(width)[int(given)][None]
        if given.shape != (width,) or given.dtype.kind not in "iuf" or not np.isfinite(given).all():
            raise WorldError(f"An action of {self.world.name} is {width} finite numbers; found {action!r}.")
        return given.astype(np.float64)[None]

    def _simulation(self) -> Simulation:
        if self._simulated is None:
            raise WorldError(
                f"{self.world.name} was asked to step or draw before its first reset(). Call reset() first."
            )
        return self._simulated

    def _picture(self) -> NDArray[np.uint8]:
        return self.world.draw(self._simulation().states, self.image_size)[0]

    def _observation(self) -> Observation:
        (proprio,) = self.world.proprio(self._simulation().states).values()
        return {"pixels": self._picture(), "proprio": proprio[0], "goal": self._goal_picture.copy()}

    def _info(self) -> dict[str, Any]:
        states = self._simulation().states
        success, gap = self.world.success(states, self._goal, self.rule)
        return {"success": bool(success[0]), "distance": float(gap[0]), "state": states[0].copy()}
