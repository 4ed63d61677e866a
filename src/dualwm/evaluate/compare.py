"""Several systems on the same tasks in one run folder, which any number of processes may fill together.

A share of the work is every n-th task of every TaskSet. A task's outcome depends on nothing but the task and the
system, so however the work was shared and whoever was killed on the way, the finished `outcomes.jsonl` is the same.
"""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dualwm.errors import ProtocolError, RecipeError
from dualwm.evaluate.cell import Entrant, enter_ledger, run_missing
from dualwm.evaluate.closed_loop import Progress
from dualwm.evaluate.needs import World
from dualwm.evaluate.outcomes import RunFolder
from dualwm.evaluate.planning_time import PlanningTimes
from dualwm.files import only_writer
from dualwm.records import NO_WEIGHTS, TaskSet


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One system at one goal offset: TaskSets that differ in their seed, and what becomes one number of a table."""

    entrant: Entrant
    tasksets: tuple[TaskSet, ...]


Tell = Callable[[Cell, TaskSet, Progress, int], None]
"""Hears where a share stands: the cell and TaskSet under way, and how many tasks the share began with."""


@dataclass(frozen=True, kw_only=True)
class Share:
    """Every `of`-th task of a TaskSet, from task `index` on."""

    index: int = 0
    of: int = 1

    @staticmethod
    def parse(text: str) -> "Share":
        """From `2/4`: the second of four."""
        found = re.fullmatch(r"(\d+)/(\d+)", text)
        if not found or not 1 <= int(found[1]) <= int(found[2]):
            raise RecipeError(f"A shard is named i/n with i from 1 to n, such as 2/4; found {text!r}.")
        return Share(index=int(found[1]) - 1, of=int(found[2]))

    def split(self, workers: int) -> list["Share"]:
        """As many shares that make up this one."""
        return [Share(index=self.index + self.of * i, of=self.of * workers) for i in range(workers)]

    def tasks(self, taskset: TaskSet) -> list[int]:
        """The indices of this share's tasks."""
        return [task.index for task in taskset.tasks if task.index % self.of == self.index]

    @property
    def writer(self) -> str:
        """What the files of whoever runs this share are called."""
        return "" if self.of == 1 else f"{self.index + 1}of{self.of}"


class _BusyError(Exception):
    """Another process holds the lock."""


def run_share(
    world: World,
    cells: Sequence[Cell],
    folder: RunFolder,
    share: Share,
    *,
    variant: str,
    batch_size: int | None = None,
    on_progress: Tell | None = None,
) -> bool:
    """Run what is missing of a share; whether no task of any cell is missing now, whoever ran it."""

    def busy(pid: str) -> ProtocolError:
        return ProtocolError(
            f"{folder.path}: process {pid} is running this share already. Wait for it, stop it, or run another share "
            "(--shard i/n)."
        )

    with only_writer(folder.path, busy, f".lock-{share.writer or 'main'}"):
        log, timings = folder.outcomes(), folder.timings()
        pairs = [(cell, taskset) for cell in cells for taskset in cell.tasksets]
        left = sum(len({*log.missing(cell.entrant.system, t)} & {*share.tasks(t)}) for cell, t in pairs)
        for cell, taskset in pairs:
            folder.keep_taskset(taskset)
            told = None if on_progress is None else _tell(on_progress, cell, taskset, left)
            only = share.tasks(taskset)
            run_missing(world, cell.entrant, taskset, log, timings, variant, batch_size, told, only)
        return log.finish([(cell.entrant.system, taskset) for cell, taskset in pairs])


def conclude(
    world: World,
    cells: Sequence[Cell],
    folder: RunFolder,
    *,
    variant: str,
    ledger: Path | None,
    timed_tasks: int,
) -> None:
    """What is done once when no task is missing: the ledger's lines, and planning time with nothing beside it.

    Of two processes that find nothing missing at the same moment, one does it.
    """
    with suppress(_BusyError), only_writer(folder.path, _BusyError):
        log = folder.outcomes()
        times = PlanningTimes(folder.path)
        for cell in cells:
            if ledger is not None:
                for taskset in cell.tasksets:
                    enter_ledger(ledger, taskset, log.of(cell.entrant.system, taskset), folder)
            if timed_tasks and cell.entrant.weights_digest != NO_WEIGHTS:
                times.keep(world, cell.entrant, cell.tasksets[0], variant, timed_tasks)


def merge(folder: RunFolder, others: Sequence[Path]) -> int:
    """Take over what the same command left in other folders; how many outcomes were new here."""
    log, taken = folder.outcomes(), 0
    for other in others:
        theirs = folder.twin(other)
        new = [outcome for outcome in theirs.outcomes().known if not log.has(outcome)]
        log.add(new)
        taken += len(new)
        folder.take_records(theirs)
    return taken


def _tell(tell: Tell, cell: Cell, taskset: TaskSet, left: int) -> Callable[[Progress], None]:
    return lambda progress: tell(cell, taskset, progress, left)
