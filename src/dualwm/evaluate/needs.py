"""What evaluation asks of the other rooms: the least of a world, a store and a controller that it can work with."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dualwm.records import ColumnRole, ColumnSpec, Goal, Observation

States = NDArray[np.float64]
"""(b, state_width): everything a simulator needs to stand where it stood."""


@runtime_checkable
class Simulation(Protocol):
    """A batch of simulators that stand in given states."""

    @property
    def states(self) -> States:
        """Where they stand now."""
        ...

    def step(self, actions: NDArray[Any]) -> States:
        """States after one environment step under actions (b, action_dim)."""
        ...

    def take(self, rows: NDArray[np.int64]) -> "Simulation":
        """The simulators of some rows; the others are gone."""
        ...


@runtime_checkable
class World(Protocol):
    """A task family with a simulator. Frames, success and facts are functions of states."""

    @property
    def name(self) -> str:
        """What results call it."""
        ...

    @property
    def action_dim(self) -> int:
        """Width of an environment action."""
        ...

    @property
    def discrete(self) -> bool:
        """Whether an action is one-hot."""
        ...

    @property
    def action_low(self) -> float:
        """Lower bound of every action coordinate."""
        ...

    @property
    def action_high(self) -> float:
        """Upper bound of every action coordinate."""
        ...

    @property
    def cameras(self) -> tuple[str, ...]:
        """What can be drawn."""
        ...

    @property
    def rules(self) -> tuple[str, ...]:
        """Named success rules, the default first."""
        ...

    def simulate(self, starts: States, seeds: Sequence[int], variant: str) -> Simulation:
        """Simulators set to given states."""
        ...

    def draw(self, states: States, size: int, camera: str) -> NDArray[np.uint8]:
        """Frames `size` pixels high: (b, size, size, 3), or as wide as a camera's own shape asks."""
        ...

    def proprio(self, states: States) -> Mapping[str, NDArray[np.float32]]:
        """Measured body coordinates by name, each (b, q)."""
        ...

    def success(self, states: States, goals: States, rule: str) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Whether each state satisfies its goal under a named rule, and the distance in the rule's own unit."""
        ...

    def facts(self, start: NDArray[np.float64], goal: NDArray[np.float64]) -> Mapping[str, float]:
        """What makes one pair hard or easy, such as `path_px` and `cross_room`."""
        ...


@runtime_checkable
class Memory(Protocol):
    """What a controller carries from one decision to the next: a frozen record, one row per task."""

    def take(self, rows: NDArray[np.int64]) -> Self:
        """The memory of some rows."""
        ...


@runtime_checkable
class Controller(Protocol):
    """All that evaluation knows of a method.

    A controller may name the `cameras` it looks at in an attribute; one that names none is never drawn for.
    """

    def start(self, goal: Goal, tasks: Sequence[int], seed: int) -> Any:
        """The memory before the first decision."""
        ...

    def act(self, memory: Any, observation: Observation) -> tuple[NDArray[np.float32], Any, Any]:
        """A chunk of actions (b, c, action_dim), the next memory, and a record of the decision."""
        ...


@runtime_checkable
class Episodes(Protocol):
    """Recorded episodes that tasks are cut from: a data set opened for reading."""

    rows: NDArray[np.int64]
    """Rows of each episode."""
    seeds: NDArray[np.int64]
    """Environment seed of each episode."""
    first_rows: NDArray[np.int64]
    """Where each episode begins among the rows of all episodes laid end to end."""

    def columns_of(self, role: ColumnRole) -> list[ColumnSpec]:
        """The columns in a role. Those of role `state`, side by side, are what a simulator is set to."""
        ...

    def read_rows(self, name: str, rows: NDArray[np.int64]) -> NDArray[Any]:
        """Some of all episodes' rows of one column."""
        ...


def keyed_generator(purpose: str, *numbers: int | str) -> np.random.Generator:
    """Randomness that is a function of what it is for: a Philox generator keyed by a purpose and some numbers."""
    text = "/".join([purpose, *map(str, numbers)])
    return np.random.Generator(np.random.Philox(key=int.from_bytes(hashlib.sha256(text.encode()).digest()[:16])))
