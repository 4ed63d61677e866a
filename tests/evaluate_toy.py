"""A world that can be solved by hand, z' = z + a, with episodes, tasks and controllers for the tests of evaluation."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dualwm.evaluate.cell import Entrant
from dualwm.evaluate.closed_loop import Run, run
from dualwm.evaluate.floors import random
from dualwm.records import ColumnSpec, Goal, Observation, Task, TaskSet


class IntegratorSimulation:
    """z' = z + a, actions clamped to the square."""

    def __init__(self, states: NDArray[np.float64]) -> None:
        self.states = states.copy()

    def step(self, actions: NDArray[Any]) -> NDArray[np.float64]:
        assert actions.shape == self.states.shape, (actions.shape, self.states.shape)
        self.states = self.states + np.clip(actions.astype(np.float64), -1, 1)
        return self.states

    def take(self, rows: NDArray[np.int64]) -> "IntegratorSimulation":
        return IntegratorSimulation(self.states[rows])


@dataclass(frozen=True)
class IntegratorWorld:
    """Two coordinates; `near` is closer than 0.5. A path of length 1 counts as 10 px, x = 0 parts two rooms."""

    name: str = "integrator"
    action_dim: int = 2
    discrete: bool = False
    action_low: float = -1.0
    action_high: float = 1.0
    cameras: tuple[str, ...] = ("front",)
    rules: tuple[str, ...] = ("near", "nearer")

    def simulate(self, starts: NDArray[np.float64], seeds: Sequence[int], variant: str) -> IntegratorSimulation:
        assert len(seeds) == len(starts), (seeds, starts)
        assert variant == "plain", variant
        return IntegratorSimulation(starts)

    def draw(self, states: NDArray[np.float64], size: int, camera: str) -> NDArray[np.uint8]:
        assert camera == "front", camera
        return np.zeros((len(states), size, size, 3), np.uint8)

    def proprio(self, states: NDArray[np.float64]) -> dict[str, NDArray[np.float32]]:
        return {"z": states.astype(np.float32)}

    def success(
        self, states: NDArray[np.float64], goals: NDArray[np.float64], rule: str
    ) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        gap = np.hypot(*(states - goals).T)
        return gap < {"near": 0.5, "nearer": 0.25}[rule], gap

    def facts(self, start: NDArray[np.float64], goal: NDArray[np.float64]) -> dict[str, float]:
        return {
            "path_px": float(10 * np.hypot(*(goal - start))),
            "cross_room": float((start[0] < 0) != (goal[0] < 0)),
        }


class ExpertWorld(IntegratorWorld):
    """The same world with an expert."""

    def expert_action(self, states: NDArray[np.float64], goals: NDArray[np.float64]) -> NDArray[np.float32]:
        return np.clip(goals - states, -1, 1).astype(np.float32)


WORLD = ExpertWorld()


@dataclass
class Episodes:
    """Random walks laid end to end: what a data set opened for reading offers."""

    rows: NDArray[np.int64]
    seeds: NDArray[np.int64]
    z: NDArray[np.float64]
    first_rows: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        self.first_rows = np.cumsum(self.rows) - self.rows

    def columns_of(self, role: str) -> list[ColumnSpec]:
        assert role == "state", role
        return [
            ColumnSpec(name="x", kind="array", dtype="float64", shape=(1,), role="state"),
            ColumnSpec(name="y", kind="array", dtype="float64", shape=(), role="state"),
        ]

    def read_rows(self, name: str, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        return self.z[rows, :1] if name == "x" else self.z[rows, 1]


def walks(episodes: int = 40, first_seed: int = 500, longest: int = 140) -> Episodes:
    """Episodes of different lengths, some too short for offset 100."""
    generator = np.random.default_rng(first_seed)
    rows = generator.integers(60, longest + 1, episodes)
    steps = [generator.uniform(-1, 1, (n, 2)) + generator.choice([-0.3, 0.3], 2) for n in rows]
    z = np.concatenate([np.cumsum(step, axis=0) for step in steps])
    return Episodes(rows=rows.astype(np.int64), seeds=first_seed + np.arange(episodes), z=z)


def line_tasks(distances: Sequence[float], *, seed: int = 0, offset: int = 25, rule: str = "near") -> TaskSet:
    """Task i leads from the origin to (distances[i], 0)."""
    tasks = tuple(
        Task(
            index=i,
            env_seed=i,
            start=(0.0, 0.0),
            goal=(float(distance), 0.0),
            episode=i,
            start_row=0,
            initially_solved=abs(distance) < 0.5,
            facts={"path_px": 10.0 * abs(distance), "cross_room": float(distance < 0)},
        )
        for i, distance in enumerate(distances)
    )
    return TaskSet(
        world="integrator",
        rule=rule,
        collection="dev" if seed >= 1000 else "test",
        protocol="heldout",
        goal_offset_env_steps=offset,
        budget_env_steps=offset + 25,
        seed=seed,
        tasks=tasks,
    )


@dataclass(frozen=True)
class HomingMemory:
    """The goals of the rows, which tasks they are, and a count of decisions."""

    goals: NDArray[np.float32]
    tasks: NDArray[np.int64]
    decisions: int = 0

    def take(self, rows: NDArray[np.int64]) -> Self:
        return replace(self, goals=self.goals[rows], tasks=self.tasks[rows])


@dataclass
class Homing:
    """Heads for the goal and keeps the direction for a whole chunk, so that long chunks overshoot.

    `wobble` bends the direction by an amount that depends on the task alone.
    """

    chunk: int = 1
    wobble: float = 0.0
    seen: list[Observation] = field(default_factory=list)
    on_act: Callable[[], None] = lambda: None

    def start(self, goal: Goal, tasks: Sequence[int], seed: int) -> HomingMemory:
        del seed
        return HomingMemory(goal.proprio["z"], np.array(tasks))

    def act(
        self, memory: HomingMemory, observation: Observation
    ) -> tuple[NDArray[np.float32], HomingMemory, dict[str, Any]]:
        self.seen.append(observation)
        self.on_act()
        towards = np.clip(memory.goals - observation.proprio["z"], -1, 1)
        bend = self.wobble * np.stack([np.sin(memory.tasks), np.cos(memory.tasks + memory.decisions)], 1)
        chunk = np.repeat((towards + bend)[:, None], self.chunk, axis=1).astype(np.float32)
        return chunk, replace(memory, decisions=memory.decisions + 1), {"tasks": memory.tasks}


def go(controller: Any, taskset: TaskSet, **options: Any) -> Run:
    """`run` with what every test of the toy world has in common."""
    return run(
        options.pop("world", WORLD), controller, taskset, size=4, variant="plain", system="toy", weights_digest="w",
        **options,
    )  # fmt: skip


def entrant(controller: Any = None, system: str = "toy", weights: str = "w") -> Entrant:
    """A toy controller as it enters an evaluation; uniform actions by default."""
    chosen = random(WORLD) if controller is None else controller
    return Entrant(
        system=system,
        weights_digest=weights,
        controller=lambda taskset: chosen,
        frame_size=4,
        threads=1,
        precision="float32",
    )
