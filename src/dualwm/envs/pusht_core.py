"""PushT's board and its motion: a round agent that is told where to go, and a T-shaped block it can push.

The board is 512 units wide, y downwards, with a wall of half-width 2 around (5, 506). The agent is driven (the walls do
not stop it, the block does not slow it); the block has no momentum: it moves only while something touches it. An action
names a place up to 100 units per axis from where the agent is. A spring and a damper pull it there for 0.1 s, in ten
steps of pymunk.

A state is ten numbers: agent x, y; block x, y (the middle of the T's top edge) and angle; agent velocity; velocity of
the block's centre of gravity and its turning rate. The first seven are the state of the authors' release. The last
three carry how the block goes on when the next step begins, pushing apart of overlaps included.

Every environment step begins from the state alone, in a space made new: pymunk remembers the forces of earlier contacts
and the order in which shapes met, and neither is part of a state.
"""

import functools
import importlib
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualwm.errors import WorldError, missing_extra

States = NDArray[np.float64]

BOARD = 512.0
STATE_WIDTH = 10
AGENT, BLOCK, ANGLE, AGENT_SPEED, BLOCK_SPEED = slice(0, 2), slice(2, 4), 4, slice(5, 7), slice(7, 10)
"""Where a state holds the agent's place, the block's place and angle, and the velocities of both."""

REACH = 100.0
"""Units per axis between the agent and the place that a full action names."""
AGENT_RADIUS = 15.0
BAR = (-60.0, 0.0, 60.0, 30.0)
STEM = (-15.0, 30.0, 15.0, 120.0)
"""The two rectangles of the T in the block's own frame: least x and y, greatest x and y."""
CENTRE = (0.0, 45.0)
"""The block's centre of gravity in its own frame."""
MASS, INERTIA = 1.0, 3000.0
WALLS, WALL_RADIUS = (5.0, 506.0), 2.0

_PHYSICS_STEPS, _SECONDS = 10, 0.01
_SPRING, _DAMPER = 100.0, 20.0


def _response() -> tuple[float, float]:
    """How far an agent gets in an environment step, per unit between it and the named place, and per unit of speed."""
    found: list[float] = []
    for aim, speed in ((1.0, 0.0), (0.0, 1.0)):
        at = 0.0
        for _ in range(_PHYSICS_STEPS):
            speed += (_SPRING * (aim - at) - _DAMPER * speed) * _SECONDS
            at += speed * _SECONDS
        found.append(at)
    return found[0], found[1]


PULL, MOMENTUM = _response()


@functools.cache
def _pymunk() -> Any:
    """The library, if a version is installed that works."""
    try:
        found = version("pymunk")
    except PackageNotFoundError:
        raise missing_extra("pymunk", "pusht", 7) from None
    if found.split(".")[0] != "7":
        raise WorldError(
            f"PushT moves by pymunk 7, and {found} is installed, whose blocks move differently. "
            "Install the version that is known to work: pip install 'dualwm[pusht]'"
        )
    return importlib.import_module("pymunk")


class _Board:
    """A fresh space with walls, agent and block, set to one state."""

    def __init__(self, state: list[float]):
        pymunk = _pymunk()
        self.space = space = pymunk.Space()
        space.damping = 0.0
        low, high = WALLS
        corners = [(low, high), (low, low), (high, low), (high, high)]
        for a, b in zip(corners, corners[1:] + corners[:1], strict=True):
            space.add(pymunk.Segment(space.static_body, a, b, WALL_RADIUS))
        self.agent, self.block = pymunk.Body(body_type=pymunk.Body.KINEMATIC), pymunk.Body(MASS, INERTIA)
        space.add(self.agent, pymunk.Circle(self.agent, AGENT_RADIUS))
        self.block.center_of_gravity = CENTRE
        space.add(self.block, *(pymunk.Poly(self.block, _corners(part)) for part in (BAR, STEM)))
        self.agent.position, self.agent.velocity = state[AGENT], state[AGENT_SPEED]
        self.block.angle = state[ANGLE]
        self.block.position = state[BLOCK]
        self.block.velocity, self.block.angular_velocity = state[7:9], state[9]

    def pull(self, x: float, y: float) -> None:
        """Ten physics steps with the agent drawn towards (x, y)."""
        agent, step = self.agent, self.space.step
        for _ in range(_PHYSICS_STEPS):
            (at_x, at_y), (speed_x, speed_y) = agent.position, agent.velocity
            agent.velocity = (
                speed_x + (_SPRING * (x - at_x) - _DAMPER * speed_x) * _SECONDS,
                speed_y + (_SPRING * (y - at_y) - _DAMPER * speed_y) * _SECONDS,
            )
            step(_SECONDS)

    def read(self) -> list[float]:
        """The state. It takes one more physics step, so the board cannot be used afterwards.

        A physics step begins by moving the block on, by its velocity and by a correction of overlaps that cannot be
        read; what a further step moves tells both.
        """
        block = self.block
        seen = [*self.agent.position, *block.position, block.angle % (2 * np.pi), *self.agent.velocity]
        (x, y), angle = block.local_to_world(CENTRE), block.angle
        self.space.step(_SECONDS)
        on_x, on_y = block.local_to_world(CENTRE)
        return [*seen, (on_x - x) / _SECONDS, (on_y - y) / _SECONDS, (block.angle - angle) / _SECONDS]


def _corners(part: tuple[float, float, float, float]) -> list[tuple[float, float]]:
    left, top, right, bottom = part
    return [(left, bottom), (right, bottom), (right, top), (left, top)]


def step(states: States, actions: States) -> States:
    """The states one environment step later."""
    aims = states[:, AGENT] + REACH * actions
    led = np.empty_like(states)
    for row, (state, aim) in enumerate(zip(states.tolist(), aims.tolist(), strict=True)):
        board = _Board(state)
        board.pull(*aim)
        led[row] = board.read()
    return led
