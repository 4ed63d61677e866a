"""The board of Sokoban-Long and its one law of motion: walk, push one box, never pull.

The board has 10 x 10 cells, (row, column) from the upper left. Its edge is a wall, and six cells in two short bars are
walls too. A state is six numbers: the cells of the agent, of the first box and of the second box. Which box is first
never changes, and never matters to success.

Inside, a cell is one number, 10 row + column, and everything that is no floor is the number `SOLID`.
"""

import numpy as np
from numpy.typing import NDArray

from dualwm.envs.base import Floats, action_rows, state_rows
from dualwm.errors import WorldError

Cells = NDArray[np.int64]
"""(b, 3), cell numbers of agent, first box and second box."""

SIDE = 10
WALLS = ((3, 3), (3, 4), (3, 5), (6, 4), (6, 5), (6, 6))
STAY, UP, DOWN, LEFT, RIGHT = range(5)
MOVES = (UP, DOWN, LEFT, RIGHT)
ACTIONS = 5
BACK = (STAY, DOWN, UP, RIGHT, LEFT)
"""The opposite of every action."""
_STEPS = np.array([(0, 0), (-1, 0), (1, 0), (0, -1), (0, 1)])
SOLID = SIDE * SIDE

_PLACES = np.stack(np.divmod(np.arange(SIDE * SIDE), SIDE), axis=1)
IS_WALL = np.isin(np.arange(SIDE * SIDE), [SIDE * row + column for row, column in WALLS])
FLOOR: NDArray[np.int64] = np.flatnonzero(~IS_WALL)
"""The 94 cells that agent and boxes can be on."""


def _next_cells() -> NDArray[np.int64]:
    """(action, cell) -> the cell one step further; from `SOLID` nothing leads away."""
    steps = np.full((ACTIONS, SOLID + 1), SOLID)
    for action, step in enumerate(_STEPS):
        to = _PLACES + step
        inside = ((to >= 0) & (to < SIDE)).all(axis=1)
        number = np.where(inside, to[:, 0] * SIDE + to[:, 1], SOLID)
        steps[action, :SOLID] = np.where(np.append(IS_WALL, True)[number], SOLID, number)
    return steps


NEXT = _next_cells()


def move(cells: Cells, actions: NDArray[np.int64]) -> Cells:
    """The cells (b, 3) after the actions (b,). A step into a wall, or a push that is blocked, changes nothing."""
    agent, boxes = cells[:, 0], cells[:, 1:]
    ahead = NEXT[actions, agent]
    beyond = NEXT[actions, ahead]
    pushed = boxes == ahead[:, None]
    box_is_stuck = (beyond == SOLID) | (boxes == beyond[:, None]).any(axis=1)
    goes = (ahead != SOLID) & ~(pushed.any(axis=1) & box_is_stuck)
    after = cells.copy()
    after[:, 0] = np.where(goes, ahead, agent)
    after[:, 1:] = np.where(pushed & goes[:, None], beyond[:, None], boxes)
    return after


class SokobanSimulation:
    """b boards that step together. Nothing in them is random."""

    def __init__(self, starts: Floats):
        self._cells = lawful_cells("starts", starts)

    @property
    def cells(self) -> Cells:
        """(b, 3), the cell numbers of agent and boxes."""
        return self._cells

    @property
    def states(self) -> NDArray[np.float64]:
        """(b, 6), rows and columns of agent and boxes."""
        return states_of_cells(self._cells)

    def step(self, actions: Floats) -> NDArray[np.float64]:
        """Take one action per board, the largest number of each row of (b, 5); the states afterwards."""
        rows = action_rows("sokoban", actions, (len(self._cells), ACTIONS))
        self._cells = move(self._cells, rows.argmax(axis=1))
        return self.states

    def take(self, rows: NDArray[np.int64]) -> "SokobanSimulation":
        """An independent simulation of some of the boards."""
        taken = object.__new__(SokobanSimulation)
        taken._cells = self._cells[rows]
        return taken


def states_of_cells(cells: Cells) -> NDArray[np.float64]:
    """States (b, 6) of cell numbers (b, 3)."""
    return _PLACES[cells].reshape(len(cells), 6).astype(np.float64)


def cells_of_states(name: str, values: object) -> Cells:
    """Cell numbers (b, 3) of states (b, 6), or an error naming the first row with a piece that is on no cell."""
    rows = state_rows(name, values, 6)
    whole = (rows == np.rint(rows)) & (rows >= 0) & (rows < SIDE)
    if not whole.all():
        _refuse(name, rows, ~whole.all(axis=1))
    places = rows.astype(np.int64)
    return places[:, 0::2] * SIDE + places[:, 1::2]


def lawful_cells(name: str, values: object) -> Cells:
    """Cell numbers (b, 3) of states that can occur: agent and boxes on three different floor cells."""
    cells = cells_of_states(name, values)
    agent, first, second = cells.T
    bad = IS_WALL[cells].any(axis=1) | (agent == first) | (agent == second) | (first == second)
    if bad.any():
        _refuse(name, state_rows(name, values, 6), bad)
    return cells


def _refuse(name: str, rows: NDArray[np.float64], bad: NDArray[np.bool_]) -> None:
    row = int(np.argmax(bad))
    raise WorldError(
        f"{name} should hold boards of Sokoban: (row, column) of the agent, of the first and of the second box, whole "
        f"numbers from 0 to {SIDE - 1}, three different cells, none of them among the walls {list(WALLS)}. Row {row} "
        f"is {tuple(rows[row].tolist())}."
    )
