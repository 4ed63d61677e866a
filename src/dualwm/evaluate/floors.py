"""Controllers that plan nothing: what success costs nothing, and what is the most one can ask for.

noop      stands still
random    uniform actions over the action space, keyed by (seed, task, step)
marginal  recorded actions in no order: each drawn on its own, keyed likewise
replay    the actions recorded on the way from a task's start to its goal
oracle    the world's own expert, told where it stands by simulating along

They are ordinary controllers: evaluation cannot tell them from a model. None of them looks at a picture.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dualwm.envs.base import World as Behaving
from dualwm.errors import ControllerError, did_you_mean
from dualwm.evaluate.needs import Simulation, States, World, keyed_generator
from dualwm.evaluate.recorded import actions_of, ways
from dualwm.records import Goal, Observation, TaskSet

Act = tuple[NDArray[np.float32], Any, None]


@dataclass(frozen=True, kw_only=True)
class FloorMemory:
    """Which tasks the rows are, and how many environment steps they have taken."""

    seed: int
    tasks: NDArray[np.int64]
    env_step: int = 0

    def take(self, rows: NDArray[np.int64]) -> Self:
        """The memory of some rows."""
        return replace(self, tasks=self.tasks[rows])


@dataclass(frozen=True, kw_only=True)
class _Blind:
    """Shared by the controllers that know only which task a row is and how many steps it has taken."""

    cameras: ClassVar[tuple[str, ...]] = ()

    def start(self, goal: Goal, tasks: Sequence[int], seed: int) -> FloorMemory:
        """Remember the tasks; the goal is not looked at."""
        del goal
        return FloorMemory(seed=seed, tasks=np.array(tasks, dtype=np.int64))


@dataclass(frozen=True, kw_only=True)
class Noop(_Blind):
    """Stands still."""

    action: tuple[float, ...]

    def act(self, memory: FloorMemory, observation: Observation) -> Act:
        """The same action for every task, one environment step long."""
        del observation
        return np.tile(np.array(self.action, dtype=np.float32), (len(memory.tasks), 1, 1)), memory, None


@dataclass(frozen=True, kw_only=True)
class Random(_Blind):
    """Uniform actions: over the box, or over the one-hot choices of a discrete world."""

    action_dim: int
    discrete: bool
    low: float
    high: float

    def act(self, memory: FloorMemory, observation: Observation) -> Act:
        """One action per task, a function of (seed, task, environment step) alone."""
        del observation
        rows = [self._draw(memory.seed, task, memory.env_step) for task in memory.tasks.tolist()]
        return np.stack(rows)[:, None], replace(memory, env_step=memory.env_step + 1), None

    def _draw(self, seed: int, task: int, env_step: int) -> NDArray[np.float32]:
        generator = keyed_generator("random floor", seed, task, env_step)
        if self.discrete:
            return np.eye(self.action_dim, dtype=np.float32)[generator.integers(self.action_dim)]
        return generator.uniform(self.low, self.high, self.action_dim).astype(np.float32)


@dataclass(frozen=True, kw_only=True)
class Marginal(_Blind):
    """Recorded actions, each drawn without regard to the others: what the behaviour's habits alone are worth."""

    actions: NDArray[np.float32]
    """(n, action_dim)."""

    def act(self, memory: FloorMemory, observation: Observation) -> Act:
        """One action per task, a function of (seed, task, environment step) alone."""
        del observation
        keys = [("marginal floor", memory.seed, task, memory.env_step) for task in memory.tasks.tolist()]
        rows = [int(keyed_generator(*key).integers(len(self.actions))) for key in keys]
        return self.actions[rows][:, None], replace(memory, env_step=memory.env_step + 1), None


@dataclass(frozen=True, kw_only=True)
class Replay(_Blind):
    """Plays given actions back; a task whose actions are used up stands still."""

    actions: tuple[NDArray[np.float32], ...]
    """By task index: (steps, action_dim) recorded from the task's start row on."""
    still: tuple[float, ...]

    def act(self, memory: FloorMemory, observation: Observation) -> Act:
        """The next recorded action of each task."""
        del observation
        rows = [self._at(task, memory.env_step) for task in memory.tasks.tolist()]
        return np.stack(rows)[:, None], replace(memory, env_step=memory.env_step + 1), None

    def _at(self, task: int, env_step: int) -> NDArray[np.float32]:
        recorded = self.actions[task]
        return recorded[env_step] if env_step < len(recorded) else np.array(self.still, dtype=np.float32)


@runtime_checkable
class Expert(Protocol):
    """A world that knows a good action from any state towards any goal."""

    def expert_action(self, states: States, goals: States) -> NDArray[np.float32]:
        """Actions (b, action_dim)."""
        ...


@dataclass(frozen=True, kw_only=True)
class OracleMemory:
    """A simulation that goes through what the tasks go through, and the goals as states."""

    simulation: Simulation
    goals: States

    def take(self, rows: NDArray[np.int64]) -> Self:
        """The memory of some rows."""
        return replace(self, simulation=self.simulation.take(rows), goals=self.goals[rows])


@dataclass(frozen=True, kw_only=True)
class Oracle:
    """The world's expert. Observations carry no states, so it repeats what was executed in its own simulation."""

    world: World
    expert: Expert
    taskset: TaskSet
    variant: str
    cameras: ClassVar[tuple[str, ...]] = ()

    def start(self, goal: Goal, tasks: Sequence[int], seed: int) -> OracleMemory:
        """Set the own simulation to the tasks' starts; the goal's pictures are not looked at."""
        del goal, seed
        chosen = [self.taskset.tasks[i] for i in tasks]
        starts = np.array([task.start for task in chosen], dtype=np.float64)
        goals = np.array([task.goal for task in chosen], dtype=np.float64)
        simulation = self.world.simulate(starts, [task.env_seed for task in chosen], self.variant)
        return OracleMemory(simulation=simulation, goals=goals)

    def act(self, memory: OracleMemory, observation: Observation) -> Act:
        """One expert action per task."""
        # A fresh copy, so that acting twice from one memory gives the same action twice.
        simulation = memory.simulation.take(np.arange(len(memory.goals)))
        if observation.executed is not None:
            for i in range(observation.executed.shape[1]):
                simulation.step(observation.executed[:, i])
        chunk = self.expert.expert_action(simulation.states, memory.goals)[:, None].astype(np.float32)
        return chunk, replace(memory, simulation=simulation), None


def noop(world: World) -> Noop:
    """Stand still: the world's `noop_action`, or zeros where actions are continuous."""
    return Noop(action=_still(world))


def random(world: World) -> Random:
    """Uniform actions of a world."""
    return Random(action_dim=world.action_dim, discrete=world.discrete, low=world.action_low, high=world.action_high)


def marginal(world: World, actions: NDArray[np.float32]) -> Marginal:
    """Draw from recorded actions (n, action_dim)."""
    if not len(actions):
        raise ControllerError(f"No recorded action of {world.name} is there to draw from. Record longer episodes.")
    return Marginal(actions=actions)


def replay(world: World, actions: Sequence[NDArray[np.float32]]) -> Replay:
    """Play back recorded actions, one array (steps, action_dim) per task of a TaskSet."""
    return Replay(actions=tuple(actions), still=_still(world))


def oracle(world: World, taskset: TaskSet, variant: str) -> Oracle:
    """The world's own expert, if it has one."""
    if not isinstance(world, Expert):
        raise ControllerError(f"{world.name} has no expert, so there is no oracle for it. Compare with replay instead.")
    return Oracle(world=world, expert=world, taskset=taskset, variant=variant)


FLOORS: dict[str, Callable[[World, TaskSet, str], Any]] = {
    "noop": lambda world, taskset, variant: noop(world),
    "random": lambda world, taskset, variant: random(world),
    "marginal": lambda world, taskset, variant: marginal(world, actions_of(world)),
    "replay": lambda world, taskset, variant: replay(world, ways(world, taskset)),
    "oracle": oracle,
}
"""Controllers that need nothing but a world and its tasks, by the name a command line knows them by."""


def floor(name: str, world: World, taskset: TaskSet, variant: str) -> Any:
    """The floor or ceiling of that name for one TaskSet."""
    if name not in FLOORS:
        raise ControllerError(f"There is no floor named {name!r}. {did_you_mean(name, FLOORS)}")
    return FLOORS[name](world, taskset, variant)


def floors_for(world: World) -> list[str]:
    """The floors and ceilings that a world has what they need for."""
    needs = {"marginal": Behaving, "replay": Behaving, "oracle": Expert}
    return [name for name in FLOORS if name not in needs or isinstance(world, needs[name])]


def _still(world: World) -> tuple[float, ...]:
    declared = cast("tuple[float, ...] | None", getattr(world, "noop_action", None))
    if declared is None and world.discrete:
        raise ControllerError(f"{world.name} has discrete actions and names none of them as `noop_action`.")
    return (0.0,) * world.action_dim if declared is None else declared
