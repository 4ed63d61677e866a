"""Real training stages of a tiny Dual-WM in children that can be killed (see `train_toy`, which serves).

Beside a moment, a request can name the deed at which the child dies as if the power had gone: FILE#N, just before FILE
is given its name for the Nth time, or encode#N, when the latent cache has its Nth chunk encoded.
"""

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import train_toy
import zoo_toy

from dualwm.train.progress import Silent
from dualwm.zoo import latents
from dualwm.zoo.latents import LatentCache
from dualwm.zoo.recipe import Recipe
from dualwm.zoo.training import train

CHUNK = 32
"""Rows per encoder call: small, so that the cache takes many."""
SETTINGS = replace(zoo_toy.SETTINGS, steps=6, heldout_every_steps=3, checkpoint_every_steps=2)


def recipe() -> Recipe:
    method = zoo_toy.method(cameras=(zoo_toy.FRONT,), proprio=False)
    method = replace(method, low_stage=SETTINGS, high_stage=SETTINGS)
    return replace(zoo_toy.recipe(method), world="tworoom", episodes=10, max_env_steps=80)


def _child(request: dict[str, Any], rank: int) -> int:
    latents._CHUNK = CHUNK
    deed, _, count = request["kill_at"].partition("#")
    if deed == "encode":
        LatentCache._encode = _dying(LatentCache._encode, int(count))
    elif deed:
        Path.replace = _dying(Path.replace, int(count), lambda part, path: path.name == deed)
    out = Path(request["out"])
    return 0 if train(recipe(), out, out.parent / "data", progress=Silent(), device="cpu").system else 3


def _dying(real: Callable, count: int, counts: Callable[..., bool] = lambda *words: True) -> Callable:
    left = [count]

    def done(*words):
        left[0] -= counts(*words)
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*words)

    return done


if __name__ == "__main__":
    train_toy.serve(_child)
