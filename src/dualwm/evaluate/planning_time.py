"""What a decision costs, from runs made for nothing else, one after the other: `planning.json` of a run folder.

The runs that give outcomes share the machine with whatever else is running and are cut and continued; their seconds say
where the time went, not how fast a system plans.
"""

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np

from dualwm.evaluate.cell import Entrant, timed
from dualwm.evaluate.closed_loop import Timings
from dualwm.evaluate.needs import World
from dualwm.files import write_whole
from dualwm.records import Pace, PlanningTime, TaskSet, read_planning

ALONE_TASKS = 3


class PlanningTimes:
    """The measurements of one folder."""

    def __init__(self, folder: Path) -> None:
        """Read what was measured before."""
        self._file = folder / "planning.json"
        self.known = read_planning(self._file) if self._file.exists() else []

    def keep(self, world: World, entrant: Entrant, taskset: TaskSet, variant: str, tasks: int) -> None:
        """Measure a system at an offset and write it down, unless that has been done."""
        key = (entrant.system, entrant.weights_digest, taskset.goal_offset_env_steps)
        if any((t.system, t.weights_digest, t.goal_offset_env_steps) == key for t in self.known):
            return
        self.known.append(measure(world, entrant, taskset, variant, tasks))
        self.known.sort(key=lambda t: (t.system, t.weights_digest, t.goal_offset_env_steps))
        write_whole(self._file, json.dumps([asdict(t) for t in self.known], indent=1, sort_keys=True) + "\n")


def measure(world: World, entrant: Entrant, taskset: TaskSet, variant: str, tasks: int) -> PlanningTime:
    """Run some tasks together, then a few alone."""
    together = timed(world, entrant, taskset, variant, tasks)
    alone = timed(world, entrant, taskset, variant, min(tasks, ALONE_TASKS), batch_size=1)
    return PlanningTime(
        system=entrant.system,
        weights_digest=entrant.weights_digest,
        goal_offset_env_steps=taskset.goal_offset_env_steps,
        together=_pace(together),
        alone=_pace(alone),
        tasks=min(tasks, len(taskset.tasks)),
        tasks_alone=min(tasks, ALONE_TASKS, len(taskset.tasks)),
        threads=entrant.threads,
        precision=entrant.precision,
    )


def _pace(timings: Timings) -> Pace:
    each = np.array(timings.decision_ms_per_env_step)
    p50, p95 = (float(np.quantile(each, q)) if each.size else None for q in (0.5, 0.95))
    return Pace(mean_ms=timings.planning_ms_per_env_step, p50_ms=p50, p95_ms=p95)
