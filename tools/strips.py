"""Pictures for a world's page: frames of an episode, and one solved and one failed execution of the shipped system.

    tools/strips.py reacher      docs/images/reacher.png, docs/images/reacher-solved.png, docs/images/reacher-failed.png

Executions are of dev tasks; the last picture of each is the goal. Where no task fails among the first, none is drawn.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from dualwm.envs.base import World, episodes, get_world, states_of
from dualwm.evaluate.closed_loop import run
from dualwm.zoo.evaluation import tasksets
from dualwm.zoo.system import load, shipped_systems

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
SIDE, GAP, GOAL_GAP = 128, 4, 20
FRAMES = 6
FIRST_TASKS, OFFSET, SEED = 100, 100, 1000


def strip(world: World, states: NDArray[np.float64], goal: NDArray[np.float64] | None, path: Path) -> None:
    """Evenly spread frames side by side, and the goal apart."""
    chosen = states[np.linspace(0, len(states) - 1, FRAMES).astype(int)]
    frames = list(world.draw(chosen, SIDE, world.cameras[0]))
    lefts = [i * (SIDE + GAP) for i in range(FRAMES)]
    if goal is not None:
        frames += list(world.draw(goal[None], SIDE, world.cameras[0]))
        lefts.append(lefts[-1] + SIDE + GOAL_GAP)
    whole = Image.new("RGB", (lefts[-1] + SIDE, SIDE), "white")
    for left, frame in zip(lefts, frames, strict=True):
        whole.paste(Image.fromarray(frame), (left, 0))
    whole.save(path, optimize=True)
    print(path, path.stat().st_size, "bytes")


def executions(world: World) -> None:
    """The first solved and the first failed of some dev tasks."""
    system = load(world.name)
    (taskset,) = tasksets(world, goal_offset_env_steps=OFFSET, seeds=[SEED], num_tasks=FIRST_TASKS, protocol="heldout")
    done = run(
        world,
        system.controller("full", OFFSET),
        taskset,
        size=system.image_size,
        variant=world.variants[0],
        system=system.name,
        weights_digest=system.weights_digest,
        keep_paths=True,
    )
    for word, success in (("solved", True), ("failed", False)):
        found = [o.task for o in done.outcomes if o.success == success]
        if found:
            goal = np.array(taskset.tasks[found[0]].goal)
            strip(world, done.paths[found[0]].states, goal, IMAGES / f"{world.name}-{word}.png")
        else:
            print(f"none of the first {FIRST_TASKS} dev tasks {word}")


def main(names: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("worlds", nargs="+")
    for name in parser.parse_args(names).worlds:
        world = get_world(name)
        states = states_of(world.columns, episodes(world, [0], 200)[0])
        strip(world, states[:101], None, IMAGES / f"{name}.png")
        if name in shipped_systems():
            executions(world)
    return 0


if __name__ == "__main__":
    sys.exit(main())
