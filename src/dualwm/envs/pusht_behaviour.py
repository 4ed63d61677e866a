"""The behaviour that PushT data is recorded from: a scripted pusher that turns and shoves the block from pose to pose.

Block and agent start at rest anywhere on the board, not touching. The pusher holds a target pose of the block (any
place, any angle; a new one once it is reached, or after `patience_env_steps`) and does one thing after another:

    with probability `weak_share`   weak contact: for 8 to 24 steps it heads for random places near itself, kept within
                                    100 units of the block
    else                            a push: of all contacts and advances the one that helps most towards the target,
                                    each contact being liked more or less by a random taste; it walks around the block
                                    to that side and pushes until the advance is made, or 60 steps are over

A push has a speed of its own. Every action is blurred by Gaussian noise, and clipped.

Episode i is a pure function of its seed: start, choices and noise each have a Philox stream keyed by (seed, purpose).
Lowering `max_env_steps` only cuts an episode off.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dualwm.envs import pusht_push as push
from dualwm.envs.pusht_core import AGENT, ANGLE, BLOCK, BOARD, REACH, STATE_WIDTH, step

States = NDArray[np.float64]

_START, _CHOICES, _NOISE = (0x9054_7000 + purpose for purpose in range(3))
"""Second halves of the Philox keys: what the numbers are for."""
_TARGET, _KIND, _SPEED, _LENGTH, _WANDER, _TASTE = slice(0, 3), 3, 4, 5, slice(6, 8), slice(8, 8 + push.CONTACTS)
"""Which of a step's uniform numbers decides what."""
_DRAWN = _TASTE.stop
_AGENT_MARGIN = 40.0


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """The numbers of the recipe. Speeds are units per environment step, noise is in units of actions."""

    noise_std: float = 0.1
    weak_share: float = 0.15
    speed_low: float = 6.0
    speed_high: float = 14.0
    taste: float = 40.0
    """A contact may be liked less than another by up to this many units of pose error."""
    patience_env_steps: int = 150
    arrived: float = 30.0
    """Pose error in units (a radian counts 70) below which a target is reached."""
    margin: float = 130.0
    """Targets and starts of the block's centre of gravity keep this far from the edge."""


def generate(seeds: Sequence[int], max_env_steps: int, law: Behaviour) -> list[tuple[States, NDArray[np.float32]]]:
    """States (T+1, 10) and actions (T, 2) of one episode per seed, all simulated at once."""
    assert max_env_steps >= 1, max_env_steps
    chances = np.stack([_stream(seed, _CHOICES).random((max_env_steps, _DRAWN)) for seed in seeds])
    noise = np.stack([_stream(seed, _NOISE).standard_normal((max_env_steps, 2)) for seed in seeds]) * law.noise_std
    states = np.empty((len(seeds), max_env_steps + 1, STATE_WIDTH))
    actions = np.empty((len(seeds), max_env_steps, 2), np.float32)
    states[:, 0] = [_start(_stream(seed, _START), law) for seed in seeds]
    pushers = _Pushers(len(seeds), law)
    for t in range(max_env_steps):
        wanted = pushers.act(states[:, t], chances[:, t])
        actions[:, t] = np.clip(wanted + noise[:, t], -1.0, 1.0)
        states[:, t + 1] = step(states[:, t], actions[:, t].astype(np.float64))
    return list(zip(states, actions, strict=True))


class _Pushers:
    """What b pushers are about to do."""

    def __init__(self, count: int, law: Behaviour):
        self._law = law
        self._targets, self._patience = np.zeros((count, 3)), np.zeros(count, np.int64)
        self._contacts, self._weak = np.zeros(count, np.int64), np.zeros(count, np.bool_)
        self._advance, self._speeds, self._left = np.zeros(count), np.ones(count), np.zeros(count, np.int64)

    def act(self, states: States, chances: States) -> States:
        """Actions (b, 2) before noise."""
        self._patience -= 1
        self._left -= 1
        over = (self._left < 0) | (~self._weak & (self._advance <= 0))
        if over.any():
            self._decide(np.flatnonzero(over), states, chances)
        steps, pushing = push.move(states, self._contacts, self._speeds)
        self._advance -= np.where(pushing, self._speeds, 0.0)
        return np.where(self._weak[:, None], _wander(states, chances), push.action_for(states, steps))

    def _decide(self, rows: NDArray[np.int64], states: States, chances: States) -> None:
        """What the pushers of the rows do next."""
        law, drawn, here = self._law, chances[rows], states[rows]
        error = push.pose_error(push.centres(here), here[:, ANGLE], self._targets[rows])
        renew = (error < law.arrived) | (self._patience[rows] <= 0)
        self._targets[rows] = np.where(renew[:, None], _pose(drawn[:, _TARGET], law), self._targets[rows])
        self._patience[rows] = np.where(renew, law.patience_env_steps, self._patience[rows])
        contact, advance, cost = push.choose(here, self._targets[rows], law.taste * drawn[:, _TASTE])
        self._weak[rows] = weak = (drawn[:, _KIND] < law.weak_share) | ~np.isfinite(cost)
        self._contacts[rows], self._advance[rows] = contact, advance
        self._speeds[rows] = law.speed_low + (law.speed_high - law.speed_low) * drawn[:, _SPEED]
        self._left[rows] = np.where(weak, 8 + (17 * drawn[:, _LENGTH]).astype(np.int64), 60)


def _wander(states: States, chances: States) -> States:
    """Towards a random place near the agent and not far from the block."""
    block = push.centres(states)
    aims = states[:, AGENT] + REACH * (2 * chances[:, _WANDER] - 1)
    aims = np.clip(np.clip(aims, block - REACH, block + REACH), _AGENT_MARGIN, BOARD - _AGENT_MARGIN)
    return (aims - states[:, AGENT]) / REACH


def _pose(uniform: States, law: Behaviour) -> States:
    """Poses (..., 3) of the block's centre of gravity and angle from numbers between 0 and 1."""
    return uniform * (BOARD - 2 * law.margin, BOARD - 2 * law.margin, 2 * np.pi) + (law.margin, law.margin, 0.0)


def _start(stream: np.random.Generator, law: Behaviour) -> States:
    """The first state of the stream in which nothing touches."""
    while True:
        drawn = stream.random(5)
        x, y, angle = _pose(drawn[:3], law).tolist()
        state = np.zeros((1, STATE_WIDTH))
        state[:, AGENT] = _AGENT_MARGIN + (BOARD - 2 * _AGENT_MARGIN) * drawn[3:]
        state[:, ANGLE] = angle
        state[:, BLOCK] = (x, y) - push.centres(state)
        if push.clear_of_block(state, by=4.0)[0]:
            return state[0]


def _stream(seed: int, purpose: int) -> np.random.Generator:
    assert seed >= 0, seed
    return np.random.Generator(np.random.Philox(key=np.array([seed, purpose], np.uint64)))
