"""Kills writers, for the tests of the store: `python data_crash.py MODE FOLDER`.

steps     a writer is killed (SIGKILL) in the middle of its 1st, 2nd, 3rd, ... operation on the disk, and the next one
          continues in the same folder, until one comes through
instants  writers are killed 20 times at random instants and continue in the same folder, then one comes through

After every kill the folder must open and hold whole episodes only. Prints how many writers were killed.
"""

import os
import random
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType

from data_toy import COLUMNS, assert_same_episode, episode, meta

from dualwm import files
from dualwm.data import disk, writer
from dualwm.data.store import Store
from dualwm.data.writer import Writer

SHARD_BYTES = 2_000
LENGTHS = {"steps": [4, 6, 3, 9, 5], "instants": [3 + (7 * i) % 5 for i in range(60)]}
TOGETHER = 2


def append_all(folder: Path, lengths: list[int]) -> None:
    """Append what is not there yet, some episodes at a time."""
    with Writer(folder, meta(), shard_bytes=SHARD_BYTES) as opened:
        for start in range(len(opened.entries), len(lengths), TOGETHER):
            group = range(start, min(start + TOGETHER, len(lengths)))
            opened.append([episode(number, lengths[number], COLUMNS) for number in group])


def look(folder: Path, lengths: list[int], at_least: int) -> int:
    """Number of episodes in the folder; all of them must be whole."""
    if not (folder / "meta.json").exists():
        assert at_least == 0
        return 0
    store = Store.open(folder)
    assert len(store) >= at_least, (len(store), at_least)
    for number in range(len(store)):
        assert_same_episode(store.episode(number), episode(number, lengths[number], COLUMNS))
    return len(store)


def in_a_child(work: Callable[[], None], kill_after_s: float | None) -> bool:
    """Whether the work came to its end."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException as problem:
            print(repr(problem), file=sys.stderr, flush=True)
            os._exit(3)
    if kill_after_s is not None:
        time.sleep(kill_after_s)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert not os.WIFEXITED(status) or os.WEXITSTATUS(status) == 0, status
    return os.WIFEXITED(status)


def die_at(step: int) -> None:
    """Have this process killed in its `step`-th operation on the disk; a write is half done by then."""
    seen = 0

    def now() -> bool:
        nonlocal seen
        seen += 1
        return seen == step

    def wrap(module: ModuleType, name: str) -> None:
        real = getattr(module, name)

        def wrapped(*args):
            if now():
                if name == "write_at":
                    file, offset, data = args
                    real(file, offset, memoryview(data).cast("B")[: len(data) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args)

        setattr(module, name, wrapped)

    for name in ("open_for_writing", "write_at", "truncate"):
        wrap(disk, name)
    for name in ("fsync", "replace"):
        wrap(os, name)
    for module in (files, writer):
        wrap(module, "sync_folder")


def at_every_step(folder: Path, lengths: list[int]) -> int:
    def die_or_append(step: int) -> None:
        die_at(step)
        append_all(folder, lengths)

    there, step = 0, 1
    while not in_a_child(partial(die_or_append, step), None):
        there = look(folder, lengths, there)
        step += 1
    return step - 1


def at_random_instants(folder: Path, lengths: list[int]) -> int:
    instants = random.Random(0)
    started = time.perf_counter()
    in_a_child(lambda: append_all(folder.with_name("timed"), lengths), None)
    whole_s = time.perf_counter() - started
    there, killed = 0, 0
    while killed < 20:
        killed += not in_a_child(lambda: append_all(folder, lengths), instants.uniform(0, whole_s / 6))
        there = look(folder, lengths, there)
        if there == len(lengths):
            for file in sorted(folder.rglob("*"), reverse=True):
                file.rmdir() if file.is_dir() else file.unlink()
            there = 0
    append_all(folder, lengths)
    return killed


def main() -> None:
    os.fsync = lambda file: None  # SIGKILL loses no page of the system's cache
    mode, folder = sys.argv[1], Path(sys.argv[2])
    killed = {"steps": at_every_step, "instants": at_random_instants}[mode](folder, LENGTHS[mode])
    assert look(folder, LENGTHS[mode], len(LENGTHS[mode])) == len(LENGTHS[mode])
    print(killed)


if __name__ == "__main__":
    main()
