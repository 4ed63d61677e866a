"""`dualwm/PushT-v0` for Gymnasium: one board seen from above, and the goal as the picture of having arranged it."""

from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from dualwm.envs.base import Floats, state_rows
from dualwm.envs.pusht import PushT
from dualwm.envs.pusht_core import BOARD, STATE_WIDTH
from dualwm.envs.world_gym import WorldEnv
from dualwm.errors import WorldError

_FIRST_SEED = 1 << 32
"""Of the behaviour that leads to goals: beyond all seeds that data sets are recorded with."""
_RELEASE_WIDTH = 7
"""Numbers of a state of the authors' release: ours without the block's velocity."""
_FAR = np.float32(1e4)
"""More than any place or velocity comes to."""


class PushTEnv(WorldEnv):
    """Bring agent and block to where the goal picture has them.

    image_size:     side of `pixels` and `goal`.
    rule:           `pose` (agent and block), `block` (the block alone) or `hold` (both, at rest).
    goal_env_steps: a goal is where recorded behaviour leads within this many steps, so that it can be reached.
    reset options:  `state` and `goal`: agent x, y, block x, y, block angle, agent velocity x, y, and, if it is not at
                    rest, the block's velocity x, y and turning rate.
    """

    def __init__(
        self, image_size: int = 64, rule: str = "pose", goal_env_steps: int = 100, render_mode: str | None = None
    ):
        if goal_env_steps < 1:
            raise WorldError(
                f"PushT's goals lie at least 1 step from the start; found goal_env_steps={goal_env_steps}."
            )
        self.pusht = PushT()
        proprio = spaces.Box(-_FAR, _FAR, (4,), np.float32)
        super().__init__(
            self.pusht, variant="push", rule=rule, image_size=image_size, proprio=proprio, render_mode=render_mode
        )
        self.goal_env_steps = goal_env_steps

    def draw_pair(self) -> tuple[Floats, Floats]:
        """Both ends of a behaviour that does not end where it began."""
        while True:
            seed = _FIRST_SEED + int(self.np_random.integers(1 << 32))
            walk = self.pusht.episode(seed, self.goal_env_steps)["state"]
            if not self.world.success(walk[:1], walk[-1:], "pose")[0][0]:
                return walk[:1], walk[-1:]

    def lawful_states(self, name: str, states: NDArray[Any]) -> Floats:
        """Finite places on or near the board."""
        given = state_rows(name, states, _RELEASE_WIDTH if np.shape(states)[-1] == _RELEASE_WIDTH else STATE_WIDTH)
        if (np.abs(given[:, :4] - BOARD / 2) > BOARD).any():
            raise WorldError(
                f"{name} should hold places on PushT's board, which is {BOARD:g} units wide; found agent "
                f"{given[0, :2].tolist()} and block {given[0, 2:4].tolist()}."
            )
        whole = np.zeros((len(given), STATE_WIDTH))
        whole[:, : given.shape[1]] = given
        return whole
