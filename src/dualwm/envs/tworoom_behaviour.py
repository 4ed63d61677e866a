"""The behaviour that TwoRoom data is recorded from: a noisy walk to a target in the other room.

Start and target are drawn until they lie in different rooms and the way by the door's centre takes at least 25 steps
at full speed. The agent heads for the door while it is on the wrong side and more than 10.5 px from the door's centre,
else for the target. Its action is the unit direction plus Gaussian noise of standard deviation 2, clipped; with
probability 5 % it repeats the previous action instead. The episode stops on success, or after `max_env_steps`.

Episode i is a pure function of its seed: start, noise and repeats each have a Philox stream keyed by (seed, purpose).
Lowering `max_env_steps` only cuts an episode off.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dualwm.envs.tworoom_core import (
    DOOR_Y,
    HIGH,
    LEFT_FACE,
    LOW,
    REACH,
    RIGHT_FACE,
    SPEED,
    WALL_X,
    TwoRoomSimulation,
    distance,
    on_float32_grid,
)

Points = NDArray[np.float64]

_DOOR = np.array([WALL_X, DOOR_Y])
_START, _NOISE, _REPEATS = (0x7440_7200 + purpose for purpose in range(3))
"""Second halves of the Philox keys: what the numbers are for."""
_TRIES = 32
"""Start and target pairs drawn from the stream at a time; about one in three will do."""


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """The numbers of the recipe."""

    noise_std: float = 2.0
    repeat_probability: float = 0.05
    min_path_env_steps: float = 25.0
    """Shortest way by the door's centre, in steps of 5 px."""
    target_from_wall_px: float = 13.0
    """The target keeps at least this distance in x from the wall's centre line."""
    door_radius_px: float = 10.5
    """This near to the door's centre the agent turns to the target."""
    collision: str = "snap"


def generate(
    seeds: Sequence[int], max_env_steps: int, law: Behaviour
) -> list[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """Positions (T+1, 2) and actions (T, 2) of one episode per seed, all walked at once."""
    assert max_env_steps >= 1, max_env_steps
    starts, targets = _starts_and_targets(seeds, law)
    noise = np.stack([_stream(s, _NOISE).standard_normal((max_env_steps, 2)) for s in seeds]) * law.noise_std
    repeats = np.stack([_stream(s, _REPEATS).random(max_env_steps) for s in seeds]) < law.repeat_probability
    repeats[:, 0] = False

    positions = np.empty((len(seeds), max_env_steps + 1, 2), np.float32)
    actions = np.empty((len(seeds), max_env_steps, 2), np.float32)
    lengths = np.full(len(seeds), max_env_steps)
    positions[:, 0] = starts
    rooms, alive = TwoRoomSimulation(starts, law.collision), np.arange(len(seeds))
    previous = np.zeros((len(seeds), 2), np.float32)
    for t in range(max_env_steps):
        heading = _heading(rooms.states, targets[alive], law)
        fresh = np.clip(heading + noise[alive, t], -1.0, 1.0).astype(np.float32)
        previous = np.where(repeats[alive, t, None], previous, fresh)
        actions[alive, t] = previous
        positions[alive, t + 1] = states = rooms.step(previous)
        going = distance(states, targets[alive]) >= REACH
        lengths[alive[~going]] = t + 1
        if not going.all():
            keep = np.flatnonzero(going)
            rooms, alive, previous = rooms.take(keep), alive[keep], previous[keep]
        if len(alive) == 0:
            break
    return [(positions[i, : n + 1].copy(), actions[i, :n].copy()) for i, n in enumerate(lengths)]


def _heading(states: Points, targets: Points, law: Behaviour) -> Points:
    """Unit direction to the door or to the target."""
    wrong_side = (states[:, 0] < WALL_X) != (targets[:, 0] < WALL_X)
    to_door = wrong_side & (distance(states, _DOOR) > law.door_radius_px)
    ahead = np.where(to_door[:, None], _DOOR, targets) - states
    return ahead / np.maximum(distance(ahead, np.zeros(2)), 1e-9)[:, None]


def _stream(seed: int, purpose: int) -> np.random.Generator:
    assert seed >= 0, seed
    return np.random.Generator(np.random.Philox(key=np.array([seed, purpose], np.uint64)))


def _starts_and_targets(seeds: Sequence[int], law: Behaviour) -> tuple[Points, Points]:
    """For every seed the first pair of its stream that the recipe accepts."""
    streams = [_stream(seed, _START) for seed in seeds]
    chosen = np.empty((len(seeds), 4))
    open_rows = np.arange(len(seeds))
    while len(open_rows):
        tries = np.stack([streams[row].uniform(LOW, HIGH, (_TRIES, 4)) for row in open_rows])
        tries = on_float32_grid(tries)
        good = _acceptable(tries[..., :2], tries[..., 2:], law)
        chosen[open_rows] = tries[np.arange(len(open_rows)), good.argmax(axis=1)]
        open_rows = open_rows[~good.any(axis=1)]
    return chosen[:, :2], chosen[:, 2:]


def _acceptable(starts: Points, targets: Points, law: Behaviour) -> NDArray[np.bool_]:
    x, target_x = starts[..., 0], targets[..., 0]
    outside_wall = (x <= LEFT_FACE) | (x >= RIGHT_FACE)
    other_room = (x < WALL_X) != (target_x < WALL_X)
    off_wall = np.abs(target_x - WALL_X) >= law.target_from_wall_px
    far = distance(starts, _DOOR) + distance(_DOOR, targets) >= law.min_path_env_steps * SPEED
    return outside_wall & other_room & off_wall & far
