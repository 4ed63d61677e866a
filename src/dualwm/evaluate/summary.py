"""The object `dualwm eval --json` prints: one system at one offset, all seeds together and each alone.

Rates are fractions in [0, 1] and intervals are Wilson's, [low, high].
"""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from dualwm.errors import ProtocolError
from dualwm.evaluate.closed_loop import Timings
from dualwm.evaluate.tasks import difficulty
from dualwm.records import Outcome, TaskSet, is_hard
from dualwm.stats import Rate


def summarise(
    tasksets: Sequence[TaskSet],
    outcomes: Sequence[Outcome],
    *,
    floor_random: Sequence[Outcome],
    timings: Timings,
    planning_ms_single: float | None,
    threads: int,
    precision: str,
) -> dict[str, Any]:
    """Everything a result is printed with. `outcomes` and `floor_random` are complete on these TaskSets."""
    first = _same_cell(tasksets)
    for of in (outcomes, floor_random):
        _complete(tasksets, of)
    tasks = [task for taskset in tasksets for task in taskset.tasks]
    hardness = difficulty(tasks)
    floor = Rate.of(outcome.success for outcome in floor_random)
    solved = [outcome for outcome in outcomes if outcome.success]
    return {
        "system": outcomes[0].system,
        "weights_digest": outcomes[0].weights_digest,
        "task": first.world,
        "rule": first.rule,
        "protocol": first.protocol,
        "collection": first.collection,
        "goal_offset_env_steps": first.goal_offset_env_steps,
        "budget_env_steps": first.budget_env_steps,
        "taskset_digest": joint_digest(tasksets),
        **_rate(Rate.of(outcome.success for outcome in outcomes)),
        "initially_solved": hardness.initially_solved,
        "not_initially_solved": _rate(Rate.of(o.success for o in outcomes if not o.initially_solved)),
        "cross_room_100px": _rate(Rate.of(o.success for o in outcomes if is_hard(o.facts))),
        "cross_room_100px_share": hardness.hard,
        "path_px": hardness.path_px,
        "floor_random": floor.fraction,
        "floor_random_ci95": _rate(floor)["ci95"],
        "env_steps_to_success_median": float(np.median([o.steps for o in solved])) if solved else None,
        **_planning(timings),
        "planning_ms_single": planning_ms_single,
        "threads": threads,
        "precision": precision,
        "per_seed": [_per_seed(taskset, outcomes) for taskset in tasksets],
    }


def joint_digest(tasksets: Sequence[TaskSet]) -> str:
    """The digest of one TaskSet, or of several in the order of their seeds."""
    digests = [taskset.digest for taskset in sorted(tasksets, key=lambda taskset: taskset.seed)]
    return digests[0] if len(digests) == 1 else hashlib.sha256(" ".join(digests).encode()).hexdigest()


def _rate(rate: Rate) -> dict[str, Any]:
    interval = rate.ci95
    return {"success": rate.fraction, "ci95": None if interval is None else list(interval), "n": rate.n}


def _per_seed(taskset: TaskSet, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    digest = taskset.digest
    own = [outcome for outcome in outcomes if outcome.taskset_digest == digest]
    return {
        "seed": taskset.seed,
        "taskset_digest": digest,
        **_rate(Rate.of(outcome.success for outcome in own)),
        "initially_solved": difficulty(taskset.tasks).initially_solved,
    }


def _planning(timings: Timings) -> dict[str, Any]:
    """The mean over all environment steps, and quantiles over decisions."""
    each = np.array(timings.decision_ms_per_env_step)
    return {
        "planning_ms_per_env_step": timings.planning_ms_per_env_step,
        "planning_ms_p50": float(np.quantile(each, 0.5)) if each.size else None,
        "planning_ms_p95": float(np.quantile(each, 0.95)) if each.size else None,
    }


def _same_cell(tasksets: Sequence[TaskSet]) -> TaskSet:
    cells = {(t.world, t.rule, t.protocol, t.collection, t.goal_offset_env_steps, t.budget_env_steps) for t in tasksets}
    if len(cells) != 1 or len({taskset.seed for taskset in tasksets}) != len(tasksets):
        raise ProtocolError(
            "One number stands for tasks of one world, rule, protocol, collection, offset and budget with different "
            f"seeds; these differ: {sorted(cells)}, seeds {[taskset.seed for taskset in tasksets]}. Summarise them "
            "one by one."
        )
    return tasksets[0]


def _complete(tasksets: Sequence[TaskSet], outcomes: Sequence[Outcome]) -> None:
    wanted = {(taskset.digest, task.index) for taskset in tasksets for task in taskset.tasks}
    found = {(outcome.taskset_digest, outcome.task) for outcome in outcomes}
    if wanted != found or len(found) != len(outcomes) or len({(o.system, o.weights_digest) for o in outcomes}) != 1:
        raise ProtocolError(
            f"A number is made of exactly one outcome of one system per task: {len(wanted)} tasks, {len(outcomes)} "
            f"outcomes, {len(wanted - found)} tasks without one, {len(found - wanted)} of other tasks, systems "
            f"{sorted({o.system for o in outcomes})}. Type the command again to run what is missing."
        )
