"""Laws about success: a test of two states, with a distance that agrees with it."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dualwm.envs.conform.sample import Sample, States


def _pairs(sample: Sample) -> tuple[States, States]:
    """States and goals: along the same episode, and across episodes."""
    along = [(path[:-1:4], path[-1:].repeat(len(path[:-1:4]), axis=0)) for path in sample.paths]
    across = (sample.states, sample.states[::-1])
    pairs = [*along, across]
    return np.concatenate([a for a, _ in pairs]), np.concatenate([b for _, b in pairs])


def success(sample: Sample) -> Iterator[str]:
    """A state reaches itself, not every state reaches every goal, and nearer is never worse.

    By a rule that also wants everything at rest, a state that moves does not reach itself; a world names such rules.
    """
    world = sample.world
    states, goals = _pairs(sample)
    resting: tuple[str, ...] = getattr(world, "resting_rules", ())
    for rule in world.rules:
        reached, distance = world.success(states, goals, rule)
        if reached.dtype != np.bool_ or reached.shape != (len(states),) or distance.shape != (len(states),):
            yield (
                f"`success` by rule {rule!r} should give booleans and distances of shape ({len(states)},), found "
                f"{reached.dtype} {reached.shape} and {distance.shape}."
            )
            continue
        if not (np.isfinite(distance).all() and (distance >= 0).all()):
            yield f"Distances by rule {rule!r} should be finite and not negative."
        itself, none = world.success(sample.states, sample.states, rule)
        if rule not in resting and (not itself.all() or none.any()):
            yield (
                f"By rule {rule!r} a state should have reached itself at distance 0; "
                f"{int((~itself).sum())} of {len(itself)} have not, and the largest distance is {none.max():g}. "
                f"If the rule asks a state to rest, say so: `resting_rules = ({rule!r},)`."
            )
        if reached.all():
            yield f"By rule {rule!r} every one of {len(states)} pairs counts as solved: it tells nothing."
        elif reached.any() and distance[reached].max() > distance[~reached].min():
            yield (
                f"By rule {rule!r} a distance of {distance[reached].max():g} is a success and one of "
                f"{distance[~reached].min():g} is none. Give the distance that the rule tests."
            )
        yield from _row_by_row(sample, rule, states, goals, reached)


def _row_by_row(sample: Sample, rule: str, states: States, goals: States, reached: NDArray[np.bool_]) -> Iterator[str]:
    alone = [bool(sample.world.success(states[i : i + 1], goals[i : i + 1], rule)[0][0]) for i in range(len(states))]
    if alone != reached.tolist():
        yield f"`success` by rule {rule!r} judged a pair differently alone than among others."


def symmetric(sample: Sample) -> Iterator[str]:
    """If one state reaches another, that one reaches it; a world names the rules for which this should not be so."""
    world = sample.world
    states, goals = _pairs(sample)
    exempt: tuple[str, ...] = getattr(world, "one_way_rules", ())
    for rule in world.rules:
        there, back = world.success(states, goals, rule), world.success(goals, states, rule)
        if rule not in exempt and not (np.array_equal(there[0], back[0]) and np.allclose(there[1], back[1])):
            yield (
                f"By rule {rule!r} a state reaches a goal that does not reach it, or from another distance. Make the "
                f"rule symmetric, or, where it should not be, say so: `one_way_rules = ({rule!r},)`."
            )
