"""Ways to push the T: where an agent may touch it, what a push there does, and how to get there around the block.

All of it is worked out in the block's own frame. Contact is without friction and the block without momentum, so an
agent that stays at one place of the block's edge moves it by a constant twist: for every unit it advances, the centre
of gravity goes j f and the block turns by j (r x f) / I, with f the inward normal, r from the centre of gravity to the
contact and j = 1 / (1 + (r x f)^2 / I) for a block of mass 1. How long a push takes the block where is therefore known
exactly, and choosing one is comparing a few hundred candidates.
"""

from itertools import product

import numpy as np
from numpy.typing import NDArray

from dualwm.envs.pusht_core import (
    AGENT,
    AGENT_RADIUS,
    AGENT_SPEED,
    ANGLE,
    BAR,
    BLOCK,
    BOARD,
    CENTRE,
    INERTIA,
    MOMENTUM,
    PULL,
    REACH,
    STEM,
)

Points = NDArray[np.float64]
Rows = NDArray[np.int64]

_SIDES = (
    ((0.0, -1.0), [(x, BAR[1]) for x in (-48.0, -24.0, 0.0, 24.0, 48.0)]),
    ((-1.0, 0.0), [(BAR[0], 15.0)]),
    ((1.0, 0.0), [(BAR[2], 15.0)]),
    ((0.0, 1.0), [(x, BAR[3]) for x in (-54.0, -36.0, 36.0, 54.0)]),
    ((-1.0, 0.0), [(STEM[0], y) for y in (56.0, 76.0, 96.0, 114.0)]),
    ((1.0, 0.0), [(STEM[2], y) for y in (56.0, 76.0, 96.0, 114.0)]),
    ((0.0, 1.0), [(x, STEM[3]) for x in (-10.0, 0.0, 10.0)]),
)
"""Outward normals of the block's edges, and the places on them where a push may begin."""
_EDGE = np.array([place for _, places in _SIDES for place in places])
_OUT = np.array([normal for normal, places in _SIDES for _ in places])
CONTACTS = len(_EDGE)
_SEAT = _EDGE + AGENT_RADIUS * _OUT
"""Where the agent's centre is while it pushes."""
_STAND = _SEAT + 6.0 * _OUT
"""Where it takes position."""

_ARM = _EDGE - CENTRE
_TORQUE = _ARM[:, 1] * _OUT[:, 0] - _ARM[:, 0] * _OUT[:, 1]
_GIVE = 1.0 / (1.0 + _TORQUE**2 / INERTIA)
_DRIFT = -_GIVE[:, None] * _OUT
_TURN = _GIVE * _TORQUE / INERTIA
"""Motion of the centre of gravity and turning, for every unit of advance."""
_SEAT_ARM = _SEAT - CENTRE
_FOLLOW = _DRIFT + _TURN[:, None] * np.stack([-_SEAT_ARM[:, 1], _SEAT_ARM[:, 0]], axis=1)
"""How the agent moves for every unit of advance, so that it keeps its seat."""

ADVANCES = np.array([4.0, 8.0, 16.0, 32.0, 56.0, 88.0, 128.0, 176.0])
RADIUS = 70.0
"""Units that a radian counts in a pose error."""
_CLEAR = AGENT_RADIUS - 3.0
"""The agent's centre keeps this far from the block on its way; touching it lightly is allowed."""
_BEND = AGENT_RADIUS + 9.0
_PUSH, _WALK, _PLACED = 18.0, 40.0, 14.0
"""Of the expert: its speeds in units per environment step, and the pose error it is content with."""
_FROM_EDGE, _BLOCK_FROM_EDGE = 18.0, 76.0
"""Nearest that the agent goes, and the block's centre of gravity is pushed, to the edge of the board."""
_STUCK = 300.0
"""Length of the way of an agent that must first get away from the block."""
_APPROACH_COST, _ADVANCE_COST = 0.04, 0.02
"""Units of pose error that a unit of the agent's way is worth."""


def _grown(part: tuple[float, float, float, float], by: float) -> tuple[float, float, float, float]:
    return part[0] - by, part[1] - by, part[2] + by, part[3] + by


def _visible(a: Points, b: Points) -> NDArray[np.bool_]:
    """Whether the straight way between places in the block's frame (..., 2) stays clear of the block."""
    free = np.ones(np.broadcast(a[..., 0], b[..., 0]).shape, np.bool_)
    for part in (BAR, STEM):
        box = _grown(part, _CLEAR)
        enter, leave = np.zeros(free.shape), np.ones(free.shape)
        for axis in (0, 1):
            span = b[..., axis] - a[..., axis]
            span = np.where(np.abs(span) < 1e-9, 1e-9, span)
            first, second = (box[axis] - a[..., axis]) / span, (box[axis + 2] - a[..., axis]) / span
            enter = np.maximum(enter, np.minimum(first, second))
            leave = np.minimum(leave, np.maximum(first, second))
        free &= enter >= leave
    return free


def _length(a: Points, b: Points) -> Points:
    dx, dy = a[..., 0] - b[..., 0], a[..., 1] - b[..., 1]
    return np.sqrt(dx * dx + dy * dy)


_BAR, _STEM = _grown(BAR, _BEND), _grown(STEM, _BEND)
_BENDS = np.array([*product(_BAR[::2], _BAR[1::2]), *product(_STEM[::2], _STEM[3:])])
"""Where a shortest way around the block may bend."""


def _ways_between_bends() -> Points:
    """(bends, bends): length of the shortest way around the block."""
    a, b = _BENDS[:, None], _BENDS[None]
    between = np.where(_visible(a, b), _length(a, b), np.inf)
    for via in range(len(_BENDS)):
        between = np.minimum(between, between[:, via, None] + between[None, via])
    return between


_BETWEEN = _ways_between_bends()


def _ways_from_bends(places: Points) -> Points:
    """(..., bends, places): length of the shortest way around the block from each bend to places (..., places, 2)."""
    last = places[..., None, :, :]
    leg = np.where(_visible(_BENDS[:, None], last), _length(_BENDS[:, None], last), np.inf)
    return (_BETWEEN[:, :, None] + leg[..., None, :, :]).min(axis=-2)


_TO_STANDS = _ways_from_bends(_STAND)


def _turned(vectors: Points, angles: Points) -> Points:
    """Vectors (..., 2) of the block's frame in the board's, for angles (...)."""
    angles = np.ascontiguousarray(angles)  # sines of strided numbers may differ in the last bit
    c, s = np.cos(angles), np.sin(angles)
    x, y = vectors[..., 0], vectors[..., 1]
    return np.stack([c * x - s * y, s * x + c * y], axis=-1)


def _on_board(places: Points, states: Points) -> Points:
    """Places of the block's frame (places, 2) on the board, (b, places, 2)."""
    return states[:, None, BLOCK] + _turned(places[None], states[:, ANGLE, None])


def _in_block(states: Points) -> Points:
    """The agent's place in the block's frame, (b, 2)."""
    return _turned(states[:, AGENT] - states[:, BLOCK], -states[:, ANGLE])


def centres(states: Points) -> Points:
    """Where the block's centre of gravity is, (b, 2)."""
    return states[:, BLOCK] + _turned(np.array([CENTRE]), states[:, ANGLE])


def angle_gap(a: Points, b: Points) -> Points:
    """Smallest turn between angles, without sign."""
    turned = np.abs(a - b) % (2 * np.pi)
    return np.minimum(turned, 2 * np.pi - turned)


def pose_error(centre: Points, angle: Points, poses: Points) -> Points:
    """Distance of the centre of gravity from where a pose (x, y, angle) has it, plus the turn, in units."""
    return _length(centre, poses[..., :2]) + RADIUS * angle_gap(angle, poses[..., 2])


def clear_of_block(states: Points, by: float = 0.0) -> NDArray[np.bool_]:
    """Whether the agent is farther than `by` from touching the block (boxes around the T's parts are what is asked)."""
    x, y = _in_block(states).T
    bar, stem = (_grown(part, AGENT_RADIUS + by) for part in (BAR, STEM))
    return ~(_within(x, y, bar) | _within(x, y, stem))


def _within(x: Points, y: Points, box: tuple[float, float, float, float]) -> NDArray[np.bool_]:
    return (x > box[0]) & (x < box[2]) & (y > box[1]) & (y < box[3])


def _inside(places: Points, margin: float) -> NDArray[np.bool_]:
    x, y = places[..., 0], places[..., 1]
    return _within(x, y, (margin, margin, BOARD - margin, BOARD - margin))


def choose(states: Points, poses: Points, taste: Points) -> tuple[Rows, Points, Points]:
    """The push that helps most towards poses (b, 3) of the block: contact, advance, and its cost, each (b,).

    `taste` (b, contacts) is added to the costs. The cost of a push that cannot be made is infinite.
    """
    way = _approach(states, _STAND, _TO_STANDS)[1]
    begun = np.where(_seated(states), 0.0, 1.0)
    turn = _TURN[:, None] * ADVANCES
    c, s = _screw(turn)
    drift = ADVANCES[None, :, None] * _DRIFT[:, None]
    gone = np.stack([c * drift[..., 0] - s * drift[..., 1], s * drift[..., 0] + c * drift[..., 1]], axis=-1)
    angle = states[:, ANGLE, None, None]
    centre = centres(states)[:, None, None] + _turned(gone[None], angle)
    error = pose_error(centre, angle + turn, poses[:, None, None])
    cost = error + _ADVANCE_COST * ADVANCES
    towards_middle = (
        _length(centre, np.full(2, BOARD / 2)) < _length(centres(states), np.full(2, BOARD / 2))[:, None, None]
    )
    cost = np.where(_inside(centre, _BLOCK_FROM_EDGE) | towards_middle, cost, np.inf)
    cost += (begun * (_APPROACH_COST * way + taste))[:, :, None]
    cost = np.where(_inside(_on_board(_STAND, states), _FROM_EDGE)[:, :, None], cost, np.inf)
    best = cost.reshape(len(states), -1).argmin(axis=1)
    contact, advance = best // len(ADVANCES), best % len(ADVANCES)
    return contact, ADVANCES[advance], cost[np.arange(len(states)), contact, advance]


def _screw(turn: Points) -> tuple[Points, Points]:
    """sin(t) / t and (1 - cos(t)) / t: what a constant twist makes of a straight drift."""
    small = np.abs(turn) < 1e-6
    safe = np.where(small, 1.0, turn)
    return np.where(small, 1.0, np.sin(safe) / safe), np.where(small, turn / 2, (1 - np.cos(safe)) / safe)


def _approach(states: Points, places: Points, to_places: Points) -> tuple[Points, Points]:
    """Where to head first on the way to each place, in the block's frame (b, places, 2), and the way's length.

    `places` (..., places, 2) are in the block's frame; `to_places` is what `_ways_from_bends` says of them.
    """
    at = _in_block(states)[:, None]
    straight = np.where(_visible(at, places), _length(at, places), np.inf)
    usable = _visible(at, _BENDS) & _inside(_on_board(_BENDS, states), 0.0)
    bent = np.where(usable, _length(at, _BENDS), np.inf)[:, :, None] + to_places
    bend = bent.argmin(axis=1)
    around = np.take_along_axis(bent, bend[:, None], axis=1)[:, 0]
    heading = np.where((straight <= around)[..., None], places, _BENDS[bend])
    length = np.minimum(straight, around)
    stuck = ~np.isfinite(length)
    away = at + 20.0 * _outwards(at[:, 0])[:, None]
    return np.where(stuck[..., None], away, heading), np.where(stuck, _STUCK, length)


def _outwards(at: Points) -> Points:
    """Unit vectors away from the nearest edge of the block's parts, in its frame, for places (b, 2) near it."""
    faces = [(0, -1.0, BAR[0]), (0, 1.0, BAR[2]), (1, -1.0, BAR[1]), (1, 1.0, STEM[3])]
    faces += [(0, -1.0, STEM[0]), (0, 1.0, STEM[2])]
    beside_stem = at[:, 1] > BAR[3]
    away = np.stack([sign * (at[:, axis] - place) for axis, sign, place in faces], axis=1)
    away[:, :2] = np.where(beside_stem[:, None], -np.inf, away[:, :2])
    away[:, 4:] = np.where(beside_stem[:, None], away[:, 4:], -np.inf)
    normals = np.zeros((len(faces), 2))
    for row, (axis, sign, _) in enumerate(faces):
        normals[row, axis] = sign
    return normals[away.argmax(axis=1)]


def _seated(states: Points) -> NDArray[np.bool_]:
    """(b, contacts): whether the agent has taken position for a push."""
    offset = _in_block(states)[:, None] - _SEAT
    along = (offset * _OUT).sum(axis=-1)
    aside = np.abs(offset[..., 0] * _OUT[:, 1] - offset[..., 1] * _OUT[:, 0])
    return (aside < 7.0) & (np.abs(along) < 12.0)


def move(states: Points, contacts: Rows, speeds: Points) -> tuple[Points, NDArray[np.bool_]]:
    """Where agents that want to push at the contacts (b,) go in the next step, (b, 2), and whether they push already.

    No agent goes farther than its speed (b,).
    """
    rows = np.arange(len(states))
    pushing = _seated(states)[rows, contacts]
    offset = _in_block(states) - _SEAT[contacts]
    out = _OUT[contacts]
    aside = offset - (offset * out).sum(axis=1, keepdims=True) * out
    push = _FOLLOW[contacts] * (speeds / np.maximum(1.0, _length(_FOLLOW[contacts], np.zeros(2))))[:, None] - aside
    ahead = _approach(states, _STAND, _TO_STANDS)[0][rows, contacts] - _in_block(states)
    step = _turned(np.where(pushing[:, None], push, ahead), states[:, ANGLE])
    return _shortened(step, speeds), pushing


def _shortened(steps: Points, most: Points) -> Points:
    length = _length(steps, np.zeros(2))
    return steps * (most / np.maximum(np.maximum(length, most), 1e-9))[:, None]


def walk(states: Points, places: Points, speeds: Points) -> Points:
    """How agents go in the next step, (b, 2), on the shortest way around the block to places (b, 2) of the board."""
    aims = _turned(places - states[:, BLOCK], -states[:, ANGLE])[:, None]
    ahead = _approach(states, aims, _ways_from_bends(aims))[0][:, 0] - _in_block(states)
    return _shortened(_turned(ahead, states[:, ANGLE]), speeds)


def action_for(states: Points, steps: Points) -> Points:
    """The action that moves agents by the steps (b, 2), as far as the board allows; not yet clipped."""
    within = np.clip(states[:, AGENT] + steps, _FROM_EDGE, BOARD - _FROM_EDGE) - states[:, AGENT]
    return (within - MOMENTUM * states[:, AGENT_SPEED]) / (PULL * REACH)


def expert_action(states: Points, goals: Points) -> Points:
    """Towards goal states (b, 10): pushes the block into place, then walks to where the goal has the agent, (b, 2).

    It remembers nothing: at every step it takes the push that helps most now.
    """
    poses = np.concatenate([centres(goals), goals[:, ANGLE, None]], axis=1)
    contacts, advances, cost = choose(states, poses, np.zeros((len(states), CONTACTS)))
    error = pose_error(centres(states), states[:, ANGLE], poses)
    speeds = np.where(_seated(states).any(axis=1), np.minimum(advances, _PUSH), _WALK)
    to_block, _ = move(states, contacts, speeds)
    to_goal = walk(states, goals[:, AGENT], np.full(len(states), _WALK))
    placed = (error < _PLACED) | ~(cost < error)
    return np.clip(action_for(states, np.where(placed[:, None], to_goal, to_block)), -1.0, 1.0)
