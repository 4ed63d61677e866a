from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from evaluate_toy import WORLD, Homing, IntegratorSimulation, IntegratorWorld, go, line_tasks
from numpy.typing import NDArray

from dualwm.errors import ControllerError
from dualwm.evaluate.closed_loop import Progress, Timings
from dualwm.evaluate.floors import random
from dualwm.records import Goal, Observation, Outcome

MIXED = [3, 0.2, 12, 60, 7, 1, 25, 49, 51, 5, 18, 33, 2, 80, 9, 44, 6]
"""Some are reached early, some late, some never within 50 steps."""


def test_success_is_checked_after_every_environment_step_of_a_chunk():
    run = go(Homing(chunk=5), line_tasks([3, 7, 5]))
    # Directions are kept for five steps, so the first task would be at 5 and the second at 10 when a chunk ends.
    assert [(o.success, o.steps, o.decisions) for o in run.outcomes] == [(True, 3, 1), (True, 7, 2), (True, 5, 1)]
    assert [o.distance for o in run.outcomes] == [0, 0, 0]


def test_a_task_solved_at_the_start_must_be_solved_after_a_step():
    taskset = line_tasks([0.2, 0.4])
    away = go(_Script([[-1.0, 0.0]]), taskset)
    assert [(o.success, o.initially_solved, o.steps) for o in away.outcomes] == [(False, True, 50)] * 2
    assert away.outcomes[0].distance == pytest.approx(1.2)
    stay = go(_Script([[0.0, 0.0]]), taskset)
    assert [(o.success, o.steps) for o in stay.outcomes] == [(True, 1)] * 2


@pytest.mark.parametrize("chunk", [1, 7, 50, 64])
def test_the_budget_is_counted_in_environment_steps_and_cuts_the_last_chunk(chunk: int):
    run = go(Homing(chunk=chunk), line_tasks([200, 50, 51]), keep_paths=True)
    assert [(o.success, o.steps) for o in run.outcomes] == [(False, 50), (True, 50), (False, 50)]
    assert [len(run.paths[task].actions) for task in (0, 1, 2)] == [50] * 3
    assert run.outcomes[0].decisions == -(-50 // chunk)
    assert run.timings.env_steps == 150


def test_the_smallest_distance_is_remembered():
    run = go(_Script([[1.0, 0.0]]), line_tasks([10.4, 20], rule="nearer"))
    assert [round(o.distance, 6) for o in run.outcomes] == [0.4, 0.0]
    assert [o.success for o in run.outcomes] == [False, True]


@pytest.mark.parametrize("chunk", [1, 5])
@pytest.mark.parametrize("batch_size", [1, 3, 17, None])
def test_an_outcome_does_not_depend_on_batch_mates_or_on_who_finishes_early(chunk: int, batch_size: int | None):
    taskset = line_tasks(MIXED)
    alone = [go(Homing(chunk=chunk, wobble=0.3), taskset, only=[i]).outcomes[0] for i in range(len(MIXED))]
    together = go(Homing(chunk=chunk, wobble=0.3), taskset, batch_size=batch_size)
    assert [o.to_json() for o in together.outcomes] == [o.to_json() for o in alone]
    assert {o.success for o in alone} == {True, False}


def test_order_and_choice_of_tasks_change_nothing():
    taskset = line_tasks(MIXED)
    whole = {o.task: o for o in go(random(WORLD), taskset).outcomes}
    some = go(random(WORLD), taskset, only=[9, 2, 14, 1], batch_size=3).outcomes
    assert [o.task for o in some] == [1, 2, 9, 14]
    assert all(o == whole[o.task] for o in some)


def test_the_controller_gets_back_what_was_executed_and_only_for_tasks_still_alive():
    controller = Homing(chunk=4)
    go(controller, line_tasks([2, 9, 200]))
    executed = [observation.executed for observation in controller.seen]
    assert executed[0] is None
    assert executed[1] is not None
    assert executed[1].shape == (2, 4, 2)
    assert (executed[1] == [1, 0]).all()
    assert [len(observation.proprio["z"]) for observation in controller.seen[:4]] == [3, 2, 2, 1]
    assert controller.seen[1].proprio["z"][:, 0].tolist() == [4, 4]


def test_actions_outside_the_bounds_are_executed_and_handed_back_clamped():
    controller = _Script([[3.0, -7.0]], chunk=2)
    go(controller, line_tasks([30]))
    assert controller.seen[1].executed is not None
    assert controller.seen[1].executed.tolist() == [[[1, -1], [1, -1]]]


def test_nothing_is_reset_after_success():
    class Spy(IntegratorSimulation):
        steps = 0

        def step(self, actions: NDArray[Any]) -> NDArray[np.float64]:
            Spy.steps += len(actions)
            return super().step(actions)

        def take(self, rows: NDArray[np.int64]) -> "Spy":
            return Spy(self.states[rows])

    class Spied(IntegratorWorld):
        def simulate(self, starts: NDArray[np.float64], seeds: Any, variant: str) -> Spy:
            return Spy(starts)

    run = go(Homing(chunk=5), line_tasks([3, 8, 100]), world=Spied())
    assert Spy.steps == sum(o.steps for o in run.outcomes) == run.timings.env_steps == 3 + 8 + 50


def test_frames_and_goal_frames_are_drawn_for_the_cameras_the_controller_looks_at():
    class Painted(IntegratorWorld):
        def draw(self, states: NDArray[np.float64], size: int, camera: str) -> NDArray[np.uint8]:
            shade = states[:, 0] + (100 if camera == "top" else 0)
            return np.broadcast_to(shade[:, None, None, None], (len(states), size, size, 3)).astype(np.uint8)

    class Looking(_Script):
        def start(self, goal: Goal, tasks: Any, seed: int) -> Any:
            assert goal.frames is not None
            assert {name: (f.shape, int(f[0, 0, 0, 0])) for name, f in goal.frames.items()} == self.expected
            return super().start(goal, tasks, seed)

    both = Looking([[1.0, 0.0]])
    both.expected = {"front": ((2, 4, 4, 3), 3), "top": ((2, 4, 4, 3), 103)}
    go(both, line_tasks([3, 60]), world=Painted(cameras=("front", "top")))
    assert [int(o.frames["top"][-1, 0, 0, 0]) for o in both.seen[:3]] == [100, 101, 102]
    assert [len(o.frames["front"]) for o in both.seen[2:4]] == [2, 1]
    one = Looking([[1.0, 0.0]])
    one.cameras, one.expected = ("top",), {"top": ((2, 4, 4, 3), 103)}
    go(one, line_tasks([3, 60]), world=Painted(cameras=("front", "top")))
    assert set(one.seen[0].frames) == {"top"}


def test_traces_and_paths_are_kept_on_request_and_belong_together():
    taskset = line_tasks([2, 9])
    run = go(Homing(chunk=4), taskset, keep_traces=True, keep_paths=True)
    assert [(trace.env_step, trace.tasks) for trace in run.traces] == [(0, (0, 1)), (4, (1,)), (8, (1,))]
    assert run.traces[1].decision["tasks"].tolist() == [1]
    assert run.paths[1].states[:, 0].tolist() == list(range(10))
    assert (np.diff(run.paths[1].states, axis=0) == run.paths[1].actions).all()
    assert run.paths[0].states.shape == (3, 2)
    bare = go(Homing(chunk=4), taskset)
    assert (bare.traces, bare.paths) == ([], {})


def test_finished_tasks_are_told_at_once_and_every_task_once():
    told: list[list[Outcome]] = []
    spent: list[int] = []
    progress: list[Progress] = []

    def hear(outcomes: Any, timings: Timings) -> None:
        told.append(list(outcomes))
        spent.append(timings.env_steps)

    run = go(Homing(), line_tasks([3, 1, 3, 60]), on_finished=hear, on_progress=progress.append)
    assert [[o.task for o in some] for some in told] == [[1], [0, 2], [3]]
    assert spent == [4, 4 + 3 + 3, 10 + 47]
    assert sorted((o for some in told for o in some), key=lambda o: o.task) == run.outcomes
    assert [(p.done, p.successes, p.env_step) for p in progress[:3]] == [(1, 1, 1), (1, 1, 2), (3, 3, 3)]
    assert (progress[-1].tasks, progress[-1].done, progress[-1].successes) == (4, 4, 3)


def test_only_act_counts_as_planning(monkeypatch: pytest.MonkeyPatch):
    clock = _Clock()
    monkeypatch.setattr("dualwm.evaluate.closed_loop.perf_counter", lambda: clock.now)

    class Slow(IntegratorWorld):
        def draw(self, states: NDArray[np.float64], size: int, camera: str) -> NDArray[np.uint8]:
            clock.now += 1000.0
            return super().draw(states, size, camera)

        def proprio(self, states: NDArray[np.float64]) -> dict[str, NDArray[np.float32]]:
            clock.now += 10.0
            return super().proprio(states)

    controller = Homing(chunk=4, on_act=lambda: clock.pass_seconds(0.5))
    run = go(controller, line_tasks([2, 9, 200]), world=Slow())
    decisions, env_steps = 13, 2 + 9 + 50
    assert run.timings.planning_seconds == 0.5 * decisions
    assert run.timings.drawing_seconds == 1000.0 * (decisions + 1)
    assert run.timings.env_steps == env_steps
    assert run.timings.planning_ms_per_env_step == pytest.approx(500 * decisions / env_steps)
    each = run.timings.decision_ms_per_env_step
    assert len(each) == decisions
    assert each[:3] == (500 / (2 + 4 + 4), 500 / (4 + 4), 500 / (1 + 4))


def test_timings_add_up():
    one = Timings(planning_seconds=1.0, env_steps=10, decision_ms_per_env_step=(1.0,))
    two = Timings(planning_seconds=2.0, env_steps=5, decision_ms_per_env_step=(2.0, 3.0))
    assert (one + two).planning_ms_per_env_step == 200.0
    assert (one + two).decision_ms_per_env_step == (1.0, 2.0, 3.0)
    assert Timings().planning_ms_per_env_step is None


@pytest.mark.parametrize(
    ("chunk", "told"),
    [
        (np.zeros((1, 1, 2), np.float32), r"got shape \(1, 1, 2\)"),
        (np.zeros((2, 0, 2), np.float32), r"\(2, 0, 2\)"),
        (np.zeros((2, 1, 3), np.float32), r"\(2, 1, 3\)"),
        (np.zeros((2, 2), np.float32), r"\(2, 2\)"),
        (np.full((2, 1, 2), np.nan, np.float32), "not finite"),
    ],
)
def test_a_chunk_against_the_contract_is_refused(chunk: NDArray[np.float32], told: str):
    class Wrong(_Script):
        def act(self, memory: Any, observation: Observation) -> Any:
            return chunk, memory, None

    with pytest.raises(ControllerError, match=told):
        go(Wrong([[0.0, 0.0]]), line_tasks([3, 4]))


def test_outcomes_repeat_what_the_taskset_says():
    taskset = replace(line_tasks([3, -40], seed=42, offset=75), rule="nearer")
    first, second = go(Homing(), taskset).outcomes
    assert (first.taskset_digest, first.world, first.rule, first.seed) == (taskset.digest, "integrator", "nearer", 42)
    assert (first.goal_offset_env_steps, first.budget_env_steps, first.protocol) == (75, 100, "heldout")
    assert (second.facts["path_px"], second.facts["cross_room"]) == (400, 1)
    assert go(Homing(), replace(taskset, tasks=())).outcomes == []


class _Clock:
    now = 0.0

    def pass_seconds(self, seconds: float) -> None:
        self.now += seconds


@dataclass(frozen=True)
class _Count:
    tasks: int

    def take(self, rows: NDArray[np.int64]) -> "_Count":
        return _Count(len(rows))


class _Script:
    """Always the same action for every task."""

    expected: Any = None

    def __init__(self, action: list[list[float]], chunk: int = 1) -> None:
        self.action, self.chunk, self.seen = action, chunk, list[Observation]()

    def start(self, goal: Goal, tasks: Any, seed: int) -> _Count:
        return _Count(len(tasks))

    def act(self, memory: _Count, observation: Observation) -> Any:
        self.seen.append(observation)
        return np.tile(np.array([self.action], np.float32), (memory.tasks, self.chunk, 1)), memory, None
