"""Several processes that record episodes: the same episodes in the same order as one, whatever dies on the way.

The processes only simulate and draw; what they make comes back through pipes and is written by the one process that
holds the folder. A process that dies (killed, out of memory, crashed in a library) is replaced and what it was
recording is recorded again, which gives the same bytes because an episode is a function of its seed.
"""

import multiprocessing
import os
import signal
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import Any

from dualwm.data.recording import Plan, Record, Recordable
from dualwm.errors import DataError
from dualwm.records import Columns

Opener = Callable[[], tuple[Recordable, Record]]
"""Gives a process its own world and how to record it. It is sent to the process, so it must be picklable."""

_DEATHS = 3
"""Times that the same episodes may cost a process its life before they are given up."""
_AHEAD = 2
"""Batches per process that may wait for their turn to be written."""

_SPAWN = multiprocessing.get_context("spawn")
"""A forked child would inherit graphics contexts and threads that do not survive it."""


def usable_cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True, kw_only=True)
class Crew:
    """How many processes record, and what each of them begins with."""

    workers: int
    open: Opener

    def record(self, plan: Plan, batches: Sequence[Sequence[int]]) -> Generator[list[Columns]]:
        """The stored columns of every batch of seeds, in order."""
        workers = [_Worker(self.open, plan) for _ in range(min(self.workers, len(batches)))]
        try:
            yield from _in_order(workers, self.open, plan, batches)
        finally:
            for worker in workers:
                worker.stop()


def _in_order(
    workers: "list[_Worker]", open_world: Opener, plan: Plan, batches: Sequence[Sequence[int]]
) -> Iterator[list[Columns]]:
    """Hand out batches, take back what was made and give it on in order; replace whoever dies."""
    todo, made, deaths = deque(range(len(batches))), dict[int, list[Columns] | Exception](), Counter[int]()
    for turn in range(len(batches)):
        while turn not in made:
            for worker in workers:
                if worker.batch is None and todo and todo[0] < turn + _AHEAD * len(workers):
                    worker.begin(todo[0], batches[todo.popleft()])
            for place, worker in _answering(workers):
                batch, answer = worker.finish()
                if answer is not None:
                    made[batch] = answer
                    continue
                deaths[batch] += 1
                _give_up_after(deaths[batch], batches[batch], worker)
                todo.appendleft(batch)
                worker.stop()
                workers[place] = _Worker(open_world, plan)
        found = made.pop(turn)
        if isinstance(found, Exception):
            raise found  # in its turn: what comes before it is kept, whoever was faster
        yield found


def _answering(workers: "list[_Worker]") -> "list[tuple[int, _Worker]]":
    """The workers, with their places, that have something to say or have died."""
    ready = wait([worker.pipe for worker in workers if worker.batch is not None])
    return [(place, worker) for place, worker in enumerate(workers) if worker.pipe in ready]


def _give_up_after(deaths: int, seeds: Sequence[int], worker: "_Worker") -> None:
    if deaths < _DEATHS:
        return
    worker.process.join(1)
    raise DataError(
        f"The episodes with seeds {seeds[0]} to {seeds[-1]} cost {deaths} processes their lives, one after the other; "
        f"the last ended with exit code {worker.process.exitcode} (-9 is what a system short of memory sends, -11 a "
        "crash inside a library). What was recorded before stays. Try the same command with --workers 1, which shows "
        "what happens, or free memory."
    )


class _Worker:
    """One process and this end of its pipe."""

    def __init__(self, open_world: Opener, plan: Plan) -> None:
        self.pipe, theirs = _SPAWN.Pipe()
        self.process = _SPAWN.Process(target=_work, args=(theirs, open_world, plan), daemon=True)
        self.process.start()
        theirs.close()  # so that its end is closed when the process ends, however it ends
        self.batch: int | None = None

    def begin(self, batch: int, seeds: Sequence[int]) -> None:
        """Have it record a batch."""
        self.batch = batch
        with suppress(OSError):  # it is dead, which `finish` is going to find out
            self.pipe.send(list(seeds))

    def finish(self) -> tuple[int, list[Columns] | Exception | None]:
        """The batch it was recording, and what came of it; None if it died."""
        assert self.batch is not None
        batch, self.batch = self.batch, None
        try:
            return batch, self.pipe.recv()
        except (EOFError, OSError):
            return batch, None

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        self.pipe.close()
        self.process.kill()
        self.process.join()


def _work(pipe: Any, open_world: Opener, plan: Plan) -> None:
    """What a process does until the other end of its pipe is closed, by whoever lives there or by their death."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one who writes
    world: tuple[Recordable, Record] | None = None
    while True:
        try:
            seeds = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            world = world or open_world()
            answer: list[Columns] | Exception = plan.record(*world, seeds)
        except Exception as problem:
            answer = problem
        try:
            pipe.send(answer)
        except OSError:
            return
