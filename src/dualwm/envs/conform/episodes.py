"""Laws about behaviour: what an episode stores, and that it is a function of its seed."""

import random
from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np

from dualwm.envs.base import Column, states_of
from dualwm.envs.conform.sample import SEEDS, STEPS, Sample, same

_Made = TypeVar("_Made")


def as_declared(sample: Sample) -> Iterator[str]:
    """An episode stores the declared columns, no more rows than asked for, and proprio as `proprio` gives it."""
    world = sample.world
    stored = {spec.name: spec for spec in world.columns if spec.kind != "drawn"}
    if len(sample.episodes) != len(SEEDS):
        yield f"`episodes` was asked for {len(SEEDS)} episodes and gave {len(sample.episodes)}."
    for seed, episode in zip(SEEDS, sample.episodes, strict=False):
        if episode.keys() != stored.keys():
            yield f"Episode {seed} should store the columns {sorted(stored)}, found {sorted(episode)}."
            return
        rows = len(next(iter(episode.values())))
        if not 2 <= rows <= STEPS + 1:
            yield (
                f"Episode {seed} with at most {STEPS} environment steps should have 2 to {STEPS + 1} rows (one more "
                f"than steps: row t is the observation at t and the action from it), found {rows}."
            )
        for name, spec in stored.items():
            found, shape = episode[name], (rows, *spec.shape)
            if found.shape != shape or found.dtype != np.dtype(spec.dtype):
                yield (
                    f"Column {name!r} of episode {seed} should be {spec.dtype} {shape}, found {found.dtype} "
                    f"{found.shape}."
                )
    if any(not np.isfinite(states_of(world.columns, episode)).all() for episode in sample.episodes):
        yield "Recorded states should be finite; some are not."
    yield from _proprio(sample)


def _proprio(sample: Sample) -> Iterator[str]:
    world = sample.world
    declared = {spec.name: spec for spec in world.columns if spec.role == "proprio"}
    for seed, episode, path in zip(SEEDS, sample.episodes, sample.paths, strict=True):
        given = world.proprio(path)
        if given.keys() != declared.keys():
            yield f"`proprio` should give the columns of role 'proprio', {sorted(declared)}, found {sorted(given)}."
            return
        for name, rows in given.items():
            if rows.dtype != np.float32 or not np.array_equal(rows, episode[name]):
                yield (
                    f"`proprio(states)[{name!r}]` should be the float32 numbers that episode {seed} recorded for the "
                    "same states; it is not. A model would see other numbers in evaluation than in training."
                )
                return


def functions_of_their_seeds(sample: Sample) -> Iterator[str]:
    """Same seed, same bytes, alone or together, and whatever global random generators stand at."""
    world = sample.world
    again, untouched = _with_global_generators_at(12345, lambda: [world.episode(seed, STEPS) for seed in SEEDS])
    if not all(map(_same_episode, again, sample.episodes)):
        yield (
            "The same seed gave different episodes. Take every random number from a generator made of the seed, such "
            "as numpy.random.Generator(numpy.random.Philox(key=seed)), and keep nothing from one episode to the next."
        )
    if not untouched:
        yield "An episode moved numpy's global random generator. Use a generator made of the episode's seed."
    if _same_episode(sample.episodes[0], sample.episodes[1]):
        yield f"Seeds {SEEDS[0]} and {SEEDS[1]} gave the same episode: `episode` does not use its seed."
    for seed, whole in zip(SEEDS, sample.paths, strict=True):
        short = states_of(world.columns, world.episode(seed, len(whole) // 2))
        if not same(short, whole[: len(short)]):
            yield (
                f"Episode {seed} with fewer steps should be the beginning of the longer one, and is another. Draw "
                "random numbers in an order that does not depend on `max_env_steps`."
            )
            return


def _with_global_generators_at(seed: int, work: Callable[[], _Made]) -> tuple[_Made, bool]:
    """What the work makes, and whether it left numpy's global generator alone. It and Python's are put back."""
    kept = random.getstate(), np.random.get_state(legacy=False)
    try:
        random.seed(seed)
        np.random.seed(seed)
        before = repr(np.random.get_state(legacy=False))
        made = work()
        return made, before == repr(np.random.get_state(legacy=False))
    finally:
        random.setstate(kept[0])
        np.random.set_state(kept[1])


def _same_episode(a: dict[str, Column], b: dict[str, Column]) -> bool:
    return a.keys() == b.keys() and all(same(a[name], b[name]) for name in a)


def recorded_actions(sample: Sample) -> Iterator[str]:
    """Every taken action is finite, within the bounds, and one-hot in a discrete world; the last row has none."""
    world = sample.world
    for seed, actions in zip(SEEDS, sample.action_columns, strict=True):
        taken = actions[:-1]
        if not np.isnan(actions[-1]).all():
            yield f"The last row of episode {seed} has an action that was never taken; it should be NaN."
        if not np.isfinite(taken).all():
            yield f"Episode {seed} has actions that are not finite before its last row."
        elif taken.min() < world.action_low or taken.max() > world.action_high:
            yield (
                f"Episode {seed} has actions from {taken.min():g} to {taken.max():g}, outside the world's bounds "
                f"{world.action_low:g} to {world.action_high:g}. Record the clipped action."
            )
        elif world.discrete and not ((np.sort(taken, axis=1)[:, -1] == 1).all() and (taken.sum(axis=1) == 1).all()):
            yield f"Episode {seed} of a discrete world has actions that are not one-hot."
