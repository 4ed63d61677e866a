"""W6: 200 TwoRoom tasks at offset 100, from the command to the table, with the shipped planner."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from bench.cases import WORK, Bound, Case, Options, Side, Workload
from bench.commands import dualwm
from bench.systems import the_system

SEED = 1000
"""Of the dev collection: a bench is no reason to look at test tasks."""


def cases(options: Options) -> Sequence[Case]:
    """One."""
    side = Side(name="ours", call="bench.w6_evaluation:evaluate", args={"tasks": 4 if options.quick else 200})
    limit = Bound(side="ours", fact="seconds", at_most=180.0)
    return [Case(name="200 tasks, offset 100", unit="evaluation", sides=[side], goals=[limit], repeats=3)]


def evaluate(tasks: int) -> Mapping[str, Any]:
    """Seconds of `dualwm eval`, start of Python included. The dev pool is there before the clock starts."""
    name, what = the_system()
    _eval(name, 1)
    began = time.perf_counter()
    told = _eval(name, tasks)
    seconds = time.perf_counter() - began
    facts = ("n", "success", "planning_ms_per_env_step", "planning_ms_single", "threads")
    return {"seconds": seconds, "system": what, **{name: told[name] for name in facts}}


def _eval(system: str, tasks: int) -> dict[str, Any]:
    WORK.mkdir(exist_ok=True)
    return dualwm(WORK, "eval", system, "--offset", "100", "--seeds", str(SEED), "--num-tasks", str(tasks))


WORKLOAD = Workload(
    name="W6",
    title="An evaluation, from command to table",
    cases=cases,
    notes=(
        "`dualwm eval tworoom --offset 100 --num-tasks 200` on dev tasks: Python starts, all tasks are planned in one "
        "batch, floors are run, three tasks are run once more alone for their own planning time."
    ),
)
