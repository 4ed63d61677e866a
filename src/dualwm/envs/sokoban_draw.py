"""Pictures of Sokoban at any size: floor, walls, two parcels and a round agent. No target is ever drawn.

A picture is defined at 960 pixels, 96 to a cell, and averaged over areas for other sizes. Cells do not overlap and
averaging is linear, so what a piece changes in the empty board depends on its cell alone: the changes are worked out
once for each size, in whole grey levels, and a picture is the empty board with three of them added.

A piece keeps a little floor around it. From 60 pixels on, two pieces therefore never share a pixel and the picture is
the area average, rounded; in a smaller picture of pieces side by side a shared pixel may be a grey level or two off.
All sums are of whole numbers: drawing a batch gives the bytes of drawing its rows one by one.
"""

import functools
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from dualwm.envs.pixels import area_weights, whole_levels
from dualwm.envs.sokoban_core import IS_WALL, SIDE, Cells

_CELL = 96
"""Pixels to a cell where pictures are defined."""
_MARGIN = 8
"""Floor around a box."""
_RIM, _TAPE = 10, 20
"""Widths of a box's rim and of the tape across it."""
_AGENT_RADIUS = 40

_FLOORS = ((226, 221, 212), (218, 212, 202))
"""Two tones, as on a chessboard: cells can be counted."""
_WALL = (58, 64, 78)
_CARDBOARD, _EDGE, _STICKY = (199, 138, 66), (116, 70, 28), (240, 205, 140)
_BLUE = (40, 92, 214)

Colours = NDArray[np.float64]


def _box() -> tuple[Colours, Colours]:
    """Colours (96, 96, 3) and coverage (96, 96, 1) of a box: a parcel with a dark rim and a strip of tape."""
    colour, cover = np.empty((_CELL, _CELL, 3)), np.zeros((_CELL, _CELL, 1))
    outside, inside = slice(_MARGIN, _CELL - _MARGIN), slice(_MARGIN + _RIM, _CELL - _MARGIN - _RIM)
    colour[:] = _EDGE
    colour[inside, inside] = _CARDBOARD
    colour[inside, (_CELL - _TAPE) // 2 : (_CELL + _TAPE) // 2] = _STICKY
    cover[outside, outside] = 1
    return colour, cover


def _agent() -> tuple[Colours, Colours]:
    """Colours and coverage of the agent: a disc."""
    colour = np.empty((_CELL, _CELL, 3))
    colour[:] = _BLUE
    from_middle = np.arange(_CELL) + 0.5 - _CELL / 2
    return colour, (np.hypot(from_middle[:, None], from_middle[None]) < _AGENT_RADIUS)[:, :, None].astype(np.float64)


def _ground() -> Colours:
    """Colours (10, 10, 3) of the empty board's cells."""
    tone = np.add.outer(np.arange(SIDE), np.arange(SIDE)) % 2
    colours = np.array(_FLOORS, np.float64)[tone]
    colours[IS_WALL.reshape(SIDE, SIDE)] = _WALL
    return colours


@dataclass(frozen=True)
class _Canvas:
    """What all pictures of one size share."""

    board: NDArray[np.uint8]
    """(size, size, 3), floor and walls."""
    corners: NDArray[np.int64]
    """(cells, 2), the upper left pixel of the square that a piece on the cell can change."""
    changes: NDArray[np.uint8]
    """(2, cells, square, square * 3): what the agent and what a box adds to the board, modulo 256."""


@functools.lru_cache(maxsize=8)
def _canvas(size: int) -> _Canvas:
    weights = area_weights(SIDE * _CELL, size).reshape(size, SIDE, _CELL)
    ground, shares = _ground(), weights.sum(2)
    empty = np.einsum("yr,rcd,xc->yxd", shares, ground, shares, optimize=True)
    board = whole_levels(empty)
    begin = np.arange(SIDE) * size // SIDE
    square = int((-(-(np.arange(SIDE) + 1) * size // SIDE) - begin).max())
    begin = np.minimum(begin, size - square)
    changes = np.empty((2, SIDE * SIDE, square, square, 3), np.uint8)
    for kind, (colour, cover) in enumerate((_agent(), _box())):
        for row, column in np.ndindex(SIDE, SIDE):
            at = slice(begin[row], begin[row] + square), slice(begin[column], begin[column] + square)
            change = cover * (colour - ground[row, column])
            down, across = weights[at[0], row], weights[at[1], column]
            levels = whole_levels(empty[at] + np.einsum("yi,ijd,xj->yxd", down, change, across, optimize=True))
            changes[kind, row * SIDE + column] = levels - board[at]
    board.flags.writeable = False
    corners = np.stack(np.meshgrid(begin, begin, indexing="ij"), axis=-1).reshape(-1, 2)
    return _Canvas(board, corners, changes.reshape(2, SIDE * SIDE, square, square * 3))


def draw(cells: Cells, size: int) -> NDArray[np.uint8]:
    """Pictures (b, size, size, 3) of boards with agent and boxes on the cells (b, 3)."""
    canvas = _canvas(size)
    count, square = len(cells), canvas.changes.shape[2]
    frames = np.empty((count, size, size, 3), np.uint8)
    frames[:] = canvas.board
    rows = frames.reshape(count, size, size * 3)
    windows = sliding_window_view(rows, (square, square * 3), axis=(1, 2), writeable=True)  # pyright: ignore[reportCallIssue, reportArgumentType]
    each = np.arange(count)
    for piece, kind in ((0, 0), (1, 1), (2, 1)):
        cell = cells[:, piece]
        y, x = canvas.corners[cell].T
        windows[each, y, x * 3] += canvas.changes[kind, cell]
    return frames
