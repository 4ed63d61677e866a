"""Pictures of PushT at any size: the walls, the block and the agent, in the colours of the original. No goal is drawn.

The picture covers the board's 512 units. A pixel takes of a shape's colour the share of it that the shape covers. For
the block that share is the product of two ramps, one along each axis of a rectangle, as wide as a pixel appears in that
direction; for the agent a ramp across its rim. Against true area averages this is a few grey levels off at corners.

Only the square around a shape is worked out. All of it is done element by element in float32 from sines and cosines in
float64, so that drawing a batch gives the bytes of drawing its rows one by one.
"""

import functools

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from dualwm.envs.pixels import area_weights, whole_levels
from dualwm.envs.pusht_core import AGENT, AGENT_RADIUS, ANGLE, BAR, BLOCK, BOARD, CENTRE, STEM, WALL_RADIUS, WALLS

_WHITE, _LIGHT_GREY = 255.0, 211.0
_BLOCK_COLOUR, _AGENT_COLOUR = (119, 136, 153), (65, 105, 225)
_BLOCK_RADIUS = float(np.hypot(STEM[2], STEM[3] - CENTRE[1]))
"""From the centre of gravity to the farthest corner of the block."""
_CHUNK_BYTES = 1 << 17
"""Frames are drawn in groups whose squares fit the processor's cache."""

Shares = NDArray[np.float32]


@functools.lru_cache(maxsize=8)
def _empty_board(size: int) -> NDArray[np.uint8]:
    low, high = WALLS
    outside, inside = (
        (int(low - WALL_RADIUS), int(high + WALL_RADIUS)),
        (int(low + WALL_RADIUS), int(high - WALL_RADIUS)),
    )
    grey = np.full((int(BOARD), int(BOARD)), _WHITE)
    grey[slice(*outside), slice(*outside)] = _LIGHT_GREY
    grey[slice(*inside), slice(*inside)] = _WHITE
    weights = area_weights(int(BOARD), size)
    levels = whole_levels(weights @ grey @ weights.T)
    board = np.repeat(levels[:, :, None], 3, axis=2)
    board.flags.writeable = False
    return board


def draw(states: NDArray[np.float64], size: int) -> NDArray[np.uint8]:
    """Pictures (b, size, size, 3) of the states (b, 10)."""
    board, unit = _empty_board(size), BOARD / size
    turned = np.ascontiguousarray(states[:, ANGLE])
    c, s = np.cos(turned), np.sin(turned)
    centre = states[:, BLOCK] + np.stack([c * CENTRE[0] - s * CENTRE[1], s * CENTRE[0] + c * CENTRE[1]], axis=1)
    wide = min(size, int(np.ceil(2 * _BLOCK_RADIUS / unit)) + 2)
    narrow = min(size, int(np.ceil(2 * AGENT_RADIUS / unit)) + 2)
    chunk = max(1, _CHUNK_BYTES // (4 * wide * wide))
    frames = np.empty((len(states), size, size, 3), np.uint8)
    for first in range(0, len(states), chunk):
        some = slice(first, first + chunk)
        frames[some] = board
        corner, dx, dy = _square(centre[some], wide, size)
        _stamp(frames[some], corner, _block_shares(dx, dy, c[some], s[some], unit), _BLOCK_COLOUR)
        corner, dx, dy = _square(states[some, AGENT], narrow, size)
        _stamp(frames[some], corner, _agent_shares(dx, dy, unit), _AGENT_COLOUR)
    return frames


def _square(middles: NDArray[np.float64], side: int, size: int) -> tuple[NDArray[np.int64], Shares, Shares]:
    """Upper left pixels (x, y) of squares around places, kept inside the picture, and how many units right of and below
    the places their columns and rows of pixels lie, (b, side) each."""
    unit = BOARD / size
    corner = np.clip(np.rint(np.clip(middles, -BOARD, 2 * BOARD) / unit - side / 2), 0, size - side).astype(np.int64)
    away = (corner[:, :, None] + np.arange(side) + 0.5) * unit - middles[:, :, None]
    return corner, away[:, 0].astype(np.float32), away[:, 1].astype(np.float32)


def _block_shares(dx: Shares, dy: Shares, c: NDArray[np.float64], s: NDArray[np.float64], unit: float) -> Shares:
    """(b, side, side): which share of each pixel the block covers, from offsets to its centre of gravity."""
    blur: Shares = ((np.abs(c) + np.abs(s)) * unit).astype(np.float32)[:, None, None]
    c32, s32 = c.astype(np.float32)[:, None], s.astype(np.float32)[:, None]
    x: Shares = np.add((c32 * dx)[:, None, :], (s32 * dy)[:, :, None])
    y: Shares = np.subtract((c32 * dy)[:, :, None], (s32 * dx)[:, None, :])
    x /= blur
    y /= blur
    shares = np.zeros_like(x)
    for left, top, right, bottom in (BAR, STEM):
        across = _ramp(x, left - CENTRE[0], right - CENTRE[0], blur)
        across *= _ramp(y, top - CENTRE[1], bottom - CENTRE[1], blur)
        shares += across
    return shares


def _ramp(places: Shares, low: float, high: float, blur: Shares) -> Shares:
    """Share of a pixel at `places` (in pixels) that lies between two lines (in units)."""
    upper: Shares = np.clip(np.float32(high) / blur - places, -0.5, 0.5)
    lower: Shares = np.clip(np.float32(low) / blur - places, -0.5, 0.5)
    upper -= lower
    return upper


def _agent_shares(dx: Shares, dy: Shares, unit: float) -> Shares:
    """(b, side, side): which share of each pixel the agent's disc covers."""
    away = np.sqrt((dx * dx)[:, None, :] + (dy * dy)[:, :, None])
    return np.clip((np.float32(AGENT_RADIUS) - away) / np.float32(unit) + np.float32(0.5), 0, 1)


def _stamp(frames: NDArray[np.uint8], corner: NDArray[np.int64], shares: Shares, colour: tuple[int, int, int]) -> None:
    """Blend a colour into one square of every frame."""
    count, size, side = len(frames), int(frames.shape[1]), int(shares.shape[1])
    rows = frames.reshape(count, size, size * 3)
    windows = sliding_window_view(rows, (side, side * 3), axis=(1, 2), writeable=True)  # pyright: ignore[reportCallIssue, reportArgumentType]
    at = np.arange(count), corner[:, 1], corner[:, 0] * 3
    under = windows[at].reshape(count, side, side, 3)
    blended = np.empty(under.shape, np.uint8)
    rest = np.float32(1) - shares
    for channel, level in enumerate(colour):
        blended[..., channel] = under[..., channel] * rest + (shares * np.float32(level) + np.float32(0.5))
    windows[at] = blended.reshape(count, side, side * 3)
