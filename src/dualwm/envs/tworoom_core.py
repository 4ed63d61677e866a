"""TwoRoom's geometry and motion: two rooms, one wall, one door, an agent that is moved by at most 5 px per axis.

Positions are (x, y) of the agent's centre in a 224-unit picture, y downwards. The centre keeps 7 px, the agent's
radius, from everything solid, so the wall it feels is the drawn wall grown by that radius: the strip 100 < x < 124
except in the door band 33.25 <= y <= 64.75 (the door grown by a quarter radius: the agent may brush the posts).

Positions live on the float32 grid although they are computed in float64. A recorded float32 position is therefore the
whole state, and replaying recorded actions from ANY recorded row reproduces the rows after it to the last bit.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualwm.envs.base import action_rows, choose, state_rows
from dualwm.errors import WorldError

Floats = NDArray[np.floating[Any]]
Points = NDArray[np.float64]

CANVAS = 224.0
RADIUS = 7.0
SPEED = 5.0
"""Pixels per axis and environment step at full action."""
LOW, HIGH = 21.0, 203.0
"""Both coordinates are clamped to these: the 14-px border plus the radius."""
WALL_X, WALL_HALF = 112.0, 5.0
LEFT_FACE, RIGHT_FACE = WALL_X - WALL_HALF - RADIUS, WALL_X + WALL_HALF + RADIUS
SNAP_GAP = 0.5
"""How far before the face the `snap` rule sets an agent down."""
DOOR_Y, DOOR_HALF = 49.0, 14.0
BAND_LOW, BAND_HIGH = DOOR_Y - DOOR_HALF - RADIUS / 4, DOOR_Y + DOOR_HALF + RADIUS / 4
REACH = 16.0
"""A goal is reached at a Euclidean distance below this."""


def on_float32_grid(points: Points) -> Points:
    """The nearest float32 values, as float64."""
    return points.astype(np.float32).astype(np.float64)


def in_band(y: Points) -> NDArray[np.bool_]:
    """Whether a height lies in the door band."""
    return (y >= BAND_LOW) & (y <= BAND_HIGH)


def in_wall(points: Points) -> NDArray[np.bool_]:
    """Whether a centre lies where the wall does not let it be."""
    x, y = points[:, 0], points[:, 1]
    return (x > LEFT_FACE) & (x < RIGHT_FACE) & ~in_band(y)


def distance(a: Points, b: Points) -> Points:
    """Euclidean distance of rows; written out so that its bits depend neither on batch nor on a math library."""
    dx, dy = a[..., 0] - b[..., 0], a[..., 1] - b[..., 1]
    return np.sqrt(dx * dx + dy * dy)


def is_free(a: Points, b: Points) -> NDArray[np.bool_]:
    """Whether a straight walk of the centre from a to b stays clear of the wall; touching it is allowed.

    Inside the strip between the faces both ends of the walk's part there must lie in the door band, which is convex.
    """
    ax, ay, bx, by = a[..., 0], a[..., 1], b[..., 0], b[..., 1]
    span = bx - ax
    slope = np.divide(by - ay, span, out=np.zeros(np.broadcast(ax, bx).shape), where=span != 0)
    first, last = np.clip(ax, LEFT_FACE, RIGHT_FACE), np.clip(bx, LEFT_FACE, RIGHT_FACE)
    y_first = np.where(first == ax, ay, ay + slope * (first - ax))
    y_last = np.where(last == bx, by, by + slope * (last - bx))
    strip = (np.maximum(ax, bx) > LEFT_FACE) & (np.minimum(ax, bx) < RIGHT_FACE)
    return ~strip | (in_band(y_first) & in_band(y_last))


def snap(old: Points, new: Points) -> Points:
    """The end-point rule: whoever ends in the wall is set down half a pixel before the face of the side it left from.

    Only the end of the step is tested. So a step may cut the corner of a door post, and leaving the door band sideways
    inside the wall throws the agent back to its own side.
    """
    left = old[:, 0] < WALL_X
    beyond = np.where(left, new[:, 0] > LEFT_FACE, new[:, 0] < RIGHT_FACE)
    hit = beyond & ~in_band(new[:, 1])
    beside = np.where(left, LEFT_FACE - SNAP_GAP, RIGHT_FACE + SNAP_GAP)
    return np.stack([np.where(hit, beside, new[:, 0]), new[:, 1]], axis=1)


def sweep(old: Points, new: Points) -> Points:
    """The swept rule: the whole straight step is tested, and what it meets first stops the motion across it.

    Meeting a wall face (x = 100 or 124 outside the door band) stops x there and y goes on; meeting the top or bottom
    of the door passage (y = 33.25 or 64.75 between the faces) stops y there and x goes on. A step is shorter than the
    wall is thick and the door high, so it meets one thing only, and the straight line between two consecutive
    positions never enters the wall.
    """
    x, y = old[:, 0], old[:, 1]
    face = np.where(x <= LEFT_FACE, LEFT_FACE, RIGHT_FACE)
    outside = (x <= LEFT_FACE) | (x >= RIGHT_FACE)
    span = new[:, 0] - x
    share = np.divide(face - x, span, out=np.zeros_like(x), where=span != 0)
    stops_x = outside & ~in_band(y + (new[:, 1] - y) * share)
    slid_x = np.where(stops_x, face, new[:, 0])
    slid_y = np.where(stops_x, new[:, 1], np.clip(new[:, 1], BAND_LOW, BAND_HIGH))
    return np.where(is_free(old, new)[:, None], new, np.stack([slid_x, slid_y], axis=1))


COLLISIONS = {"snap": snap, "swept": sweep}


class TwoRoomSimulation:
    """b rooms that step together."""

    def __init__(self, starts: Floats, collision: str = "snap"):
        self._collide = COLLISIONS[choose("dynamics variant", collision, tuple(COLLISIONS), "tworoom")]
        self._states = on_float32_grid(free_points("starts", starts))

    @property
    def states(self) -> Points:
        """(b, 2), the agents' centres. A step makes a new array, so what was handed out stays as it was."""
        return self._states

    def step(self, actions: Floats) -> Points:
        """Move by 5 px times the actions (b, 2), clamped to [-1, 1]; the positions afterwards."""
        rows = action_rows("tworoom", actions, self._states.shape)
        moved = self._states + SPEED * np.clip(rows, -1.0, 1.0)
        new = np.clip(moved, LOW, HIGH)
        self._states = on_float32_grid(self._collide(self._states, new))
        return self._states

    def take(self, rows: NDArray[np.int64]) -> "TwoRoomSimulation":
        """An independent simulation of some of the rooms."""
        taken = object.__new__(TwoRoomSimulation)
        taken._collide, taken._states = self._collide, self._states[rows]
        return taken


def free_points(name: str, values: object) -> Points:
    """`values` as positions (b, 2) inside the picture and outside the wall, or an error naming the first that is not.

    Positions nearer to the border than the clamp are taken as they are: the first step brings them in.
    """
    points = state_rows(name, values, 2)
    bad = in_wall(points) | (points < 0).any(axis=1) | (points > CANVAS).any(axis=1)
    if bad.any():
        row = int(np.argmax(bad))
        raise WorldError(
            f"{name} should hold positions an agent of TwoRoom can have: inside the {CANVAS:g}-px picture and not in "
            f"the wall ({LEFT_FACE:g} < x < {RIGHT_FACE:g} outside the door band {BAND_LOW:g} <= y <= {BAND_HIGH:g}). "
            f"Row {row} is {tuple(points[row].tolist())}. Choose a position in a room or in the doorway."
        )
    return points
