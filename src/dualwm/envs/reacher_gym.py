"""`dualwm/Reacher-v0` for Gymnasium: one arm seen from above, and the goal as the picture of having its posture."""

from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from dualwm.envs.base import Floats, state_rows
from dualwm.envs.reacher import Reacher
from dualwm.envs.reacher_core import ANGLES, HALFWAY, MOTION, STATE_WIDTH
from dualwm.envs.world_gym import WorldEnv
from dualwm.errors import WorldError

_FIRST_SEED = 1 << 32
"""Of the motions that lead to goals: beyond all seeds that data sets are recorded with."""

_FAR = np.float32(1e4)
"""More than any angle (the shoulder's is never wrapped) or velocity comes to."""


class ReacherEnv(WorldEnv):
    """Take the posture of the goal picture: both joints within 0.05 rad.

    image_size:     side of `pixels` and `goal`.
    rule:           `joints` (angles as they are) or `wrapped` (whole turns of the shoulder do not count).
    goal_env_steps: a goal is where random torques lead within this many steps, so that it can be reached.
    reset options:  `state` and `goal`: two joint angles, or angles and velocities.
    """

    def __init__(
        self, image_size: int = 64, rule: str = "joints", goal_env_steps: int = 50, render_mode: str | None = None
    ):
        if goal_env_steps < 1:
            raise WorldError(
                f"Reacher's goals lie at least 1 step from the start; found goal_env_steps={goal_env_steps}."
            )
        self.reacher = Reacher()
        proprio = spaces.Box(-_FAR, _FAR, (4,), np.float32)
        super().__init__(
            self.reacher, variant="torque", rule=rule, image_size=image_size, proprio=proprio, render_mode=render_mode
        )
        self.goal_env_steps = goal_env_steps

    def draw_pair(self) -> tuple[Floats, Floats]:
        """Both ends of a random motion that does not end where it began."""
        while True:
            seed = _FIRST_SEED + int(self.np_random.integers(1 << 32))
            walk = self.reacher.episode(seed, self.goal_env_steps)["state"]
            if not self.world.success(walk[:1], walk[-1:], self.rule)[0][0]:
                return walk[:1], walk[-1:]

    def lawful_states(self, name: str, states: NDArray[Any]) -> Floats:
        """Two finite angles at rest, or two angles and two velocities."""
        given = state_rows(name, states, 2 if np.shape(states)[-1] == 2 else 4)
        whole = np.zeros((len(given), STATE_WIDTH))
        whole[:, MOTION][:, : given.shape[1]] = given
        whole[:, HALFWAY] = given[:, ANGLES]
        return whole
