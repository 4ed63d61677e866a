"""Laws about what a world says of itself: names, bounds, columns, and what it offers beyond the protocol."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from dualwm.envs.base import World
from dualwm.envs.conform.sample import Sample
from dualwm.records import ColumnSpec


def declared_values(sample: Sample) -> Iterator[str]:
    """Names, action bounds and lists of choices are what the protocol says."""
    world = sample.world
    name: Any = world.name
    if not name or not isinstance(name, str):
        yield f"`name` should be a word, found {name!r}."
    for name, least in (("action_dim", 1), ("state_width", 1)):
        value = getattr(world, name)
        if not isinstance(value, int) or value < least:
            yield f"`{name}` should be a whole number of at least {least}, found {value!r}."
    choices: dict[str, Any] = {"cameras": world.cameras, "rules": world.rules, "variants": world.variants}
    for name, words in choices.items():
        if not _is_choice(words):
            yield f"`{name}` should be a tuple of distinct names, the default first, found {words!r}."
    yield from _bounds(world)
    law: Any = world.behaviour_law
    if not isinstance(law, Mapping) or not _is_plain(law):
        yield (
            "`behaviour_law` should be plain data (a dictionary of words and numbers that JSON can hold): it is "
            f"written into every data set; found {law!r}."
        )


def _is_choice(words: Any) -> bool:
    return type(words) is tuple and bool(words) and len({*map(str, words)}) == len(words)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def _bounds(world: World) -> Iterator[str]:
    low, high = world.action_low, world.action_high
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        yield f"`action_low` should lie below `action_high`, both finite, found {low!r} and {high!r}."
    if world.discrete and (low, high) != (0.0, 1.0):
        yield f"A discrete world's actions are one-hot, so its bounds are 0 and 1, found {low!r} and {high!r}."


def _is_plain(data: Any) -> bool:
    try:
        json.dumps(data)
    except (TypeError, ValueError):
        return False
    return True


def columns(sample: Sample) -> Iterator[str]:
    """The columns hold all that data sets, training and evaluation need."""
    world = sample.world
    by_role = {role: [spec for spec in world.columns if spec.role == role] for role in ("state", "action", "pixels")}
    names = [spec.name for spec in world.columns]
    if len(set(names)) < len(names):
        yield f"Two columns have the same name: {names}."
    width = sum(int(np.prod(spec.shape)) for spec in by_role["state"])
    if width != world.state_width:
        yield (
            f"The columns of role 'state', side by side, are what a simulator is set to: they should be "
            f"{world.state_width} numbers wide (`state_width`), found {width} in "
            f"{[spec.name for spec in by_role['state']]}."
        )
    shapes = [spec.shape for spec in by_role["action"]]
    if shapes != [(world.action_dim,)]:
        yield f"There should be one column of role 'action' with rows of shape {(world.action_dim,)}, found {shapes}."
    seen = [spec.camera for spec in by_role["pixels"]]
    if sorted(map(str, seen)) != sorted(world.cameras):
        yield f"Every camera should have one column of role 'pixels': cameras {list(world.cameras)}, columns {seen}."
    for spec in by_role["pixels"]:
        yield from _drawn(spec, world)


def _drawn(spec: ColumnSpec, world: World) -> Iterator[str]:
    sources = {other.name: int(np.prod(other.shape)) for other in world.columns if other.kind == "array"}
    if spec.kind == "drawn" and sources.get(str(spec.draws_from)) != world.state_width:
        yield (
            f"Column {spec.name!r} is drawn from {spec.draws_from!r}, which should be an array column that holds the "
            f"whole state of {world.state_width} numbers. Store the state as one column and draw from that."
        )
    if spec.kind == "drawn" and spec.drawer != world.name:
        yield f"Column {spec.name!r} is drawn by {spec.drawer!r}; it should name this world, {world.name!r}."


def optional(sample: Sample) -> Iterator[str]:
    """An expert acts within the bounds; a map's places lie on the picture; a still action is an action."""
    world, states = sample.world, sample.states
    still = getattr(world, "noop_action", None)
    if still is not None and np.shape(still) != (world.action_dim,):
        yield f"`noop_action` should be {world.action_dim} numbers, found {still!r}."
    if still is None and world.discrete:
        yield "A discrete world should say which action stands still: `noop_action = (1.0, 0.0, ...)`."
    expert = getattr(world, "expert_action", None)
    if expert is not None:
        actions = np.asarray(expert(states, states[::-1]))
        lawful = actions.shape == (len(states), world.action_dim) and np.isfinite(actions).all()
        if not lawful or actions.min() < world.action_low or actions.max() > world.action_high:
            yield (
                f"`expert_action(states, goals)` should give finite actions ({len(states)}, {world.action_dim}) "
                f"between {world.action_low:g} and {world.action_high:g}, found shape {actions.shape}"
                + (f" from {actions.min():g} to {actions.max():g}." if actions.size else ".")
            )
    planar = getattr(world, "planar", None)
    if planar is not None:
        places = np.asarray(planar(states))
        if places.shape != (len(states), 2) or not ((places >= 0) & (places <= 1)).all():
            yield (
                f"`planar(states)` should say where on the picture each state is, as shares of its width and height "
                f"({len(states)}, 2) between 0 and 1, found shape {places.shape}."
            )
    facts: Any = world.facts(states[0], states[-1])
    if not all(isinstance(value, float) for value in facts.values()):
        yield f"`facts(start, goal)` should map words to floats, found {dict(facts)}."
