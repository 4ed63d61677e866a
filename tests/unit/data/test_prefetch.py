import itertools
import threading
import time

import numpy as np
import pytest
import torch

from dualwm.data.prefetch import Prefetch


class Counting:
    """A source whose samples are their numbers; remembers what it was asked for."""

    def __init__(self, delay_s: float = 0.0) -> None:
        self.asked, self.delay_s = [], delay_s

    def read(self, indices: np.ndarray) -> dict[str, torch.Tensor]:
        time.sleep(self.delay_s)
        self.asked.append(indices.tolist())
        if 13 in indices:
            raise OSError("disk on fire")
        return {"x": torch.from_numpy(indices)}


def order(*batches: list[int]) -> list[np.ndarray]:
    return [np.array(batch) for batch in batches]


def prefetch_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "prefetch"]


def test_batches_come_in_the_given_order():
    wanted = [[3, 1], [2], [5, 5, 0]]
    with Prefetch(Counting(), order(*wanted)) as batches:
        assert [batch["x"].tolist() for batch in batches] == wanted
        with pytest.raises(StopIteration):
            next(batches)


def test_reading_happens_ahead_but_not_further_than_the_depth():
    source = Counting()
    with Prefetch(source, (np.array([i]) for i in itertools.count()), depth=3) as batches:
        next(batches)
        deadline = time.monotonic() + 5
        while len(source.asked) < 5 and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(0.02)
        # one taken, three lying ready, one in the worker's hands
        assert len(source.asked) == 5


def test_an_exception_reaches_the_consumer_behind_the_batches_before_it():
    with Prefetch(Counting(), order([1], [13], [2])) as batches:
        assert next(batches)["x"].tolist() == [1]
        for _ in range(2):
            with pytest.raises(OSError, match="disk on fire"):
                next(batches)


def test_an_exception_of_the_order_reaches_the_consumer():
    def broken():
        yield np.array([1])
        raise KeyError("order")

    with Prefetch(Counting(), broken()) as batches:
        next(batches)
        with pytest.raises(KeyError, match="order"):
            next(batches)


def test_closing_ends_the_worker_even_if_nobody_takes_its_batches():
    with Prefetch(Counting(), (np.array([i]) for i in itertools.count())) as batches:
        next(batches)
    assert not prefetch_threads()
    with pytest.raises(StopIteration):
        next(batches)


def test_waiting_time_tells_a_slow_source_from_a_fast_one():
    with Prefetch(Counting(delay_s=0.1), order([0], [1], [2])) as batches:
        list(batches)
    slow = batches.waited_s
    with Prefetch(Counting(), order([0], [1], [2])) as batches:
        time.sleep(0.1)
        list(batches)
    assert slow >= 0.25
    assert batches.waited_s < slow / 2
