"""One number from end to end: run what is missing on some TaskSets, keep it in a run folder, summarise."""

import hashlib
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from dualwm.evaluate.closed_loop import Progress, Timings, run
from dualwm.evaluate.floors import random
from dualwm.evaluate.ledger import append_ledger, checkout, commit_of
from dualwm.evaluate.needs import Controller, World
from dualwm.evaluate.outcomes import OutcomeLog, RunFolder, TimingLog
from dualwm.evaluate.summary import Summary, same_cell, summarise
from dualwm.records import NO_WEIGHTS, Outcome, TaskSet


@dataclass(frozen=True, kw_only=True)
class Entrant:
    """A system as it enters an evaluation: what its outcomes are signed with, and what it needs of the loop."""

    system: str
    """Resolved, such as `tworoom:search=64/8/8`."""
    weights_digest: str
    controller: Callable[[TaskSet], Controller]
    """Most systems give the same controller for every TaskSet; an oracle needs to know the tasks."""
    frame_size: int
    threads: int
    precision: str
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The planner's settings with every default, as plain data."""

    @property
    def settings_digest(self) -> str:
        """SHA-256 of the settings; empty where there are none."""
        text = json.dumps(dict(self.settings), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest() if self.settings else ""


FLOOR_RANDOM = "random"


def evaluate_cell(
    world: World,
    entrant: Entrant,
    tasksets: Sequence[TaskSet],
    *,
    variant: str,
    folder: RunFolder | None = None,
    batch_size: int | None = None,
    single_tasks: int = 3,
    ledger: Path | None = None,
    on_progress: Callable[[TaskSet, Progress], None] | None = None,
) -> Summary:
    """Success of one system on TaskSets that differ in their seed, as `summarise` gives it.

    Tasks whose outcomes the folder already holds are not run again. A TaskSet of the test collection adds its line to
    the ledger when its last task is over.
    """
    same_cell(tasksets)
    with ExitStack() as stack:
        if folder is None:
            folder = RunFolder(path=Path(stack.enter_context(tempfile.TemporaryDirectory())))
        log, timings = folder.outcomes(), folder.timings()
        for taskset in tasksets:
            folder.keep_taskset(taskset)
            told = None if on_progress is None else _tell(on_progress, taskset)
            run_missing(world, entrant, taskset, log, timings, variant, batch_size, told)
            if ledger is not None:
                enter_ledger(ledger, taskset, log.of(entrant.system, taskset), folder)
        log.finish([(entrant.system, taskset) for taskset in tasksets])
        floor = random_floor(world, tasksets, folder, variant)
        single = _single_ms(world, entrant, tasksets[0], timings, variant, single_tasks)
        return summarise(
            tasksets,
            [outcome for taskset in tasksets for outcome in log.of(entrant.system, taskset)],
            floor_random=floor,
            timings=timings.total(entrant.system, tasksets),
            planning_ms_single=single,
            threads=entrant.threads,
            precision=entrant.precision,
        )


def run_missing(
    world: World,
    entrant: Entrant,
    taskset: TaskSet,
    log: OutcomeLog,
    timings: TimingLog,
    variant: str,
    batch_size: int | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    only: Sequence[int] | None = None,
) -> int:
    """Run the tasks that have no outcome yet (`only` among some), writing each down as it ends; how many were run."""
    missing = log.missing(entrant.system, taskset)
    if only is not None:
        missing = [task for task in missing if task in set(only)]
    if not missing:
        return 0
    write = timings.session(entrant.system, entrant.weights_digest, taskset)

    def keep(outcomes: Sequence[Outcome], spent: Any) -> None:
        log.add(outcomes)
        write(spent)

    run(
        world,
        entrant.controller(taskset),
        taskset,
        size=entrant.frame_size,
        variant=variant,
        system=entrant.system,
        weights_digest=entrant.weights_digest,
        settings_digest=entrant.settings_digest,
        only=missing,
        batch_size=batch_size,
        on_finished=keep,
        on_progress=on_progress,
    )
    return len(missing)


def random_floor(world: World, tasksets: Sequence[TaskSet], folder: RunFolder, variant: str) -> list[Outcome]:
    """Uniform actions on the same tasks, kept beside the outcomes as `floors.jsonl`."""
    controller = random(world)
    entrant = Entrant(
        system=FLOOR_RANDOM,
        weights_digest=NO_WEIGHTS,
        controller=lambda taskset: controller,
        frame_size=1,
        threads=1,
        precision="float32",
    )
    log = folder.outcomes("floors")
    timings = replace(folder, writer="-".join(filter(None, ["floors", folder.writer]))).timings()
    for taskset in tasksets:
        run_missing(world, entrant, taskset, log, timings, variant)
    log.finish([(FLOOR_RANDOM, taskset) for taskset in tasksets])
    return [outcome for taskset in tasksets for outcome in log.of(FLOOR_RANDOM, taskset)]


def timed(
    world: World, entrant: Entrant, taskset: TaskSet, variant: str, tasks: int, batch_size: int | None = None
) -> Timings:
    """What a few tasks, spread over the set, cost when they are run for nothing but their time."""
    count = min(tasks, len(taskset.tasks))
    if count == 0:
        return Timings()
    return run(
        world,
        entrant.controller(taskset),
        taskset,
        size=entrant.frame_size,
        variant=variant,
        system=entrant.system,
        weights_digest=entrant.weights_digest,
        settings_digest=entrant.settings_digest,
        only=sorted({int(i) for i in np.linspace(0, len(taskset.tasks) - 1, count)}),
        batch_size=batch_size,
    ).timings


def _single_ms(
    world: World, entrant: Entrant, taskset: TaskSet, timings: TimingLog, variant: str, tasks: int
) -> float | None:
    """As measured before, or measured now and written down."""
    known = timings.single_ms(entrant.system, taskset)
    if known is not None:
        return known
    measured = timed(world, entrant, taskset, variant, tasks, batch_size=1).planning_ms_per_env_step
    if measured is not None:
        timings.keep_single_ms(entrant.system, taskset, measured)
    return measured


def enter_ledger(ledger: Path, taskset: TaskSet, outcomes: Sequence[Outcome], folder: RunFolder) -> None:
    """Add the ledger's line, once per folder: continuing a finished run is no further evaluation."""
    entry = f"ledger {outcomes[0].system} {taskset.digest}"
    if not folder.is_marked(entry):
        root = checkout()
        append_ledger(ledger, taskset, outcomes, None if root is None else commit_of(root))
        folder.mark(entry)


def _tell(on_progress: Callable[[TaskSet, Progress], None], taskset: TaskSet) -> Callable[[Progress], None]:
    return lambda progress: on_progress(taskset, progress)
