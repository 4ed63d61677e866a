"""The published TwoRoom, stepped with a 64-px frame after every step."""

from collections.abc import Mapping
from typing import Any

import cv2
import gymnasium
import numpy as np

from bench.child import median_seconds
from bench.peers.swm import swm

NAME, SIZE, ROOMS = "swm/TwoRoom-v1", 64, 256


def one_room(steps: int) -> Mapping[str, Any]:
    """The bare environment, without Gymnasium's checks, its picture shrunk by the fastest means at hand."""
    env = gymnasium.make(NAME).unwrapped
    env.reset(seed=0)
    actions = np.random.default_rng(0).uniform(-1, 1, (steps, 2)).astype(np.float32)

    def walk() -> None:
        for action in actions:
            env.step(action)
            cv2.resize(env.render(), (SIZE, SIZE), interpolation=cv2.INTER_AREA)

    return {"seconds": median_seconds(walk, 3) / steps}


def rooms(steps: int) -> Mapping[str, Any]:
    """Its own pool of environments with its own pictures of that size."""
    world = swm.World(NAME, num_envs=ROOMS, image_shape=(SIZE, SIZE), max_episode_steps=10**9)
    world.reset(seed=0)
    actions = np.random.default_rng(0).uniform(-1, 1, (steps, ROOMS, 2)).astype(np.float32)

    def walk() -> None:
        for action in actions:
            world.envs.step(action)

    return {"seconds": median_seconds(walk, 1) / (steps * ROOMS)}
