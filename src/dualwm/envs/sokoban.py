"""Sokoban-Long as a `World`: a fixed board with two boxes, five actions, and a goal that only its picture shows."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualwm.envs import sokoban_behaviour, sokoban_draw, sokoban_path
from dualwm.envs.base import Column, Floats, choose, drawn_column
from dualwm.envs.sokoban_behaviour import Behaviour
from dualwm.envs.sokoban_core import (
    ACTIONS,
    SIDE,
    Cells,
    SokobanSimulation,
    lawful_cells,
    states_of_cells,
)
from dualwm.errors import WorldError
from dualwm.records import ColumnSpec

LENIENT_GAP = 4


@dataclass(frozen=True, kw_only=True)
class Sokoban:
    """States are (row, column) of the agent and of two boxes; actions are one-hot: stay, up, down, left, right.

    A goal is a state. `gap4`, the rule of the authors' release and of its reported numbers, is lenient: the agent and
    both boxes may be up to four cells away from it, counted together. `exact` wants both boxes where the goal has them
    (in either order) and does not ask for the agent.
    """

    behaviour: Behaviour = field(default_factory=Behaviour)

    name = "sokoban"
    action_dim = ACTIONS
    discrete = True
    action_low = 0.0
    action_high = 1.0
    noop_action = (1.0, 0.0, 0.0, 0.0, 0.0)
    cameras = ("front",)
    state_width = 6
    distance_unit = "cells"
    rules = ("gap4", "exact")
    variants = ("push",)
    columns = (
        ColumnSpec(name="cells", kind="array", dtype="uint8", shape=(6,), role="state"),
        ColumnSpec(name="proprio", kind="array", dtype="float32", shape=(2,), role="proprio"),
        ColumnSpec(name="action", kind="array", dtype="float32", shape=(ACTIONS,), role="action"),
        drawn_column("sokoban", "cells"),
    )

    @property
    def behaviour_law(self) -> Mapping[str, Any]:
        """The recipe `episode` follows, as plain data."""
        return {
            "name": "walks to random boxes and pushes them some way, with random actions between",
            **asdict(self.behaviour),
        }

    def simulate(self, starts: Floats, seeds: Sequence[int], variant: str = "push") -> SokobanSimulation:
        """b boards set to `starts`. The motion is not random: the seeds change nothing."""
        assert len(seeds) == len(starts), (len(seeds), len(starts))
        choose("dynamics variant", variant, self.variants, self.name)
        return SokobanSimulation(starts)

    def draw(self, states: Floats, size: int, camera: str = "front") -> NDArray[np.uint8]:
        """Pictures (b, size, size, 3); a batch gives the bytes of its rows drawn one by one."""
        choose("camera", camera, self.cameras, self.name)
        if size < SIDE:
            raise WorldError(f"A picture of Sokoban needs a side of at least {SIDE} pixels; asked for {size}.")
        return sokoban_draw.draw(lawful_cells("states", states), size)

    def proprio(self, states: Floats) -> dict[str, NDArray[np.float32]]:
        """The agent's cell."""
        return {"proprio": states[:, :2].astype(np.float32)}

    def success(
        self, states: Floats, goals: Floats, rule: str = "gap4"
    ) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Whether each goal is reached, and the gap to it in cells: of boxes and agent (`gap4`) or boxes (`exact`)."""
        choose("success rule", rule, self.rules, self.name)
        boxes = box_gap(states, goals)
        if rule == "exact":
            return boxes == 0, boxes
        total = boxes + agent_gap(states, goals)
        return total <= LENIENT_GAP, total

    def path_env_steps(self, starts: Floats, goals: Floats) -> NDArray[np.float64]:
        """Fewest environment steps from each start to its whole goal state, the agent's cell included; exact, (b,)."""
        return sokoban_path.path_env_steps(lawful_cells("starts", starts), lawful_cells("goals", goals))

    def planar(self, states: Floats) -> NDArray[np.float64]:
        """Where on the picture the agent is, as shares of its width and height, (b, 2)."""
        return (states[:, 1::-1] + 0.5) / SIDE

    def facts(self, start: Floats, goal: Floats) -> dict[str, float]:
        """`box_gap`, the least number of pushes the goal could take, and `agent_gap`, in cells."""
        starts, goals = np.atleast_2d(start), np.atleast_2d(goal)
        return {"agent_gap": float(agent_gap(starts, goals)[0]), "box_gap": float(box_gap(starts, goals)[0])}

    def expert_action(self, states: Floats, goals: Floats) -> NDArray[np.float32]:
        """The first action of a shortest way to the whole goal state, the agent's cell included, (b, 5)."""
        actions = sokoban_path.expert_actions(lawful_cells("states", states), lawful_cells("goals", goals))
        return np.eye(ACTIONS, dtype=np.float32)[actions]

    def episode(self, seed: int, max_env_steps: int = 200) -> dict[str, Column]:
        """One episode of the behaviour; see `sokoban_behaviour` for the recipe."""
        return self.episodes([seed], max_env_steps)[0]

    def episodes(self, seeds: Sequence[int], max_env_steps: int = 200) -> list[dict[str, Column]]:
        """One episode per seed, walked together; the same bytes as one by one."""
        return [_columns(*walk) for walk in sokoban_behaviour.generate(seeds, max_env_steps, self.behaviour)]


def agent_gap(states: Floats, goals: Floats) -> NDArray[np.float64]:
    """Rows plus columns between the agent and where the goal has it."""
    return _cells_apart(states[:, :2], goals[:, :2])


def box_gap(states: Floats, goals: Floats) -> NDArray[np.float64]:
    """Rows plus columns between the boxes and where the goal has boxes, for the nearer of the two assignments."""
    (a, b), (c, d) = ((x[:, 2:4], x[:, 4:6]) for x in (states, goals))
    return np.minimum(_cells_apart(a, c) + _cells_apart(b, d), _cells_apart(a, d) + _cells_apart(b, c))


def _cells_apart(a: Floats, b: Floats) -> NDArray[np.float64]:
    return np.abs(a.astype(np.float64) - b).sum(axis=1)


def _columns(cells: Cells, actions: NDArray[np.int64]) -> dict[str, Column]:
    """Row t is the board at t and the action taken from it; the last row's action was never taken and is NaN."""
    states = states_of_cells(cells)
    never = np.full((1, ACTIONS), np.nan, np.float32)
    return {
        "cells": states.astype(np.uint8),
        "proprio": states[:, :2].astype(np.float32),
        "action": np.concatenate([np.eye(ACTIONS, dtype=np.float32)[actions], never]),
    }
