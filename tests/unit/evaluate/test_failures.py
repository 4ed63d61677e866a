"""Labels on worlds in which the cause is known: z' = z + a, and systems that are wrong in exactly one way."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pytest
from evaluate_toy import WORLD, IntegratorWorld, go, line_tasks
from numpy.typing import NDArray

from dualwm.evaluate.failures import LABELS, Failure, Thoughts, counts, explain
from dualwm.records import Goal, Observation

STEPS = 5
"""Length of a plan: the same velocity, five times."""


@dataclass(frozen=True)
class ToyMemory:
    goals: NDArray[np.float32]

    def take(self, rows: NDArray[np.int64]) -> Self:
        return replace(self, goals=self.goals[rows])


@dataclass(frozen=True, kw_only=True)
class Chooser:
    """Tries a few velocities, believes that z' = z + gain * a, and takes what it believes to end nearest to the goal.

    `taste` of -1 likes best what ends farthest from it.
    """

    velocities: tuple[float, ...] = (-1.0, -0.5, 0.0, 0.125, 0.25, 0.5, 1.0)
    gain: float = 1.0
    taste: float = 1.0

    def start(self, goal: Goal, tasks: Any, seed: int) -> ToyMemory:
        del tasks, seed
        return ToyMemory(goal.proprio["z"])

    def act(self, memory: ToyMemory, observation: Observation) -> tuple[NDArray[np.float32], ToyMemory, None]:
        return self.thoughts(memory, observation).plan[:, :1], memory, None

    def thoughts(self, memory: ToyMemory, observation: Observation) -> Thoughts:
        z = observation.proprio["z"]
        options = np.array([[v, 0.0] for v in self.velocities], np.float32)
        candidates = np.broadcast_to(options[None, :, None], (len(z), len(options), STEPS, 2))
        believed = z[:, None, None] + self.gain * np.cumsum(candidates, axis=2)
        cost = self.taste * np.linalg.norm(believed[:, :, -1] - memory.goals[:, None], axis=-1)
        rows, best = np.arange(len(z)), cost.argmin(1)
        return Thoughts(
            plan=candidates[rows, best],
            imagined=believed[rows, best].astype(np.float64),
            candidates=candidates,
            cost=cost.astype(np.float32),
        )


@dataclass(frozen=True, kw_only=True)
class ToyMind:
    controller: Chooser
    larger: Chooser

    def think(self, before: ToyMemory, observation: Observation, after: Any, chunk: Any) -> Thoughts:
        thoughts = self.controller.thoughts(before, observation)
        assert (thoughts.plan[:, :1] == chunk).all()
        return thoughts


def labels(mind: ToyMind, distances: list[float], world: IntegratorWorld = WORLD) -> list[Failure]:
    """Of the tasks that failed, all of which must be asked about."""
    taskset = line_tasks(distances, offset=25)
    failed = [o.task for o in go(mind.controller, taskset, world=world).outcomes if not o.success]
    assert len(failed) == len(distances), "every task of these tests fails"
    return explain(world, taskset, failed, mind, size=4, variant="plain")


def mind(larger: Chooser | None = None, **changed: Any) -> ToyMind:
    controller = Chooser(**changed)
    return ToyMind(controller=controller, larger=larger or controller)


SLOW = (-0.375, 0.0, 0.09375, 0.1875, 0.375)
"""In 50 steps it gets 18.75 far."""

KNOWN: dict[str, tuple[ToyMind, float]] = {
    # 60 away with a budget of 50 steps of length 1: nobody gets there.
    "not replayable": (mind(), 60.0),
    # It believes to go towards the goal and goes away from it.
    "mis-predicted": (mind(gain=-1.0), 2.5),
    # It knows what would happen, and likes best what is worst.
    "mis-ranked": (mind(taste=-1.0), 8.0),
    # Its search only ever tries to stand still.
    "search-limited": (mind(velocities=(0.0,), larger=Chooser()), 8.0),
    # Right in everything, but slow: its last plans would arrive, in imagination and in truth, after the budget's end.
    "late or lost": (mind(velocities=SLOW), 20.0),
    # It can only stand still, however long it searches and acts.
    "unexplained": (mind(velocities=(0.0,)), 8.0),
}


@pytest.mark.parametrize("label", LABELS)
def test_every_cause_gets_its_own_label(label: str):
    toy, distance = KNOWN[label]
    assert [failure.label for failure in labels(toy, [distance, distance + 0.25])] == [label, label]


def test_evidence_holds_the_figures():
    (predicted,) = labels(*_one("mis-predicted"))
    assert predicted.evidence["env_step"] == 0
    assert predicted.evidence["imagined"] < 0.5 < 2.5 < predicted.evidence["real"]
    (ranked,) = labels(*_one("mis-ranked"))
    assert ranked.evidence["brought"] < 0 < ranked.evidence["possible"]
    (late,) = labels(*_one("late or lost"))
    assert late.evidence["budget"] == 50 < late.evidence["steps"] <= 100
    (nobody,) = labels(*_one("not replayable"))
    assert nobody.evidence == {"oracle": False}


def _one(label: str) -> tuple[ToyMind, list[float]]:
    toy, distance = KNOWN[label]
    return toy, [distance]


def test_the_first_question_that_answers_is_the_label():
    # Wrong in every way at once, and out of reach: what nobody can do is not held against it.
    assert [f.label for f in labels(mind(gain=-1.0, taste=-1.0), [60.0])] == ["not replayable"]
    # A wrong belief comes before a small search.
    assert [f.label for f in labels(mind(gain=-1.0, larger=Chooser()), [2.5])] == ["mis-predicted"]


def test_without_expert_and_recordings_nothing_is_called_not_replayable():
    found = labels(mind(), [60.0], world=IntegratorWorld())
    assert [failure.label for failure in found] == ["late or lost"]


def test_failures_come_in_the_order_asked_for_and_are_counted():
    taskset = line_tasks([60.0, 3.0, 30.0], offset=25)
    found = explain(WORLD, taskset, [2, 0], mind(velocities=SLOW), size=4, variant="plain")
    assert [(failure.task, failure.label) for failure in found] == [(2, "late or lost"), (0, "not replayable")]
    assert counts(found) == {**dict.fromkeys(LABELS, 0), "not replayable": 1, "late or lost": 1}
    assert explain(WORLD, taskset, [], mind(), size=4, variant="plain") == []
