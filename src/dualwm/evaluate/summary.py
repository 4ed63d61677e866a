"""The object `dualwm eval --json` prints: one system at one offset, all seeds together and each alone.

Rates are fractions in [0, 1] and intervals are Wilson's, [low, high].
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dualwm.errors import ProtocolError
from dualwm.evaluate.closed_loop import Timings
from dualwm.evaluate.tasks import difficulty
from dualwm.records import Outcome, TaskSet, is_hard
from dualwm.stats import Rate, wilson


@dataclass(frozen=True, kw_only=True)
class Part:
    """Success on some of the tasks alone; None where there are none."""

    success: float | None
    ci95: tuple[float, float] | None
    n: int

    @staticmethod
    def of(flags: Iterable[bool]) -> "Part":
        """Count successes."""
        rate = Rate.of(flags)
        return Part(success=rate.fraction, ci95=rate.ci95, n=rate.n)


@dataclass(frozen=True, kw_only=True)
class SeedSummary:
    """One evaluation seed alone."""

    seed: int
    taskset_digest: str
    success: float
    ci95: tuple[float, float]
    n: int
    initially_solved: float


@dataclass(frozen=True, kw_only=True)
class Summary:
    """Everything a result is printed with."""

    system: str
    weights_digest: str
    task: str
    """The world's name."""
    rule: str
    protocol: str
    collection: str
    goal_offset_env_steps: int
    budget_env_steps: int
    taskset_digest: str
    success: float
    ci95: tuple[float, float]
    n: int
    initially_solved: float
    """Share of tasks whose start satisfies the rule already."""
    not_initially_solved: Part
    cross_room_100px: Part
    """On tasks that lead into the other room over a shortest path of 100 px or more alone."""
    cross_room_100px_share: float | None
    path_px: Mapping[str, float] | None
    """Quantiles of the shortest path."""
    floor_random: float
    """Uniform actions on the same tasks."""
    floor_random_ci95: tuple[float, float]
    env_steps_to_success_median: float | None
    planning_ms_per_env_step: float | None
    """Seconds of planning over environment steps executed, summed over tasks: amortised over the batch."""
    planning_ms_p50: float | None
    planning_ms_p95: float | None
    """Quantiles over decisions."""
    planning_ms_single: float | None
    """The same measure when tasks are run one at a time."""
    threads: int
    precision: str
    per_seed: tuple[SeedSummary, ...]

    def to_plain(self) -> dict[str, Any]:
        """The JSON object."""
        return json.loads(json.dumps(asdict(self)))


def summarise(
    tasksets: Sequence[TaskSet],
    outcomes: Sequence[Outcome],
    *,
    floor_random: Sequence[Outcome],
    timings: Timings,
    planning_ms_single: float | None,
    threads: int,
    precision: str,
) -> Summary:
    """Summarise outcomes that are complete on these TaskSets, beside the random floor on the same tasks.

    Planning time is told per executed environment step, as in Appendix E.
    """
    first = same_cell(tasksets)
    _check_complete(tasksets, outcomes)
    _check_complete(tasksets, floor_random)
    hardness = difficulty([task for taskset in tasksets for task in taskset.tasks])
    success, ci95, n = _rate(outcomes)
    floor, floor_ci95, _ = _rate(floor_random)
    steps = [outcome.steps for outcome in outcomes if outcome.success]
    each = np.array(timings.decision_ms_per_env_step)
    return Summary(
        system=outcomes[0].system,
        weights_digest=outcomes[0].weights_digest,
        task=first.world,
        rule=first.rule,
        protocol=first.protocol,
        collection=first.collection,
        goal_offset_env_steps=first.goal_offset_env_steps,
        budget_env_steps=first.budget_env_steps,
        taskset_digest=joint_digest(tasksets),
        success=success,
        ci95=ci95,
        n=n,
        initially_solved=hardness.initially_solved,
        not_initially_solved=Part.of(o.success for o in outcomes if not o.initially_solved),
        cross_room_100px=Part.of(o.success for o in outcomes if is_hard(o.facts)),
        cross_room_100px_share=hardness.hard,
        path_px=hardness.path_px,
        floor_random=floor,
        floor_random_ci95=floor_ci95,
        env_steps_to_success_median=float(np.median(steps)) if steps else None,
        planning_ms_per_env_step=timings.planning_ms_per_env_step,
        planning_ms_p50=float(np.quantile(each, 0.5)) if each.size else None,
        planning_ms_p95=float(np.quantile(each, 0.95)) if each.size else None,
        planning_ms_single=planning_ms_single,
        threads=threads,
        precision=precision,
        per_seed=tuple(_per_seed(taskset, outcomes) for taskset in tasksets),
    )


def joint_digest(tasksets: Sequence[TaskSet]) -> str:
    """The digest of one TaskSet, or of several in the order of their seeds."""
    digests = [taskset.digest for taskset in sorted(tasksets, key=lambda taskset: taskset.seed)]
    return digests[0] if len(digests) == 1 else hashlib.sha256(" ".join(digests).encode()).hexdigest()


def _rate(outcomes: Sequence[Outcome]) -> tuple[float, tuple[float, float], int]:
    successes, n = sum(outcome.success for outcome in outcomes), len(outcomes)
    return successes / n, wilson(successes, n), n


def _per_seed(taskset: TaskSet, outcomes: Sequence[Outcome]) -> SeedSummary:
    digest = taskset.digest
    success, ci95, n = _rate([outcome for outcome in outcomes if outcome.taskset_digest == digest])
    solved = difficulty(taskset.tasks).initially_solved
    return SeedSummary(
        seed=taskset.seed, taskset_digest=digest, success=success, ci95=ci95, n=n, initially_solved=solved
    )


def same_cell(tasksets: Sequence[TaskSet]) -> TaskSet:
    """One of the TaskSets, after a look whether one number may stand for all of them."""
    if not tasksets:
        raise ProtocolError("There is nothing to evaluate on: name at least one seed.")
    cells = {(t.world, t.rule, t.protocol, t.collection, t.goal_offset_env_steps, t.budget_env_steps) for t in tasksets}
    if len(cells) != 1 or len({taskset.seed for taskset in tasksets}) != len(tasksets):
        raise ProtocolError(
            "One number stands for tasks of one world, rule, protocol, collection, offset and budget with different "
            f"seeds; these differ: {sorted(cells)}, seeds {[taskset.seed for taskset in tasksets]}. Summarise them "
            "one by one."
        )
    return tasksets[0]


def _check_complete(tasksets: Sequence[TaskSet], outcomes: Sequence[Outcome]) -> None:
    wanted = {(taskset.digest, task.index) for taskset in tasksets for task in taskset.tasks}
    found = {(outcome.taskset_digest, outcome.task) for outcome in outcomes}
    if (
        not wanted
        or wanted != found
        or len(found) != len(outcomes)
        or len({(o.system, o.weights_digest) for o in outcomes}) != 1
    ):
        raise ProtocolError(
            f"A number is made of exactly one outcome of one system per task: {len(wanted)} tasks, {len(outcomes)} "
            f"outcomes, {len(wanted - found)} tasks without one, {len(found - wanted)} of other tasks, systems "
            f"{sorted({o.system for o in outcomes})}. Type the command again to run what is missing."
        )
