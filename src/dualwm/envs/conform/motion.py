"""Laws about the simulator: a state is everything it is, and the same steps lead to the same place."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from dualwm.envs.base import replay as replayed
from dualwm.envs.conform.sample import SEEDS, Sample, States, first_difference, same

_APART = 1e-3
"""Largest gap between a recorded state and the same state replayed: simulators differ a little between machines."""
_STEPS = 12


def _walk(sample: Sample, states: States, variant: str) -> tuple[list[States], NDArray[np.float64]]:
    """The states along lawful actions, copied as they are handed out, and the actions (steps, rows, action_dim)."""
    actions = sample.lawful_actions(_STEPS, len(states))
    simulation = sample.world.simulate(states.copy(), list(range(len(states))), variant)
    return [simulation.states.copy(), *(simulation.step(action.copy()).copy() for action in actions)], actions


def set_exactly(sample: Sample) -> Iterator[str]:
    """A simulator stands where it was set, and goes on from a set state as if it had never been interrupted."""
    world, states = sample.world, sample.states
    for variant in world.variants:
        handed = states.copy()
        simulation = world.simulate(handed, list(range(len(states))), variant)
        if getattr(simulation.states, "dtype", None) != np.float64:
            yield "`states` of a simulation should be a float64 array (b, state_width)."
            return
        if not np.array_equal(simulation.states, states):
            found = first_difference(simulation.states, states)
            yield f"Set to recorded states ({variant}), `simulate(starts).states` should equal them exactly: {found}."
            continue
        kept = simulation.states
        simulation.step(sample.lawful_actions(1, len(states))[0])
        if not np.array_equal(kept, states) or not np.array_equal(handed, states):
            yield (
                f"A step ({variant}) changed the array that `states` had handed out before, or the array of starts. "
                "Make a new array in every step."
            )
        path, actions = _walk(sample, states, variant)
        for step in (1, _STEPS // 2, _STEPS - 1):
            resumed = world.simulate(path[step].copy(), list(range(len(states))), variant).step(actions[step].copy())
            if not np.array_equal(resumed, path[step + 1]):
                found = first_difference(resumed, path[step + 1])
                yield (
                    f"Set to the state after {step} steps ({variant}), one more step should lead where it led without "
                    f"the interruption: {found}. Something that matters to the motion is missing from the state."
                )
                break


def replay(sample: Sample) -> Iterator[str]:
    """Recorded actions, taken from a recorded state, lead through the recorded states."""
    for seed, path, actions in zip(SEEDS, sample.paths, sample.action_columns, strict=True):
        for row in (0, len(path) // 2):
            if row + 1 >= len(path):
                continue
            found = replayed(sample.world, path[row : row + 1], actions[None, row:-1])[0]
            gaps = np.abs(found - path[row:]) > _APART * (1 + np.abs(path[row:]))
            if gaps.any():
                yield (
                    f"The recorded actions of episode {seed}, taken from its row {row}, should lead through its "
                    f"recorded states and do not: {first_difference(found, path[row:])}. Record the action taken from "
                    "each row, and enough digits of the state."
                )
                return


def deterministic(sample: Sample) -> Iterator[str]:
    """The same starts, seeds and actions give the same states to the last bit, under every variant."""
    for variant in sample.world.variants:
        first, _ = _walk(sample, sample.states, variant)
        second, _ = _walk(sample, sample.states, variant)
        if not all(map(same, first, second)):
            yield (
                f"The same starts, seeds and actions led to different states ({variant}). All randomness of a "
                "simulation should come from its `seeds`, and nothing should stay from one simulation to the next."
            )
        if not all(np.isfinite(states).all() for states in first):
            yield f"Actions within the bounds led to states that are not finite ({variant})."


def independent(sample: Sample) -> Iterator[str]:
    """A simulator moves the same alone, among others and after the others were taken away."""
    world, states = sample.world, sample.states
    path, actions = _walk(sample, states, world.variants[0])
    rows = np.array([len(states) - 1, 0])
    alone = world.simulate(states[rows[:1]], [int(rows[0])], world.variants[0])
    for step, action in enumerate(actions):
        if not np.array_equal(alone.step(action[rows[:1]]), path[step + 1][rows[:1]]):
            yield "A simulator moved differently alone than among others. No row may depend on its neighbours."
            break
    whole = world.simulate(states, list(range(len(states))), world.variants[0])
    taken = whole.take(rows)
    whole.step(actions[0])
    if not np.array_equal(taken.states, states[rows]):
        yield "`take` should give an independent simulation of the rows, in their order; stepping the first moved it."
    elif not np.array_equal(taken.step(actions[0][rows]), path[1][rows]):
        yield "After `take`, the rows moved differently than among the others."


def action_bounds(sample: Sample) -> Iterator[str]:
    """Both bounds can be taken; beyond them an action is clamped or refused; NaN is refused."""
    world, states = sample.world, sample.states[:2]

    def after(action: NDArray[np.float64]) -> States:
        simulation = world.simulate(states.copy(), [0] * len(states), world.variants[0])
        return simulation.step(np.tile(action, (len(states), 1)))

    edges = np.eye(world.action_dim) if world.discrete else np.array([[world.action_low], [world.action_high]])
    for edge in edges:
        action = np.broadcast_to(edge, (world.action_dim,))
        if not np.isfinite(after(action)).all():
            yield f"The action {action.tolist()} is within the bounds and led to states that are not finite."
        beyond = action + (action - (world.action_low + world.action_high) / 2)
        if not world.discrete and _accepted(after, beyond) and not np.array_equal(after(beyond), after(action)):
            yield (
                f"The action {beyond.tolist()} lies outside the bounds and did something else than {action.tolist()}. "
                "Clamp actions to `action_low` and `action_high`, or refuse what lies outside."
            )
    if _accepted(after, np.full(world.action_dim, np.nan)):
        yield (
            "An action that is NaN was accepted. Refuse it with an exception: it is what a broken model sends, and the "
            "last row of every recorded episode holds it."
        )


def _accepted(after: Callable[[NDArray[np.float64]], States], action: NDArray[np.float64]) -> bool:
    try:
        after(action)
    except Exception:  # however a world refuses
        return False
    return True
