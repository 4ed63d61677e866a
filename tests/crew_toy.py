"""Worlds for the processes that record: they are opened by name in a process of their own.

`python crew_toy.py FOLDER EPISODES` collects the slow one with two processes, for the tests that kill it.
"""

import os
import signal
import sys
import time
from functools import partial
from pathlib import Path

from data_toy import IntegratorWorld

from dualwm.data.collect import collect
from dualwm.data.crew import Crew

FIRST_SEED, MAX_ENV_STEPS = 20, 6


class Mortal(IntegratorWorld):
    """Has its process killed where it meets a seed, as often as there are lives written in a file."""

    def __init__(self, lives: Path, seed: int) -> None:
        self.lives, self.seed = lives, seed

    def record(self, seeds, max_env_steps):
        left = int(self.lives.read_text())
        if self.seed in seeds and left:
            part = self.lives.with_suffix(".part")  # whole or not there: the other process may be reading
            part.write_text(str(left - 1))
            part.replace(self.lives)
            os.kill(os.getpid(), signal.SIGKILL)
        return super().record(seeds, max_env_steps)


class Broken(IntegratorWorld):
    def record(self, seeds, max_env_steps):
        if 27 in seeds:
            raise ValueError("the box is empty")
        return super().record(seeds, max_env_steps)


class Slow(IntegratorWorld):
    """Leaves a file with the number of every process that records."""

    def __init__(self, workers: Path) -> None:
        self.workers = workers

    def record(self, seeds, max_env_steps):
        (self.workers / str(os.getpid())).touch()
        time.sleep(0.02 * len(seeds))
        return super().record(seeds, max_env_steps)


def opened(kind, *words):
    """What `Crew.open` calls in its process."""
    world = kind(*words)
    return world, world.record


def crew(kind, *words, workers: int = 2) -> Crew:
    return Crew(workers=workers, open=partial(opened, kind, *words))


def record_into(path: Path, episodes: int, recording: Crew | None = None, **settings):
    world = IntegratorWorld()
    made = {"record": world.record, "seed": FIRST_SEED, "max_env_steps": MAX_ENV_STEPS, "shard_bytes": 500} | settings
    return collect(world, path, episodes=episodes, crew=recording, **made)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    record_into(folder / "set", int(sys.argv[2]), crew(Slow, folder))
