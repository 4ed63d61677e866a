"""Pictures of TwoRoom at any size: a fixed background and a red Gaussian dot. The goal is never drawn.

The background is defined at 224 px (white floor, a black frame 4 px thick just outside the 14-px border, a black wall
with a white door) and averaged over areas for other sizes. Pixel i of a picture of size s sits at the coordinate
(i + 0.5) * 224 / s - 0.5, and the dot covers it with alpha = exp(-(dx^2 + dy^2) / (2 * 7^2)).

A picture is a function of its own state only: the dot's profile is computed in float64 and blended with single float32
operations, so that drawing a batch gives the bytes of drawing its rows one by one.
"""

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from dualwm.envs.pixels import area_weights, whole_levels
from dualwm.envs.tworoom_core import CANVAS, DOOR_HALF, DOOR_Y, RADIUS, WALL_HALF, WALL_X

_BORDER, _LINE = 14, 4
_DOT_REACH = RADIUS * math.sqrt(2 * math.log(2 * 255))
"""Beyond this distance in px the dot changes a value by less than half a grey level, that is not at all."""
_CHUNK_BYTES = 1 << 17
"""Frames are drawn in groups whose dots fit the processor's cache."""


def _full_size_background() -> NDArray[np.float64]:
    side = int(CANVAS)
    grey = np.full((side, side), 255.0)
    outer, inner = slice(_BORDER - _LINE, side - _BORDER + _LINE), slice(_BORDER, side - _BORDER)
    grey[outer, outer] = 0.0
    grey[inner, inner] = 255.0
    grey[inner, int(WALL_X - WALL_HALF) : int(WALL_X + WALL_HALF) + 1] = 0.0
    grey[int(DOOR_Y - DOOR_HALF) : int(DOOR_Y + DOOR_HALF) + 1, inner] = 255.0
    return grey


@dataclass(frozen=True)
class _Canvas:
    """What all pictures of one size share."""

    rooms: NDArray[np.uint8]
    """(size, size, 3), the empty rooms."""
    squares: NDArray[np.float32]
    """(places, places, patch, patch), every square of the empty rooms in grey that a dot may cover."""


@functools.lru_cache(maxsize=8)
def _canvas(size: int) -> _Canvas:
    weights = area_weights(int(CANVAS), size)
    grey = whole_levels(weights @ _full_size_background() @ weights.T)
    patch = min(size, math.floor(2 * _DOT_REACH * size / CANVAS) + 1)
    rooms = np.repeat(grey[:, :, None], 3, axis=2)
    rooms.flags.writeable = False
    return _Canvas(rooms, sliding_window_view(grey.astype(np.float32), (patch, patch)))


def draw(states: NDArray[np.float64], size: int) -> NDArray[np.uint8]:
    """Pictures (b, size, size, 3) of agents at the states (b, 2)."""
    canvas = _canvas(size)
    chunk = max(1, _CHUNK_BYTES // (4 * canvas.squares.shape[-1] ** 2))
    frames = np.empty((len(states), size, size, 3), np.uint8)
    for first in range(0, len(states), chunk):
        some = slice(first, first + chunk)
        frames[some].reshape(-1, canvas.rooms.size)[:] = canvas.rooms.reshape(-1)
        _stamp(frames[some], states[some], canvas.squares)
    return frames


def _stamp(frames: NDArray[np.uint8], states: NDArray[np.float64], squares: NDArray[np.float32]) -> None:
    """Blend each frame's dot into the one square of the picture that it can change."""
    count, size, patch = len(frames), int(frames.shape[1]), int(squares.shape[-1])
    unit = CANVAS / size
    nearest = np.ceil((states - _DOT_REACH + 0.5) / unit - 0.5).astype(np.int64)
    corner: NDArray[np.int64] = np.clip(nearest, 0, size - patch)
    places = (corner[:, :, None] + np.arange(patch) + 0.5) * unit - 0.5
    offsets = places - states[:, :, None]
    profile = np.exp(offsets * offsets * (-0.5 / RADIUS**2)).astype(np.float32)
    alpha = profile[:, 1, :, None] * profile[:, 0, None, :]

    x, y = corner[:, 0], corner[:, 1]
    under = squares[y, x]
    rest = under - under * alpha + np.float32(0.5)
    dots = np.empty((count, patch, patch, 3), np.uint8)
    dots[..., 0] = rest + np.float32(255) * alpha
    dots[..., 1] = dots[..., 2] = rest.astype(np.uint8)

    rows = frames.reshape(count, size, size * 3)
    windows = sliding_window_view(rows, (patch, patch * 3), axis=(1, 2), writeable=True)  # pyright: ignore[reportCallIssue, reportArgumentType]
    windows[np.arange(count), y, x * 3] = dots.reshape(count, patch, patch * 3)
