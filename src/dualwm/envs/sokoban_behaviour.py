"""The behaviour that Sokoban data is recorded from: walk to a random box and push it some way, again and again.

Agent and boxes start on any three cells from which some push is possible. At every step one of three things happens:

    with probability 1/10  one of the five actions, drawn uniformly; whatever was planned is forgotten
    a plan is left         its next action
    else                   a new plan: a shortest walk to the cell behind a box, and pushing the box up to nine cells
                           along. It is drawn from all (box, direction, number of cells) that are possible now; a plan
                           that would leave the box in a corner has a weight of 0.2, at the border of 0.3, else of 1

A push is possible if the agent can walk behind the box and the cell in front of the box is free. The episode ends where
a new plan is wanted and no push is possible, or after `max_env_steps`.

Single pushes in random directions undo each other, and the goal a hundred steps away is then so near that random
actions reach it one time in three (docs/worlds/sokoban.md).

Episode i is a pure function of its seed: start and walk each have a Philox stream keyed by (seed, purpose). Lowering
`max_env_steps` only cuts an episode off.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dualwm.envs.sokoban_core import (
    ACTIONS,
    BACK,
    DOWN,
    FLOOR,
    LEFT,
    MOVES,
    NEXT,
    RIGHT,
    SIDE,
    SOLID,
    STAY,
    UP,
    Cells,
    move,
)

_START, _WALK = (0x50C0_BA00 + purpose for purpose in range(2))
"""Second halves of the Philox keys: what the numbers are for."""

_NEXT: list[list[int]] = NEXT.tolist()
"""The same table for loops over single cells, which are faster on lists."""

_BORDER = frozenset(cell for cell in FLOOR.tolist() if {0, SIDE - 1} & set(divmod(cell, SIDE)))
_CORNERS = frozenset(
    cell
    for cell in FLOOR.tolist()
    if SOLID in (_NEXT[UP][cell], _NEXT[DOWN][cell]) and SOLID in (_NEXT[LEFT][cell], _NEXT[RIGHT][cell])
)
"""Cells, beside walls too, out of which no box can be pushed."""

Push = tuple[int, int]
"""(cell the agent pushes from, direction)."""
Ways = dict[int, Push]
"""Every cell the agent can walk to -> (cell before it, direction that led on from there)."""


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """The numbers of the recipe."""

    random_share: float = 0.1
    """Probability that an action is drawn uniformly."""
    farthest_push: int = 9
    """Cells that a box is pushed along at most."""
    corner_weight: float = 0.2
    """How often a plan is drawn that leaves a box in a corner, which it never gets out of."""
    border_weight: float = 0.3
    """How often a plan is drawn that leaves a box at the border, along which it then has to stay."""


def generate(seeds: Sequence[int], max_env_steps: int, law: Behaviour) -> list[tuple[Cells, NDArray[np.int64]]]:
    """Cells (T+1, 3) and actions (T,) of one episode per seed, all walked at once."""
    assert max_env_steps >= 1, max_env_steps
    chances = [_stream(seed, _WALK).random((max_env_steps, 3)) for seed in seeds]
    actions = np.zeros((len(seeds), max_env_steps), np.int64)
    cells = np.empty((len(seeds), max_env_steps + 1, 3), np.int64)
    cells[:, 0] = [_start(_stream(seed, _START)) for seed in seeds]
    lengths = [max_env_steps] * len(seeds)
    plans: list[list[int]] = [[] for _ in seeds]
    alive = np.arange(len(seeds))
    for t in range(max_env_steps):
        for i, here in zip(alive.tolist(), cells[alive, t].tolist(), strict=True):
            action = _act(here, plans[i], chances[i][t].tolist(), law)
            lengths[i] = t if action is None else max_env_steps
            actions[i, t] = action or STAY
        alive = np.array([i for i in alive.tolist() if lengths[i] > t], np.int64)
        if len(alive) == 0:
            break
        cells[alive, t + 1] = move(cells[alive, t], actions[alive, t])
    return [(cells[i, : n + 1].copy(), actions[i, :n].copy()) for i, n in enumerate(lengths)]


def _act(here: list[int], plan: list[int], chances: list[float], law: Behaviour) -> int | None:
    """The action from the cells of agent and boxes, or None where it is over. Uses up, drops or renews the plan."""
    stray, which, push = chances
    if stray < law.random_share:
        plan.clear()
        return int(which * ACTIONS)
    if not plan:
        agent, *boxes = here
        ways = _ways(agent, boxes)
        runs = _runs(_pushes(ways, boxes), boxes, law)
        if not runs:
            return None
        plan.extend(_plan(ways, *_drawn(runs, push)))
    return plan.pop(0)


def _ways(agent: int, boxes: list[int]) -> Ways:
    """Shortest ways from the agent to wherever it can walk without pushing."""
    ways: Ways = {agent: (agent, STAY)}
    reached = [agent]
    for cell in reached:  # grows while it is read: breadth first
        for direction in MOVES:
            to = _NEXT[direction][cell]
            if to != SOLID and to not in ways and to not in boxes:
                ways[to] = (cell, direction)
                reached.append(to)
    return ways


def _pushes(ways: Ways, boxes: list[int]) -> list[Push]:
    """Every push that is possible now, in a fixed order."""
    return [
        (_NEXT[BACK[direction]][box], direction)
        for box in boxes
        for direction in MOVES
        if _NEXT[BACK[direction]][box] in ways and _NEXT[direction][box] not in (SOLID, *boxes)
    ]


def _runs(pushes: list[Push], boxes: list[int], law: Behaviour) -> list[tuple[Push, int, float]]:
    """Every (push, number of cells) that is possible now, and its weight."""
    runs: list[tuple[Push, int, float]] = []
    for push in pushes:
        cell, direction = push
        box, cells = _NEXT[direction][cell], 0
        while cells < law.farthest_push and _NEXT[direction][box] not in (SOLID, *boxes):
            box, cells = _NEXT[direction][box], cells + 1
            weight = law.corner_weight if box in _CORNERS else law.border_weight if box in _BORDER else 1.0
            runs.append((push, cells, weight))
    return runs


def _drawn(runs: list[tuple[Push, int, float]], chance: float) -> tuple[Push, int]:
    """One of them, by weight."""
    left = chance * sum(weight for _, _, weight in runs)
    for push, cells, weight in runs:
        left -= weight
        if left < 0:
            return push, cells
    return runs[-1][:2]


def _plan(ways: Ways, push: Push, cells: int) -> list[int]:
    """The walk to where the push begins, and pushing on for some cells."""
    cell, direction = push
    plan = [direction] * cells
    while ways[cell][1] != STAY:
        cell, direction = ways[cell]
        plan.append(direction)
    return plan[::-1]


def _start(stream: np.random.Generator) -> NDArray[np.int64]:
    """The first three cells of the stream from which a push is possible."""
    while True:
        cells = stream.choice(FLOOR, 3, replace=False)
        agent, *boxes = cells.tolist()
        if _pushes(_ways(agent, boxes), boxes):
            return cells


def _stream(seed: int, purpose: int) -> np.random.Generator:
    assert seed >= 0, seed
    return np.random.Generator(np.random.Philox(key=np.array([seed, purpose], np.uint64)))
