"""`dualwm/Sokoban-v0` for Gymnasium: one board, five actions, and the goal as the picture of having arranged it."""

from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from dualwm.envs.base import Floats
from dualwm.envs.sokoban import Sokoban
from dualwm.envs.sokoban_behaviour import generate
from dualwm.envs.sokoban_core import SIDE, lawful_cells, states_of_cells
from dualwm.envs.world_gym import WorldEnv
from dualwm.errors import WorldError

_FIRST_SEED = 1 << 32
"""Of the walks that lead to goals: beyond all seeds that data sets are recorded with."""
_SHORTEST_WALK = 10


class SokobanEnv(WorldEnv):
    """Arrange the board as in the goal picture.

    image_size:     side of `pixels` and `goal`.
    rule:           `gap4` (agent and boxes within four cells, counted together) or `exact` (the boxes alone).
    goal_env_steps: a goal is where a walk of the recorded behaviour ends after this many steps (or earlier, where no
                    push is left), so that it can be reached.
    reset options:  `state` and `goal`: (row, column) of the agent, the first and the second box.
    """

    def __init__(
        self,
        image_size: int = 80,
        rule: str = "gap4",
        goal_env_steps: int = 100,
        render_mode: str | None = None,
    ):
        if goal_env_steps < _SHORTEST_WALK:
            raise WorldError(
                f"Sokoban's goals should lie at least {_SHORTEST_WALK} steps of behaviour from the start, or they "
                f"would be reached before anything was done; found goal_env_steps={goal_env_steps}."
            )
        self.sokoban = Sokoban()
        proprio = spaces.Box(0.0, SIDE - 1.0, (2,), np.float32)
        super().__init__(
            self.sokoban, variant="push", rule=rule, image_size=image_size, proprio=proprio, render_mode=render_mode
        )
        self.goal_env_steps = goal_env_steps

    def draw_pair(self) -> tuple[Floats, Floats]:
        """Both ends of a walk that does not end where it began."""
        while True:
            seed = _FIRST_SEED + int(self.np_random.integers(1 << 32))
            ((cells, _),) = generate([seed], self.goal_env_steps, self.sokoban.behaviour)
            walk = states_of_cells(cells)
            if not self.world.success(walk[:1], walk[-1:], self.rule)[0][0]:
                return walk[:1], walk[-1:]

    def lawful_states(self, name: str, states: NDArray[Any]) -> Floats:
        """Agent and boxes on three different floor cells."""
        return states_of_cells(lawful_cells(name, states))
