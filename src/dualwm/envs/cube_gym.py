"""`dualwm/Cube-v0` for Gymnasium: an arm and a block seen from the front, and the goal as the picture of having moved
the block."""

from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from dualwm.envs.base import Floats, state_rows
from dualwm.envs.cube import Cube
from dualwm.envs.cube_core import POSITIONS, STATE_WIDTH
from dualwm.envs.world_gym import WorldEnv
from dualwm.errors import WorldError

_FIRST_SEED = 1 << 32
"""Of the behaviour that leads to goals: beyond all seeds that data sets are recorded with."""
_SHORTEST = 40
"""Steps of behaviour after which the block has mostly been moved."""
_FAR = np.float32(1e4)
"""More than any angle or rate comes to."""


class CubeEnv(WorldEnv):
    """Bring the block to where the goal picture has it.

    image_size:     side of `pixels` and `goal`.
    rule:           `within4cm` (the block's centre) or `placed` (also released and at rest).
    goal_env_steps: a goal is where recorded behaviour leads within this many steps, so that it can be reached.
    reset options:  `state` and `goal`: 21 positions, at rest, or those and 20 velocities.
    """

    def __init__(
        self, image_size: int = 64, rule: str = "within4cm", goal_env_steps: int = 100, render_mode: str | None = None
    ):
        if goal_env_steps < _SHORTEST:
            raise WorldError(
                f"Cube's goals should lie at least {_SHORTEST} steps of behaviour from the start, or the block would "
                f"rarely have moved; found goal_env_steps={goal_env_steps}."
            )
        self.cube = Cube()
        proprio = spaces.Box(-_FAR, _FAR, (14,), np.float32)
        super().__init__(
            self.cube, variant="carry", rule=rule, image_size=image_size, proprio=proprio, render_mode=render_mode
        )
        self.goal_env_steps = goal_env_steps

    def draw_pair(self) -> tuple[Floats, Floats]:
        """Both ends of a behaviour that has moved the block."""
        while True:
            seed = _FIRST_SEED + int(self.np_random.integers(1 << 32))
            walk = self.cube.episode(seed, self.goal_env_steps)["state"]
            if not self.world.success(walk[:1], walk[-1:])[0][0]:
                return walk[:1], walk[-1:]

    def lawful_states(self, name: str, states: NDArray[Any]) -> Floats:
        """Finite positions, with or without velocities."""
        given = state_rows(name, states, POSITIONS if np.shape(states)[-1] == POSITIONS else STATE_WIDTH)
        whole = np.zeros((len(given), STATE_WIDTH))
        whole[:, : given.shape[1]] = given
        return whole
