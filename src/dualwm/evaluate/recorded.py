"""The actions that were recorded: on the way from a task's start to its goal, and in general.

A behaviour episode is a function of its seed and a task carries that seed and its start row, so the episode is walked
again rather than shipped. A way that does not pass through the task's start and goal was recorded under another law.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dualwm.data.collections import first_seed
from dualwm.envs.base import Column, World as Behaving, episodes, states_of
from dualwm.errors import ControllerError
from dualwm.evaluate.needs import Episodes, World
from dualwm.records import ColumnSpec, Task, TaskSet

Actions = NDArray[np.float32]

_EPISODES, _MAX_ENV_STEPS = 100, 200
"""How much of the training behaviour stands for recorded actions in general."""
_DRAWN_ROWS = 20_000
"""Rows of a data set that do."""
_APART = 1e-3
"""Largest gap between a state walked again and the recorded one: simulators differ a little between machines."""


def ways(world: World, taskset: TaskSet) -> list[Actions]:
    """Of each task the recorded actions (goal_offset_env_steps, action_dim) from its start to its goal."""
    behaving, offset = _behaving(world), taskset.goal_offset_env_steps
    seeds = sorted({task.env_seed for task in taskset.tasks})
    longest = max((task.start_row for task in taskset.tasks), default=0) + offset
    walked = dict(zip(seeds, episodes(behaving, seeds, longest), strict=True))
    return [_way(behaving, walked[task.env_seed], task, offset) for task in taskset.tasks]


def actions_of(world: World) -> Actions:
    """Actions (n, action_dim) of the first training episodes of a world's behaviour."""
    behaving = _behaving(world)
    seeds = range(first_seed("train", 0, _EPISODES), first_seed("train", _EPISODES, 1))
    (action,) = _in_role(behaving.columns, "action")
    return _taken(np.concatenate([rows[action] for rows in episodes(behaving, seeds, _MAX_ENV_STEPS)]))


def ways_in(source: Episodes, taskset: TaskSet) -> list[Actions]:
    """Like `ways`, read from the episodes the tasks were cut from."""
    first = [int(source.first_rows[task.episode]) + task.start_row for task in taskset.tasks]
    along = np.arange(taskset.goal_offset_env_steps)
    name = source.columns_of("action")[0].name
    return [source.read_rows(name, row + along).astype(np.float32) for row in first]


def actions_in(source: Episodes) -> Actions:
    """Actions (n, action_dim) of rows spread evenly over recorded episodes."""
    total = int(source.rows.sum())
    rows = np.linspace(0, total - 1, min(total, _DRAWN_ROWS)).astype(np.int64)
    return _taken(source.read_rows(source.columns_of("action")[0].name, rows))


def _taken(actions: NDArray[np.floating]) -> Actions:
    """Without the last rows of episodes, whose actions were never taken."""
    return actions[np.isfinite(actions).all(axis=1)].astype(np.float32)


def _behaving(world: World) -> Behaving:
    if not isinstance(world, Behaving):
        raise ControllerError(
            f"{world.name} has no behaviour whose episodes could be walked again (dualwm.envs.World.episode), so there "
            "are no recorded actions. Compare with noop and random instead."
        )
    return world


def _way(world: Behaving, walked: dict[str, Column], task: Task, offset: int) -> Actions:
    rows = slice(task.start_row, task.start_row + offset + 1)
    states = states_of(world.columns, walked)[rows]
    same = len(states) == offset + 1 and np.allclose(states[[0, -1]], [task.start, task.goal], rtol=_APART, atol=_APART)
    if not same:
        raise ControllerError(
            f"Task {task.index} was cut from rows {rows.start} to {rows.stop - 1} of the episode of seed "
            f"{task.env_seed}, and the episode that {world.name} records for that seed does not lead from its start to "
            "its goal. The tasks come from another behaviour law: cut them again, or take the version that recorded "
            "them."
        )
    (action,) = _in_role(world.columns, "action")
    return walked[action][rows][:-1].astype(np.float32)


def _in_role(columns: Sequence[ColumnSpec], role: str) -> list[str]:
    return [spec.name for spec in columns if spec.role == role]
