"""Labels for the failures of a recorded run: `dualwm failures`, `failures.jsonl` of a run folder."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path

from dualwm.envs.base import World, get_world
from dualwm.evaluate.closed_loop import run
from dualwm.evaluate.failures import Failure, Label, counts, explain
from dualwm.evaluate.outcomes import RunFolder
from dualwm.files import write_whole
from dualwm.plan.trace import STAGES
from dualwm.records import NO_WEIGHTS, Outcome, TaskSet
from dualwm.zoo.evaluation import Spec, check_weights, system_of
from dualwm.zoo.minds import ThreeStageMind

FILE = "failures.jsonl"


@dataclass(frozen=True, kw_only=True)
class Labelled:
    """One failed task of a run, and why it failed."""

    system: str
    goal_offset_env_steps: int
    seed: int
    failure: Failure
    stage: str = ""
    """What its last decision was for: refine, converge or reuse."""

    def to_json(self) -> str:
        """One line."""
        plain = {name: value for name, value in asdict(self).items() if name != "failure"}
        return json.dumps({**plain, **asdict(self.failure)}, sort_keys=True)


def label_failures(
    path: Path,
    *,
    system: str | None = None,
    goal_offset_env_steps: int | None = None,
    at_most: int | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> list[Labelled]:
    """Label the failures a finished run folder records, of everything in it that plans or of some, and keep them there.

    `at_most` takes the first failures of every system, offset and seed.
    """
    folder = RunFolder.find(path)
    chosen = folder.finished(system, goal_offset_env_steps)
    failed = [o for o in chosen if not o.success and o.weights_digest != NO_WEIGHTS]
    found: list[Labelled] = []
    for _, group in groupby(failed, key=lambda o: (o.system, o.goal_offset_env_steps, o.seed)):
        some = list(group)[:at_most]
        first = some[0]
        tell(f"{first.system}, offset {first.goal_offset_env_steps}, seed {first.seed}: {len(some)} failures")
        found += [
            Labelled(
                system=first.system,
                goal_offset_env_steps=first.goal_offset_env_steps,
                seed=first.seed,
                failure=failure,
                stage=stage,
            )
            for failure, stage in _explained(folder, some)
        ]
    write_whole(path / FILE, "".join(one.to_json() + "\n" for one in found))
    return found


def read_labels(path: Path) -> dict[tuple[str, int, int, int], tuple[Label, str]]:
    """Label and last stage, by (system, goal offset, seed, task), as a folder keeps them; none where nobody asked."""
    file = path / FILE
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    found = map(json.loads, lines)
    return {
        (x["system"], x["goal_offset_env_steps"], x["seed"], x["task"]): (x["label"], x.get("stage", "")) for x in found
    }


def count_labels(labelled: Sequence[Labelled]) -> dict[tuple[str, int], dict[Label, int]]:
    """How many of each label, by system and offset."""
    cells = sorted({(one.system, one.goal_offset_env_steps) for one in labelled})
    return {
        cell: counts([one.failure for one in labelled if (one.system, one.goal_offset_env_steps) == cell])
        for cell in cells
    }


def _explained(folder: RunFolder, failed: Sequence[Outcome]) -> list[tuple[Failure, str]]:
    """The failures of one system on one TaskSet, each with its last stage."""
    first = failed[0]
    spec, world = Spec.parse(first.system), get_world(first.world)
    system = system_of(spec)
    check_weights(first, system.weights_digest)
    mind = ThreeStageMind.of(system, spec.variant, first.goal_offset_env_steps, spec.overrides)
    taskset, tasks = folder.taskset(first.taskset_digest), [outcome.task for outcome in failed]
    size, variant = system.image_size, str(folder.command.get("variant") or world.variants[0])
    found = explain(world, taskset, tasks, mind, size=size, variant=variant)
    stages = _last_stages(world, mind, taskset, tasks, size=size, variant=variant)
    return [(failure, stages[failure.task]) for failure in found]


def _last_stages(
    world: World, mind: ThreeStageMind, taskset: TaskSet, tasks: Sequence[int], *, size: int, variant: str
) -> dict[int, str]:
    """What the last decision of every task was for."""
    again = run(
        world,
        mind.controller,
        taskset,
        size=size,
        variant=variant,
        system="",
        weights_digest="",
        only=tasks,
        keep_traces=True,
    )
    return {
        task: STAGES[int(trace.decision.stage[row])] for trace in again.traces for row, task in enumerate(trace.tasks)
    }
