"""Laws about pictures: a function of the state alone, the same for data, goals and evaluation."""

from collections.abc import Iterator

import numpy as np

from dualwm.envs.base import replay
from dualwm.envs.conform.sample import SEEDS, Sample, same

SIZES = (64, 96)


def pictures(sample: Sample) -> Iterator[str]:
    """uint8, of the size asked for, a function of its own state, and different where it counts."""
    world, states = sample.world, sample.states
    for camera in world.cameras:
        for size in SIZES:
            frames = world.draw(states, size, camera)
            fits = frames.ndim == 4 and frames.shape[:2] == (len(states), size) and frames.shape[3] == 3
            if not fits or frames.dtype != np.uint8:
                yield (
                    f"Camera {camera!r} at {size} px should give uint8 pictures ({len(states)}, {size}, width, 3), "
                    f"found {frames.dtype} {frames.shape}."
                )
                continue
            if not same(world.draw(states, size, camera), frames):
                yield f"Camera {camera!r} drew the same states differently a second time."
            if not same(world.draw(states[-1:], size, camera), frames[-1:]):
                yield (
                    f"Camera {camera!r} drew a state differently alone than among others. A picture may depend on its "
                    "own state only."
                )
        yield from _shows_the_state(sample, camera)


def _shows_the_state(sample: Sample, camera: str) -> Iterator[str]:
    ends = [path[[0, -1]] for path in sample.paths if not np.array_equal(path[0], path[-1])]
    alike = sum(len(np.unique(sample.world.draw(pair, SIZES[0], camera), axis=0)) == 1 for pair in ends)
    if ends and alike == len(ends):
        yield (
            f"Camera {camera!r} shows the first and the last state of every episode alike at {SIZES[0]} px: nobody "
            "could tell start from goal. Draw what the goal is about."
        )


def goal_picture(sample: Sample) -> Iterator[str]:
    """The picture of a goal is the frame one sees on arriving: of recorded frames, and of the state reached."""
    world = sample.world
    recorded = [spec for spec in world.columns if spec.kind == "frames"]
    for seed, episode, path, actions in zip(SEEDS, sample.episodes, sample.paths, sample.action_columns, strict=True):
        for spec in recorded:
            if not same(episode[spec.name], world.draw(path, spec.shape[0], str(spec.camera))):
                yield (
                    f"Column {spec.name!r} of episode {seed} holds other pictures than `draw` gives for the recorded "
                    "states: a goal would look different from the frame on arriving at it."
                )
        arrived = replay(world, path[:1], actions[None, :-1])[0, -1:]
        for camera in world.cameras:
            seen = world.draw(arrived, SIZES[0], camera).astype(np.int64)
            goal = world.draw(path[-1:], SIZES[0], camera).astype(np.int64)
            # A state that replays to within rounding may move an edge by a grey level.
            if np.abs(seen - goal).max() > (0 if np.array_equal(arrived, path[-1:]) else 2):
                yield (
                    f"Camera {camera!r}: the picture of the last recorded state of episode {seed} differs from the "
                    f"frame after taking its actions, by up to {np.abs(seen - goal).max()} grey levels."
                )
