"""Why a task failed: one label each, found by changing one condition at a time and looking whether it then succeeds.

The questions are asked in this order, and the first that is answered with yes gives the label:

not replayable   neither the recorded actions nor the world's expert reach the goal from the restored start
mis-predicted    at some decision the plan reached the goal in imagination, and its execution from that state did not
mis-ranked       candidates executed in the simulator: over the decisions looked at, those of lowest latent cost bring
                 less than half of what the best of them bring
search-limited   the same system with ten times the search succeeds
late or lost     with twice the budget it succeeds
unexplained      none of these; allowed, and counted

Every label carries the figures that gave it. What is asked of a system is the little protocol `Mind`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, Self, cast

import numpy as np
from numpy.typing import NDArray

from dualwm.errors import ControllerError
from dualwm.evaluate.closed_loop import Run, TaskPath, run
from dualwm.evaluate.floors import floor
from dualwm.evaluate.needs import Controller, States, World
from dualwm.records import Goal, Observation, Task, TaskSet

Label = Literal["not replayable", "mis-predicted", "mis-ranked", "search-limited", "late or lost", "unexplained"]
LABELS: tuple[Label, ...] = (
    "not replayable",
    "mis-predicted",
    "mis-ranked",
    "search-limited",
    "late or lost",
    "unexplained",
)
MORE_SEARCH = 10
MORE_BUDGET = 2
LOOKS = 5
"""Decisions of a failed episode whose plan and candidates are executed; spread evenly, the first and the last in."""
HALF = 0.5
"""Of what the best candidate brings: below it the preferred one counts as the wrong choice."""


@dataclass(frozen=True, kw_only=True)
class Thoughts:
    """What a system thought at one decision of b tasks, in terms that a simulator understands."""

    plan: NDArray[np.float32]
    """(b, n, action_dim) the environment actions it meant to take."""
    imagined: States
    """(b, m, state_width) the states it expected on the way, latents being read as the nearest real frame's."""
    candidates: NDArray[np.float32]
    """(b, s, n, action_dim) plans of the kind its search tries, its own among them."""
    cost: NDArray[np.float32]
    """(b, s) what the latent cost says of them; lower is better."""


class Mind(Protocol):
    """What is asked of a system whose failures are to be understood."""

    @property
    def controller(self) -> Controller:
        """The system as it failed."""
        ...

    @property
    def larger(self) -> Controller:
        """The same with ten times the search."""
        ...

    def think(self, before: Any, observation: Observation, after: Any, chunk: NDArray[np.float32]) -> Thoughts:
        """What it thought at a decision that led from memory `before` to memory `after`; acting is not disturbed."""
        ...


@dataclass(frozen=True, kw_only=True)
class Failure:
    """One failed task, why, and by what evidence."""

    task: int
    label: Label
    evidence: Mapping[str, Any] = field(default_factory=dict[str, Any])


def explain(
    world: World, taskset: TaskSet, failed: Sequence[int], mind: Mind, *, size: int, variant: str
) -> list[Failure]:
    """The labels of the failed tasks of a TaskSet. Questions are only asked of tasks that no earlier one settled."""
    asked = _Asked(world=world, taskset=taskset, mind=mind, size=size, variant=variant)
    left, found = list(failed), dict[int, Failure]()
    for ask in (asked.replayable, asked.predicted_and_ranked, asked.with_more_search, asked.with_more_time):
        if left:
            found |= {failure.task: failure for failure in ask(left)}
            left = [task for task in left if task not in found]
    found |= {task: Failure(task=task, label="unexplained") for task in left}
    return [found[task] for task in failed]


def counts(failures: Sequence[Failure]) -> dict[Label, int]:
    """How many of each label, in the order of the questions."""
    return {label: sum(failure.label == label for failure in failures) for label in LABELS}


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """The questions; each returns the failures it explains."""

    world: World
    taskset: TaskSet
    mind: Mind
    size: int
    variant: str

    def replayable(self, tasks: Sequence[int]) -> list[Failure]:
        """Whether anything known solves the task. What a world cannot offer is not asked."""
        solved: dict[int, dict[str, bool]] = {task: {} for task in tasks}
        for name in ("replay", "oracle"):
            try:
                controller = floor(name, self.world, self.taskset, self.variant)
            except ControllerError:
                continue
            for outcome in self._run(controller, tasks).outcomes:
                solved[outcome.task][name] = outcome.success
        return [
            Failure(task=task, label="not replayable", evidence=tried)
            for task, tried in solved.items()
            if tried and not any(tried.values())
        ]

    def predicted_and_ranked(self, tasks: Sequence[int]) -> list[Failure]:
        """Execute plans and candidates from the states they were made in."""
        witness = _Witness(self.mind)
        paths = self._run(witness, tasks).paths
        found: list[Failure] = []
        for task in tasks:
            looks = [self._look(self.taskset.tasks[task], seen) for seen in witness.of(paths[task])]
            wrong = [look for look in looks if look.imagined_success and not look.real_success]
            possible, brought = sum(look.possible for look in looks), sum(look.brought for look in looks)
            if wrong:
                evidence = {"env_step": wrong[0].env_step, "imagined": wrong[0].imagined, "real": wrong[0].real}
                found.append(Failure(task=task, label="mis-predicted", evidence=evidence))
            elif possible > 0 and brought < HALF * possible:
                evidence = {"brought": brought, "possible": possible, "decisions": len(looks)}
                found.append(Failure(task=task, label="mis-ranked", evidence=evidence))
        return found

    def with_more_search(self, tasks: Sequence[int]) -> list[Failure]:
        """The same system, searching more."""
        return [
            Failure(task=outcome.task, label="search-limited", evidence={"steps": outcome.steps})
            for outcome in self._run(self.mind.larger, tasks).outcomes
            if outcome.success
        ]

    def with_more_time(self, tasks: Sequence[int]) -> list[Failure]:
        """The same system, acting longer; a decision knows nothing of the budget, so the beginning is the same."""
        budget = MORE_BUDGET * self.taskset.budget_env_steps
        longer = replace(self.taskset, budget_env_steps=budget)
        return [
            Failure(
                task=outcome.task,
                label="late or lost",
                evidence={"steps": outcome.steps, "budget": self.taskset.budget_env_steps},
            )
            for outcome in self._run(self.mind.controller, tasks, longer).outcomes
            if outcome.success
        ]

    def _look(self, task: Task, seen: "_Seen") -> "_Look":
        """Execute the plan and every candidate of one decision from the state it was made in."""
        goal = np.array([task.goal], dtype=np.float64)
        real = self._executed(task, seen.state, seen.plan[None])[0]
        ends = self._executed(task, seen.state, seen.candidates)[:, -1]
        left = self._left(np.concatenate([seen.state[None], ends]), goal)
        before, after = left[0], left[1:]
        return _Look(
            env_step=seen.env_step,
            imagined=self._closest(seen.imagined, goal),
            real=self._closest(real, goal),
            imagined_success=self._reaches(seen.imagined, goal),
            real_success=self._reaches(real, goal),
            possible=float(max(before - after.min(), 0.0)),
            brought=float(before - after[int(np.argmin(seen.cost))]),
        )

    def _executed(self, task: Task, state: NDArray[np.float64], actions: NDArray[np.float32]) -> States:
        """States (s, n, state_width) after every step of s plans (s, n, action_dim) from one state."""
        starts = np.repeat(state[None], len(actions), axis=0)
        simulation = self.world.simulate(starts, [task.env_seed] * len(actions), self.variant)
        clipped = np.clip(actions, self.world.action_low, self.world.action_high)
        return np.stack([simulation.step(clipped[:, i]).copy() for i in range(clipped.shape[1])], axis=1)

    def _reaches(self, states: States, goal: States) -> bool:
        """Whether some of the states satisfy the goal."""
        return bool(self._success(states, goal)[0].any())

    def _closest(self, states: States, goal: States) -> float | None:
        """The smallest distance on the way, in the rule's own unit; None where nothing was imagined."""
        return float(self._success(states, goal)[1].min()) if len(states) else None

    def _success(self, states: States, goal: States) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        return self.world.success(states, np.repeat(goal, len(states), axis=0), self.taskset.rule)

    def _left(self, states: States, goal: States) -> NDArray[np.float64]:
        """How far the goal still is: by the shortest path where the world measures one, else by its success rule."""
        facts = [self.world.facts(state, goal[0]) for state in states]
        if all("path_px" in fact for fact in facts):
            return np.array([fact["path_px"] for fact in facts])
        return self._success(states, goal)[1]

    def _run(self, controller: Any, tasks: Sequence[int], taskset: TaskSet | None = None) -> Run:
        return run(
            self.world,
            controller,
            taskset or self.taskset,
            size=self.size,
            variant=self.variant,
            system="",
            weights_digest="",
            only=tasks,
            keep_paths=True,
        )


@dataclass(frozen=True, kw_only=True)
class _Look:
    """One decision after its plan and candidates were executed. Distances are in the rule's own unit."""

    env_step: int
    imagined: float | None
    real: float | None
    imagined_success: bool
    real_success: bool
    possible: float
    """By how much the best candidate shortens the way."""
    brought: float
    """By how much the one of lowest latent cost does."""


@dataclass(frozen=True, kw_only=True)
class _Seen:
    """One decision of one task: where it stood, and what was thought."""

    env_step: int
    state: NDArray[np.float64]
    plan: NDArray[np.float32]
    imagined: States
    candidates: NDArray[np.float32]
    cost: NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class _WitnessMemory:
    """The controller's memory beside the task indices of its rows and the steps taken."""

    inner: Any
    tasks: NDArray[np.int64]
    env_step: int = 0

    def take(self, rows: NDArray[np.int64]) -> Self:
        """The memory of some rows."""
        return replace(self, inner=self.inner.take(rows), tasks=self.tasks[rows])


class _Witness:
    """The controller as it is, writing down what it thinks at every decision."""

    def __init__(self, mind: Mind) -> None:
        self._mind = mind
        self._thoughts: dict[int, list[tuple[int, Thoughts, int]]] = {}
        if hasattr(mind.controller, "cameras"):
            self.cameras: tuple[str, ...] = cast(Any, mind.controller).cameras

    def start(self, goal: Goal, tasks: Sequence[int], seed: int) -> _WitnessMemory:
        """As the controller does."""
        inner = self._mind.controller.start(goal, tasks, seed)
        return _WitnessMemory(inner=inner, tasks=np.array(tasks, dtype=np.int64))

    def act(self, memory: _WitnessMemory, observation: Observation) -> tuple[NDArray[np.float32], _WitnessMemory, Any]:
        """As the controller does; thinking aloud comes after."""
        done = 0 if observation.executed is None else observation.executed.shape[1]
        env_step = memory.env_step + done
        chunk, after, decision = self._mind.controller.act(memory.inner, observation)
        thoughts = self._mind.think(memory.inner, observation, after, chunk)
        for row, task in enumerate(memory.tasks.tolist()):
            self._thoughts.setdefault(task, []).append((env_step, thoughts, row))
        return chunk, replace(memory, inner=after, env_step=env_step), decision

    def of(self, path: TaskPath) -> list[_Seen]:
        """Some decisions of one task, spread evenly, with the states they were made in."""
        known = self._thoughts[path.task]
        chosen = sorted({int(i) for i in np.linspace(0, len(known) - 1, min(LOOKS, len(known))).round()})
        return [
            _Seen(
                env_step=env_step,
                state=path.states[env_step],
                plan=thoughts.plan[row],
                imagined=thoughts.imagined[row],
                candidates=thoughts.candidates[row],
                cost=thoughts.cost[row],
            )
            for env_step, thoughts, row in (known[i] for i in chosen)
        ]
