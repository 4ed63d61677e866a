"""Fewest environment steps between boards, exactly: breadth-first search over every board there is.

Two equal boxes on 94 floor cells and an agent give 4,371 x 94 boards, few enough to hold every transition. One search
backwards from a goal finds the distance of all boards from it. A goal is a whole board: both boxes (in either order)
and the agent's cell.
"""

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dualwm.envs.sokoban_core import FLOOR, MOVES, SIDE, STAY, Cells, move

Boards = NDArray[np.int32]
"""Numbers of boards."""

NEVER = np.iinfo(np.uint8).max
"""In place of the distance of a board from which the goal cannot be reached."""

_FLOOR_NUMBER = np.full(SIDE * SIDE, -1)
_FLOOR_NUMBER[FLOOR] = np.arange(len(FLOOR))
_FIRST, _SECOND = np.triu_indices(len(FLOOR), 1)
_PAIR = np.full((len(FLOOR), len(FLOOR)), -1)
_PAIR[_FIRST, _SECOND] = _PAIR[_SECOND, _FIRST] = np.arange(len(_FIRST))


def board_numbers(cells: Cells) -> Boards:
    """The numbers of boards (b,), the same whichever box is first."""
    agent, first, second = _FLOOR_NUMBER[cells].T
    return (_PAIR[first, second] * len(FLOOR) + agent).astype(np.int32)


@dataclass(frozen=True)
class _Graph:
    """Every transition, forwards and backwards."""

    after: Boards
    """(boards, 4), where each move leads."""
    before: Boards
    """The boards from which some move leads to board 0, then to board 1, and so on."""
    first: NDArray[np.int64]
    """(boards + 1,), where in `before` a board's predecessors begin."""

    def leading_to(self, boards: Boards) -> Boards:
        """Every board that is one move before one of these, with repetitions."""
        counts = self.first[boards + 1] - self.first[boards]
        skip = self.first[boards] - (np.cumsum(counts) - counts)
        return self.before[np.repeat(skip, counts) + np.arange(int(counts.sum()))]


@functools.cache
def _graph() -> _Graph:
    pairs = np.repeat(np.arange(len(_FIRST)), len(FLOOR))
    cells = np.stack([np.tile(FLOOR, len(_FIRST)), FLOOR[_FIRST[pairs]], FLOOR[_SECOND[pairs]]], axis=1)
    moves = [board_numbers(move(cells, np.full(len(cells), action))) for action in MOVES]
    after = np.stack(moves, axis=1)
    impossible = (cells[:, :1] == cells[:, 1:]).any(axis=1)
    after[impossible] = np.flatnonzero(impossible)[:, None]
    order = np.argsort(after, axis=None, kind="stable")
    first = np.append(0, np.cumsum(np.bincount(after.reshape(-1), minlength=len(cells))))
    return _Graph(after, (order // len(MOVES)).astype(np.int32), first)


@functools.lru_cache(maxsize=256)
def _distances(goal: int) -> NDArray[np.uint8]:
    """Fewest steps from every board to the goal, `NEVER` where there is no way."""
    graph = _graph()
    steps = np.full(len(graph.after), NEVER, np.uint8)
    steps[goal] = taken = 0
    ring = np.array([goal], np.int32)
    while len(ring):
        taken += 1
        assert taken < NEVER, taken
        before = graph.leading_to(ring)
        ring = np.unique(before[steps[before] == NEVER])
        steps[ring] = taken
    steps.flags.writeable = False
    return steps


def path_env_steps(starts: Cells, goals: Cells) -> NDArray[np.float64]:
    """Fewest environment steps from each start to its goal, (b,); infinite where there is no way."""
    pairs = zip(board_numbers(starts).tolist(), board_numbers(goals).tolist(), strict=True)
    steps = np.array([_distances(goal)[start] for start, goal in pairs], np.float64)
    return np.where(steps == NEVER, np.inf, steps)


def expert_actions(starts: Cells, goals: Cells) -> NDArray[np.int64]:
    """The first action of a shortest way from each start to its goal; stays where it is there or cannot get there."""
    actions = np.full(len(starts), STAY)
    after = _graph().after
    for i, (board, goal) in enumerate(zip(board_numbers(starts).tolist(), board_numbers(goals).tolist(), strict=True)):
        steps = _distances(goal)
        if 0 < steps[board] < NEVER:
            actions[i] = MOVES[int(steps[after[board]].argmin())]
    return actions
