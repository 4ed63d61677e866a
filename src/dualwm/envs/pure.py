"""Simulators whose next states are a function of states and actions and of nothing else: all they need is that law."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dualwm.envs.base import Floats, World, action_rows, state_rows

States = NDArray[np.float64]
Law = Callable[[States, States], States]
"""(states (b, state_width), actions (b, action_dim) within the bounds) -> the states one environment step later."""


class PureSimulation:
    """b simulators of a world that step together by a law. Actions outside the world's bounds are clamped to them."""

    def __init__(self, world: World, starts: Floats, law: Law):
        self._world, self._law = world, law
        self._states = state_rows("starts", starts, world.state_width).copy()

    @property
    def states(self) -> States:
        """(b, state_width). A step makes a new array, so what was handed out stays as it was."""
        return self._states

    def step(self, actions: Floats) -> States:
        """Take one environment step with actions (b, action_dim); the states after it."""
        world = self._world
        rows = action_rows(world.name, actions, (len(self._states), world.action_dim))
        self._states = self._law(self._states, np.clip(rows, world.action_low, world.action_high))
        return self._states

    def take(self, rows: NDArray[np.int64]) -> "PureSimulation":
        """An independent simulation of some of the rows."""
        return PureSimulation(self._world, self._states[rows], self._law)
