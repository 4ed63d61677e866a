"""What a world is, and how one is found by name.

A `World` is a task family with a simulator: it is set to given states, steps many copies at once, draws them, says
whether a goal is reached and records episodes of a behaviour. A world is a value without hidden state; everything
random in it is a function of the seeds it is given.
"""

import importlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dualwm.envs.world_file import SUFFIX, load_world_file
from dualwm.errors import WorldError, did_you_mean
from dualwm.records import ColumnSpec

Floats = NDArray[np.floating[Any]]
Column = NDArray[Any]


@runtime_checkable
class Simulation(Protocol):
    """b simulators that step together. No randomness beyond the seeds they were made with."""

    @property
    def states(self) -> NDArray[np.float64]:
        """(b, state_width), one row per simulator."""
        ...

    def step(self, actions: Floats) -> NDArray[np.float64]:
        """Take one environment step with actions (b, action_dim); the states after it."""
        ...

    def take(self, rows: NDArray[np.int64]) -> "Simulation":
        """An independent simulation of some of the rows."""
        ...


@runtime_checkable
class World(Protocol):
    """A task family with a simulator. The first success rule and the first dynamics variant are the defaults."""

    @property
    def name(self) -> str:
        """The name `get_world` finds it by."""
        ...

    @property
    def action_dim(self) -> int:
        """Width of one environment action."""
        ...

    @property
    def discrete(self) -> bool:
        """Whether actions are one-hot choices."""
        ...

    @property
    def action_low(self) -> float:
        """Lower bound of every action component."""
        ...

    @property
    def action_high(self) -> float:
        """Upper bound of every action component."""
        ...

    @property
    def cameras(self) -> tuple[str, ...]:
        """What `draw` can look through."""
        ...

    @property
    def state_width(self) -> int:
        """Width of a simulator state."""
        ...

    @property
    def rules(self) -> tuple[str, ...]:
        """Named success rules, the default first."""
        ...

    @property
    def variants(self) -> tuple[str, ...]:
        """Named variants of the dynamics, the default first."""
        ...

    @property
    def columns(self) -> tuple[ColumnSpec, ...]:
        """What an episode stores, and in which role."""
        ...

    @property
    def behaviour_law(self) -> Mapping[str, Any]:
        """Plain data describing how `episode` acts, for a data set's metadata."""
        ...

    def simulate(self, starts: Floats, seeds: Sequence[int], variant: str = ...) -> Simulation:
        """b simulators set to the states (b, state_width)."""
        ...

    def draw(self, states: Floats, size: int, camera: str = ...) -> NDArray[np.uint8]:
        """Pictures of the states, `size` pixels high: (b, size, size, 3), or as wide as a camera's own shape asks."""
        ...

    def proprio(self, states: Floats) -> dict[str, NDArray[np.float32]]:
        """Measured body coordinates by column name, each (b, q)."""
        ...

    def success(self, states: Floats, goals: Floats, rule: str = ...) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Whether each goal is reached, and the distance to it in the rule's own unit."""
        ...

    def facts(self, start: Floats, goal: Floats) -> dict[str, float]:
        """Facts about one task for reports, such as `path_px` and `cross_room`."""
        ...

    def episode(self, seed: int, max_env_steps: int = ...) -> dict[str, Column]:
        """One behaviour episode: stored columns by name. Row t is the observation at t and the action from it."""
        ...


def episodes(world: World, seeds: Sequence[int], max_env_steps: int) -> list[dict[str, Column]]:
    """One behaviour episode per seed; many at once where the world knows how, with the same bytes either way."""
    together: Callable[[Sequence[int], int], list[dict[str, Column]]] | None = getattr(world, "episodes", None)
    if together is not None:
        return together(seeds, max_env_steps)
    return [world.episode(seed, max_env_steps) for seed in seeds]


def recorder(name: str) -> tuple[World, Callable[[Sequence[int], int], list[dict[str, Column]]]]:
    """A world by name, and its behaviour as a function of seeds and a cap on environment steps."""
    world = get_world(name)
    return world, partial(episodes, world)


def replay(
    world: World, starts: Floats, actions: Floats, seeds: Sequence[int] | None = None, variant: str | None = None
) -> NDArray[np.float64]:
    """The states (b, t+1, state_width) that recorded actions (b, t, action_dim) lead through from the starts."""
    simulation = world.simulate(starts, seeds or [0] * len(starts), variant or world.variants[0])
    path = [simulation.states]
    path += [simulation.step(actions[:, t]) for t in range(actions.shape[1])]
    return np.stack(path, axis=1)


_BUILT_IN = {
    "cube": "dualwm.envs.cube:Cube",
    "pusht": "dualwm.envs.pusht:PushT",
    "reacher": "dualwm.envs.reacher:Reacher",
    "sokoban": "dualwm.envs.sokoban:Sokoban",
    "tworoom": "dualwm.envs.tworoom:TwoRoom",
}
"""Name -> zero-argument callable giving the world; its file is imported only when the world is asked for."""


def _known() -> dict[str, EntryPoint]:
    """Every world by name; other packages announce theirs in the entry-point group `dualwm.worlds`."""
    ours = {name: EntryPoint(name, value, "dualwm.worlds") for name, value in _BUILT_IN.items()}
    return {entry.name: entry for entry in entry_points(group="dualwm.worlds")} | ours


def world_names() -> list[str]:
    """The names `get_world` understands."""
    return sorted(_known())


def get_world(name: str) -> World:
    """The world of that name, built in or announced by another package; an unknown name suggests the nearest.

    A name that ends in `.py` is a file that defines a world (see `world_file`).
    """
    if name.endswith(SUFFIX):
        return _a_world(load_world_file(name), f"The file {name} should name a World", "Complete it")
    known = _known()
    if name not in known:
        raise WorldError(f"There is no world named {name!r}. {did_you_mean(name, known)}")
    entry = known[name]
    world = getattr(importlib.import_module(entry.module), entry.attr)()
    where = f"The entry point {name!r} of the group 'dualwm.worlds' ({entry.value}) should give a World when called"
    return _a_world(world, f"{where} without arguments", "Report this to the package that announces it")


def missing_members(candidate: object) -> list[str]:
    """What a candidate lacks to be a `World`."""
    members = [name for name in dir(World) if not name.startswith("_")]
    return [name for name in members if not hasattr(candidate, name)]


def _a_world(candidate: object, expected: str, remedy: str) -> World:
    if isinstance(candidate, World):
        return candidate
    lacking = missing_members(candidate)
    raise WorldError(
        f"{expected}; it gave a {type(candidate).__name__}, which lacks {', '.join(lacking)}. {remedy}: "
        "dualwm.envs.World says what each member is."
    )


def choose(kind: str, name: str, known: Sequence[str], world: str) -> str:
    """`name` if the world knows it; otherwise an error that suggests the nearest."""
    if name not in known:
        raise WorldError(f"The world {world!r} has no {kind} {name!r}. {did_you_mean(name, known)}")
    return name


def drawn_column(world: str, draws_from: str, camera: str = "front", name: str = "pixels") -> ColumnSpec:
    """The column of pictures of any size that a world draws from a state column when they are read."""
    return ColumnSpec(
        name=name,
        kind="drawn",
        dtype="uint8",
        shape=(-1, -1, 3),
        role="pixels",
        camera=camera,
        drawer=world,
        draws_from=draws_from,
    )


def stores_pictures(world: World) -> bool:
    """Whether drawing takes so much longer than reading that data sets of this world store their pictures."""
    return bool(getattr(world, "stores_pictures", False))


def states_of(columns: Sequence[ColumnSpec], episode: Mapping[str, Column]) -> NDArray[np.float64]:
    """The simulator states (rows, state_width) of an episode: its columns of role `state`, side by side."""
    found = [episode[spec.name] for spec in columns if spec.role == "state"]
    return np.concatenate([rows.reshape(len(rows), -1) for rows in found], axis=1).astype(np.float64)


def state_rows(name: str, values: object, width: int) -> NDArray[np.float64]:
    """`values` as finite float64 rows (b, width), or an error saying what came instead."""
    rows = np.asarray(values, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != width or not np.isfinite(rows).all():
        raise WorldError(
            f"{name} should be finite numbers of shape (b, {width}), one row per simulator; "
            f"found shape {rows.shape} with {int((~np.isfinite(rows)).sum())} values that are not finite."
        )
    return rows


def action_rows(world: str, values: object, shape: tuple[int, int]) -> NDArray[np.float64]:
    """`values` as finite float64 actions (b, action_dim), or an error saying what came instead."""
    rows = np.asarray(values, dtype=np.float64)
    if rows.shape != shape or not np.isfinite(rows).all():
        raise WorldError(
            f"Actions of {world} should be finite numbers of shape {shape}, one row per simulator; found shape "
            f"{rows.shape} with {int((~np.isfinite(rows)).sum())} values that are not finite. The last row of a "
            "recorded episode has no action (NaN): leave it out when replaying."
        )
    return rows
