"""All tasks of a TaskSet in one vectorised simulation under one controller, until success or budget.

A task ends at the first environment step after which its success rule holds; it then leaves the batch, and nothing it
was part of may change for the others. The rule is never asked before a step was taken: a task solved at the start has
to be solved after its first step like any other. Nothing is ever reset.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualwm.errors import ControllerError
from dualwm.evaluate.needs import Controller, Simulation, States, World
from dualwm.records import Goal, Observation, Outcome, Task, TaskSet


@dataclass(frozen=True, kw_only=True)
class Timings:
    """Where the seconds went. Planning is what `act` took, nothing else."""

    planning_seconds: float = 0.0
    starting_seconds: float = 0.0
    """`Controller.start`: encoding the goals."""
    drawing_seconds: float = 0.0
    simulating_seconds: float = 0.0
    env_steps: int = 0
    """Environment steps executed, summed over tasks."""
    decision_ms_per_env_step: tuple[float, ...] = ()
    """Of each decision: milliseconds of `act` per environment step that its chunks were executed for."""

    @property
    def planning_ms_per_env_step(self) -> float | None:
        """The paper's measure, amortised over the batch; None before anything was executed."""
        return 1000 * self.planning_seconds / self.env_steps if self.env_steps else None

    @property
    def seconds(self) -> float:
        """All of them."""
        return self.planning_seconds + self.starting_seconds + self.drawing_seconds + self.simulating_seconds

    def __add__(self, other: "Timings") -> "Timings":
        return Timings(**{name: getattr(self, name) + getattr(other, name) for name in self.__dict__})


@dataclass(frozen=True, kw_only=True)
class DecisionTrace:
    """One decision of one batch: when, of which tasks, how long it took, and the controller's own record."""

    env_step: int
    tasks: tuple[int, ...]
    seconds: float
    decision: Any


@dataclass(frozen=True, kw_only=True)
class TaskPath:
    """What one task went through: states (steps + 1, state_width) and the actions (steps, action_dim) between them."""

    task: int
    states: States
    actions: NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Where a run stands, for whoever shows it."""

    tasks: int
    done: int
    successes: int
    env_step: int
    """Environment steps taken by the batch under way."""
    budget_env_steps: int
    alive: int
    """Tasks of that batch that are not over."""
    timings: Timings

    @property
    def worked(self) -> float:
        """Tasks over, and of those under way the part of the budget that is spent: grows evenly with time."""
        return self.done + self.alive * self.env_step / self.budget_env_steps


@dataclass(frozen=True, kw_only=True)
class Run:
    """What a closed-loop run gave. Traces and paths are there only if they were asked for."""

    outcomes: list[Outcome]
    timings: Timings
    traces: list[DecisionTrace]
    paths: dict[int, TaskPath]


def run(
    world: World,
    controller: Controller,
    taskset: TaskSet,
    *,
    size: int,
    variant: str,
    system: str,
    weights_digest: str,
    settings_digest: str = "",
    only: Sequence[int] | None = None,
    batch_size: int | None = None,
    keep_traces: bool = False,
    keep_paths: bool = False,
    on_finished: Callable[[Sequence[Outcome], Timings], None] | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Run:
    """Run the tasks (`only` some, by index) and say what happened. Outcomes come in task order.

    `on_finished` hears of outcomes as soon as they are known, so that a caller can put them on disk; the timings with
    them cover everything up to then. `batch_size` bounds how many tasks are simulated together.
    """
    tasks = [taskset.tasks[i] for i in (range(len(taskset.tasks)) if only is None else only)]
    loop = _Loop(
        world=world,
        controller=controller,
        taskset=taskset,
        size=size,
        variant=variant,
        system=system,
        weights_digest=weights_digest,
        settings_digest=settings_digest,
        total=len(tasks),
        traces=[] if keep_traces else None,
        walked={} if keep_paths else None,
        on_finished=on_finished,
        on_progress=on_progress,
    )
    step = batch_size or max(1, len(tasks))
    for first in range(0, len(tasks), step):
        loop.run_batch(tasks[first : first + step])
    return Run(
        outcomes=sorted(loop.outcomes, key=lambda outcome: outcome.task),
        timings=loop.timings,
        traces=loop.traces or [],
        paths={task: _path(task, *walked) for task, walked in sorted((loop.walked or {}).items())},
    )


_Walked = tuple[list[NDArray[np.float64]], list[NDArray[np.float32]]]


def _path(task: int, states: list[NDArray[np.float64]], actions: list[NDArray[np.float32]]) -> TaskPath:
    return TaskPath(task=task, states=np.array(states), actions=np.array(actions))


@dataclass(kw_only=True)
class _Batch:
    """The tasks still alive, one row each in everything here."""

    tasks: list[Task]
    goals: States
    simulation: Simulation
    memory: Any
    distance: NDArray[np.float64]
    """Smallest so far."""
    executed: NDArray[np.float32] | None = None
    env_step: int = 0
    decisions: int = 0

    def keep(self, staying: NDArray[np.bool_]) -> None:
        """Drop the rows of tasks that are over."""
        rows = np.flatnonzero(staying)
        self.tasks = [self.tasks[row] for row in rows]
        self.goals, self.distance = self.goals[rows], self.distance[rows]
        self.executed = None if self.executed is None else self.executed[rows]
        if len(rows):
            self.simulation, self.memory = self.simulation.take(rows), self.memory.take(rows)


@dataclass(kw_only=True)
class _Loop:
    """One call of `run`: what it was given, and what came of it so far."""

    world: World
    controller: Controller
    taskset: TaskSet
    size: int
    variant: str
    system: str
    weights_digest: str
    settings_digest: str
    total: int
    traces: list[DecisionTrace] | None
    walked: dict[int, _Walked] | None
    on_finished: Callable[[Sequence[Outcome], Timings], None] | None
    on_progress: Callable[[Progress], None] | None
    outcomes: list[Outcome] = field(default_factory=list[Outcome])
    timings: Timings = field(default_factory=Timings)

    def run_batch(self, tasks: list[Task]) -> None:
        batch = self._start(tasks)
        while batch.tasks:
            known, steps = len(self.outcomes), self.timings.env_steps
            chunk, seconds = self._decide(batch)
            self._execute(batch, chunk)
            per_step = 1000 * seconds / (self.timings.env_steps - steps)
            self._spend(planning_seconds=seconds, decision_ms_per_env_step=(per_step,))
            self._tell(known, batch)

    def _start(self, tasks: list[Task]) -> _Batch:
        starts = np.array([task.start for task in tasks], dtype=np.float64)
        goals = np.array([task.goal for task in tasks], dtype=np.float64)
        goal = Goal(frames=self._frames(goals), proprio=self.world.proprio(goals))
        before = perf_counter()
        memory = self.controller.start(goal, [task.index for task in tasks], self.taskset.seed)
        self._spend(starting_seconds=perf_counter() - before)
        simulation = self.world.simulate(starts, [task.env_seed for task in tasks], self.variant)
        if self.walked is not None:
            self.walked.update({task.index: ([start], []) for task, start in zip(tasks, starts, strict=True)})
        distance = np.full(len(tasks), np.inf)
        return _Batch(tasks=tasks, goals=goals, simulation=simulation, memory=memory, distance=distance)

    def _decide(self, batch: _Batch) -> tuple[NDArray[np.float32], float]:
        """The next chunk, within the world's bounds and the budget, and the seconds it took to plan."""
        states = batch.simulation.states
        frames, proprio = self._frames(states), self.world.proprio(states)
        observation = Observation(frames=frames, proprio=proprio, executed=batch.executed)
        before = perf_counter()
        chunk, batch.memory, decision = self.controller.act(batch.memory, observation)
        seconds = perf_counter() - before
        if self.traces is not None:
            alive = tuple(task.index for task in batch.tasks)
            self.traces.append(DecisionTrace(env_step=batch.env_step, tasks=alive, seconds=seconds, decision=decision))
        batch.decisions += 1
        chunk = self._checked(chunk, len(batch.tasks))[:, : self.taskset.budget_env_steps - batch.env_step]
        return np.clip(chunk, self.world.action_low, self.world.action_high, dtype=np.float32), seconds

    def _execute(self, batch: _Batch, chunk: NDArray[np.float32]) -> None:
        """One environment step after the other; whoever succeeds leaves before the next one."""
        batch.executed = chunk
        for i in range(chunk.shape[1]):
            actions = batch.executed[:, i]
            before = perf_counter()
            states = batch.simulation.step(actions)
            self._spend(simulating_seconds=perf_counter() - before, env_steps=len(batch.tasks))
            batch.env_step += 1
            self._walk(batch, states, actions)
            success, distance = self.world.success(states, batch.goals, self.taskset.rule)
            batch.distance = np.minimum(batch.distance, distance)
            over = success | (batch.env_step >= self.taskset.budget_env_steps)
            for row in np.flatnonzero(over).tolist():
                self.outcomes.append(self._outcome(batch, row, bool(success[row])))
            if over.any():
                batch.keep(~over)
            if not batch.tasks:
                return

    def _outcome(self, batch: _Batch, row: int, success: bool) -> Outcome:
        task, taskset = batch.tasks[row], self.taskset
        return Outcome(
            system=self.system,
            weights_digest=self.weights_digest,
            settings_digest=self.settings_digest,
            variant=self.variant,
            taskset_digest=self.taskset_digest,
            world=taskset.world,
            rule=taskset.rule,
            protocol=taskset.protocol,
            goal_offset_env_steps=taskset.goal_offset_env_steps,
            budget_env_steps=taskset.budget_env_steps,
            seed=taskset.seed,
            task=task.index,
            success=success,
            initially_solved=task.initially_solved,
            steps=batch.env_step,
            distance=float(batch.distance[row]),
            decisions=batch.decisions,
            facts=task.facts,
        )

    @cached_property
    def taskset_digest(self) -> str:
        return self.taskset.digest

    def _walk(self, batch: _Batch, states: States, actions: NDArray[np.float32]) -> None:
        if self.walked is not None:
            for task, state, action in zip(batch.tasks, states, actions, strict=True):
                self.walked[task.index][0].append(state.copy())
                self.walked[task.index][1].append(action)

    def _tell(self, known: int, batch: _Batch) -> None:
        """Report what this decision finished, and how far the run is."""
        if self.on_finished is not None and len(self.outcomes) > known:
            self.on_finished(self.outcomes[known:], self.timings)
        if self.on_progress is not None:
            self.on_progress(
                Progress(
                    tasks=self.total,
                    done=len(self.outcomes),
                    successes=sum(outcome.success for outcome in self.outcomes),
                    env_step=batch.env_step,
                    budget_env_steps=self.taskset.budget_env_steps,
                    alive=len(batch.tasks),
                    timings=self.timings,
                )
            )

    def _frames(self, states: States) -> dict[str, NDArray[np.uint8]]:
        cameras: tuple[str, ...] = getattr(self.controller, "cameras", self.world.cameras)
        before = perf_counter()
        frames = {camera: self.world.draw(states, self.size, camera) for camera in cameras}
        self._spend(drawing_seconds=perf_counter() - before)
        return frames

    def _checked(self, chunk: NDArray[np.float32], tasks: int) -> NDArray[np.float32]:
        fits = chunk.ndim == 3 and chunk.shape[0] == tasks and chunk.shape[1] > 0
        if not fits or chunk.shape[2] != self.world.action_dim or not np.isfinite(chunk).all():
            raise ControllerError(
                f"{self.system or type(self.controller).__name__}: expected finite actions of shape ({tasks}, c, "
                f"{self.world.action_dim}) with c of at least 1 from `Controller.act`, got shape {chunk.shape}"
                f"{'' if np.isfinite(chunk).all() else ' with values that are not finite'}. Correct the controller."
            )
        return chunk

    def _spend(self, **spent: Any) -> None:
        self.timings = self.timings + Timings(**spent)
