"""What the laws look at: a world and a few short episodes of its behaviour."""

from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dualwm.envs.base import Column, World, episodes, states_of

States = NDArray[np.float64]
Law = Callable[["Sample"], Iterator[str]]

SEEDS = (0, 1, 2, 7)
STEPS = 40
"""Environment steps of an episode, at most."""


class Sample:
    """A world and its first episodes, recorded when they are first asked for."""

    def __init__(self, world: World):
        self.world = world

    @cached_property
    def episodes(self) -> list[dict[str, Column]]:
        """One episode per seed of `SEEDS`."""
        return episodes(self.world, SEEDS, STEPS)

    @cached_property
    def paths(self) -> list[States]:
        """The states (rows, state_width) of every episode."""
        return [states_of(self.world.columns, episode) for episode in self.episodes]

    @cached_property
    def states(self) -> States:
        """States from all over the episodes, first rows first."""
        return np.concatenate([path[:1] for path in self.paths] + [path[1::5] for path in self.paths])

    @cached_property
    def action_columns(self) -> list[NDArray[np.float64]]:
        """The actions (rows, action_dim) of every episode, the last one never taken."""
        (name,) = [spec.name for spec in self.world.columns if spec.role == "action"]
        return [episode[name].astype(np.float64) for episode in self.episodes]

    def lawful_actions(self, steps: int, rows: int) -> NDArray[np.float64]:
        """Actions (steps, rows, action_dim) drawn uniformly within the bounds; always the same ones."""
        world, generator = self.world, np.random.default_rng(0)
        if world.discrete:
            return np.eye(world.action_dim)[generator.integers(world.action_dim, size=(steps, rows))]
        drawn = generator.uniform(world.action_low, world.action_high, (steps, rows, world.action_dim))
        return drawn.astype(np.float32).astype(np.float64)


def same(a: NDArray[np.generic], b: NDArray[np.generic]) -> bool:
    """Whether two arrays are alike to the last bit, NaN included."""
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def first_difference(found: States, expected: States) -> str:
    """Where two arrays of state rows part, in words."""
    if found.shape != expected.shape:
        return f"shape {found.shape} instead of {expected.shape}"
    differs = ~(found == expected)
    row, column = np.argwhere(differs)[0].tolist()
    gap = float(np.abs(found - expected)[differs].max())
    return (
        f"number {column} of row {row} is {found[row, column]!r} instead of {expected[row, column]!r}; the largest gap "
        f"anywhere is {gap:.3g}"
    )
