"""Pictures of Sokoban at any size of 10 pixels and more: floor, walls, two parcels and a round agent. No target is drawn.

Every edge lies between two pixels, so that pictures are sharp at any size: cell i begins at pixel i s / 10, rounded, and
a piece is a sprite of s // 10 pixels a side in the upper left of its cell. It looks the same wherever it stands, except
for the floor that shows beside it. Only the agent's outline is smoothed.

A picture is made of copied pixels alone: drawing a batch gives the bytes of drawing its rows one by one.
"""

import functools
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from dualwm.envs.sokoban_core import IS_WALL, SIDE, Cells

_FLOORS = ((226, 221, 212), (218, 212, 202))
"""Two tones, as on a chessboard: cells can be counted."""
_WALL = (58, 64, 78)
_CARDBOARD, _RIM, _TAPE = (199, 138, 66), (116, 70, 28), (240, 205, 140)
_AGENT = (40, 92, 214)
_AGENT_RADIUS = 0.44
"""In sides of a sprite."""
_PLAIN_BELOW = 4
"""Smaller sprites are a single colour."""
_SAMPLES = 8
"""The agent's outline is sampled this often per pixel and axis."""

Colours = NDArray[np.float64]


@dataclass(frozen=True)
class _Canvas:
    """What all pictures of one size share."""

    board: NDArray[np.uint8]
    """(size, size, 3), floor and walls."""
    corners: NDArray[np.int64]
    """(cells, 2), the upper left pixel of every cell."""
    sprites: NDArray[np.uint8]
    """(2, cells, side, side * 3): the agent and a box on every cell, with the floor around them."""


@functools.lru_cache(maxsize=8)
def _canvas(size: int) -> _Canvas:
    edges = (2 * np.arange(SIDE + 1) * size + SIDE) // (2 * SIDE)
    rows, columns = np.divmod(np.arange(SIDE * SIDE), SIDE)
    board = np.empty((size, size, 3), np.uint8)
    for y, x, wall in zip(rows.tolist(), columns.tolist(), IS_WALL.tolist(), strict=True):
        board[edges[y] : edges[y + 1], edges[x] : edges[x + 1]] = _WALL if wall else _FLOORS[(y + x) % 2]
    corners = np.stack([edges[rows], edges[columns]], axis=1)
    side = size // SIDE
    ground = np.stack([board[y : y + side, x : x + side] for y, x in corners.tolist()]).astype(np.float64)
    sprites = [np.floor(ground + cover * (colour - ground) + 0.5) for colour, cover in (_agent(side), _box(side))]
    board.flags.writeable = False
    return _Canvas(board, corners, np.stack(sprites).astype(np.uint8).reshape(2, SIDE * SIDE, side, side * 3))


def _box(side: int) -> tuple[Colours, Colours]:
    """Colours (side, side, 3) and coverage (side, side, 1) of a box: a parcel with a dark rim and a strip of tape."""
    colour = np.empty((side, side, 3))
    colour[:] = _CARDBOARD
    if side >= _PLAIN_BELOW:
        rim, half_tape = max(1, round(0.1 * side)), max(1, round(0.1 * side))
        middle = slice((side - 1) // 2 - half_tape + 1, side // 2 + half_tape)
        colour[:, middle] = _TAPE
        colour[:rim], colour[side - rim :], colour[:, :rim], colour[:, side - rim :] = (_RIM,) * 4
    return colour, np.ones((side, side, 1))


def _agent(side: int) -> tuple[Colours, Colours]:
    """Colours and coverage of the agent: a disc with a smooth outline."""
    colour = np.empty((side, side, 3))
    colour[:] = _AGENT
    if side < _PLAIN_BELOW:
        return colour, np.ones((side, side, 1))
    at = (np.arange(side * _SAMPLES) + 0.5) / (side * _SAMPLES) - 0.5
    inside = at[:, None] ** 2 + at[None] ** 2 < _AGENT_RADIUS**2
    return colour, inside.reshape(side, _SAMPLES, side, _SAMPLES).mean((1, 3))[:, :, None]


def draw(cells: Cells, size: int) -> NDArray[np.uint8]:
    """Pictures (b, size, size, 3) of boards with agent and boxes on the cells (b, 3)."""
    canvas = _canvas(size)
    count, side = len(cells), size // SIDE
    frames = np.empty((count, size, size, 3), np.uint8)
    frames[:] = canvas.board
    windows = sliding_window_view(frames.reshape(count, size, size * 3), (side, side * 3), axis=(1, 2), writeable=True)  # pyright: ignore[reportCallIssue, reportArgumentType]
    each = np.arange(count)
    for piece, kind in ((1, 1), (2, 1), (0, 0)):
        cell = cells[:, piece]
        y, x = canvas.corners[cell].T
        windows[each, y, x * 3] = canvas.sprites[kind, cell]
    return frames
