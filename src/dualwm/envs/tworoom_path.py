"""Shortest ways through TwoRoom for the agent's centre, exactly: an analytic visibility graph with four corners.

The obstacle is the wall the centre feels (see `tworoom_core`). A shortest way is a straight line, or bends at one
corner of the doorway, or at two, one on each face.
"""

from itertools import product

import numpy as np
from numpy.typing import NDArray

from dualwm.envs.tworoom_core import BAND_HIGH, BAND_LOW, LEFT_FACE, RIGHT_FACE, SNAP_GAP, SPEED, distance, is_free

Points = NDArray[np.float64]

_CORNERS = np.array([(x, y) for x in (LEFT_FACE, RIGHT_FACE) for y in (BAND_LOW, BAND_HIGH)])
_LEFT, _RIGHT = (0, 1), (2, 3)
_ROUTES = [(c,) for c in (*_LEFT, *_RIGHT)] + [*product(_LEFT, _RIGHT), *product(_RIGHT, _LEFT)]
"""Which corners a way may bend at, in order, apart from the straight way."""

_POST_MARGIN = 2.0
_AIMS = np.array(
    [
        (x, y)
        for x in (LEFT_FACE - SNAP_GAP, RIGHT_FACE + SNAP_GAP)
        for y in (BAND_LOW + _POST_MARGIN, BAND_HIGH - _POST_MARGIN)
    ]
)
"""Where the expert aims instead of at a corner: a little before the face and off the post, so that nothing is hit."""


def _way_lengths(starts: Points, goals: Points) -> Points:
    """Length of the straight way and of every bent one, (b, 1 + routes); infinite where the wall is in the way."""
    from_start = _leg(starts[:, None], _CORNERS[None])
    to_goal = _leg(_CORNERS[None], goals[:, None])
    between = _leg(_CORNERS[:, None], _CORNERS[None])
    bent = [from_start[:, r[0]] + to_goal[:, r[-1]] + (between[r] if len(r) == 2 else 0.0) for r in _ROUTES]
    return np.stack([_leg(starts, goals), *bent], axis=1)


def _leg(a: Points, b: Points) -> Points:
    return np.where(is_free(a, b), distance(a, b), np.inf)


def path_px(starts: Points, goals: Points) -> Points:
    """Length in px of the shortest way from each start to its goal, (b,); infinite from or to a point in the wall."""
    return _way_lengths(starts, goals).min(axis=1)


_FIRST_AIM = np.array([r[0] for r in _ROUTES])


def expert_action(states: Points, goals: Points) -> NDArray[np.float32]:
    """The noise-free expert: along the shortest way at full speed, (b, 2); it arrives on the goal and stays there."""
    best = _way_lengths(states, goals).argmin(axis=1)
    aims = np.where((best == 0)[:, None], goals, _AIMS[_FIRST_AIM[best - 1]])
    ahead = aims - states
    reach = np.maximum(np.abs(ahead).max(axis=1, keepdims=True), SPEED)
    return (ahead / reach).astype(np.float32)
