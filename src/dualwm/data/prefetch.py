"""Reading the next batches while the current one is being used."""

import queue
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dualwm.shapes import Tensor


@runtime_checkable
class Readable(Protocol):
    """What is read from: `Windows`, or anything with the same `read`."""

    def read(self, indices: NDArray[np.int64]) -> dict[str, Tensor]:
        """The samples of these numbers, in this order."""
        ...


class Prefetch:
    """Batches of a source in the given order, read ahead by one worker thread.

    The order may be endless. An exception raised while reading, or by the order, is raised where the batch is asked
    for. `waited_s` says for how long the consumer has stood idle: it is the honest measure of whether data is slow.

        with Prefetch(windows, order) as batches:
            for batch in batches: ...
    """

    def __init__(self, source: Readable, order: Iterable[NDArray[np.int64]], *, depth: int = 2) -> None:
        """`depth`: how many finished batches may lie ready."""
        assert depth >= 1, depth
        self.waited_s = 0.0
        self._ready: queue.Queue[dict[str, Tensor] | BaseException] = queue.Queue(depth)
        self._stop = threading.Event()
        self._ended: BaseException | None = None
        self._worker = threading.Thread(target=self._work, args=(source, order), name="prefetch", daemon=True)
        self._worker.start()

    def __iter__(self) -> Iterator[dict[str, Tensor]]:
        return self

    def __next__(self) -> dict[str, Tensor]:
        if self._ended is not None:
            raise self._ended
        started = time.perf_counter()
        item = self._ready.get()
        self.waited_s += time.perf_counter() - started
        if isinstance(item, BaseException):
            self._ended = item
            raise item
        return item

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop reading ahead and end the worker. A batch being read is finished first."""
        self._stop.set()
        self._ended = self._ended or StopIteration()
        while self._worker.is_alive():
            _drain(self._ready)
            self._worker.join(timeout=0.01)
        _drain(self._ready)

    def _work(self, source: Readable, order: Iterable[NDArray[np.int64]]) -> None:
        end: BaseException = StopIteration()
        try:
            for indices in order:
                if self._stop.is_set():
                    return
                self._ready.put(source.read(indices))
        except BaseException as problem:
            end = problem
        self._ready.put(end)


def _drain(ready: "queue.Queue[dict[str, Tensor] | BaseException]") -> None:
    while True:
        try:
            ready.get_nowait()
        except queue.Empty:
            return
