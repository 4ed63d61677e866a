"""Which samples a step sees, and how they come in.

The order is an endless row of epochs, each a permutation keyed by (seed, stage, epoch). Step s takes positions
[s * batch_size, (s + 1) * batch_size) of that row, so a batch may end one epoch and begin the next, no sample is
dropped, and any step's samples can be told without walking there. A process reads its contiguous slice of the batch.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray

from dualwm.errors import DataError
from dualwm.shapes import Tensor
from dualwm.train.noise import permutation
from dualwm.train.stage import Batch, Source

Indices = NDArray[np.int64]


@runtime_checkable
class Feed(Protocol):
    """Batches in the order asked for."""

    waited_s: float
    """Seconds the consumer has spent waiting in `next`, in total."""

    def __iter__(self) -> Iterator[dict[str, Tensor]]: ...

    def __next__(self) -> dict[str, Tensor]: ...


Iterate = Callable[[Source, Iterable[Indices]], Feed]
"""How batches are read: given a source and the indices of each batch in turn. A feed that holds threads has `close`."""


class InTurn:
    """The plain feed: each batch is read when it is asked for."""

    def __init__(self, source: Source, order: Iterable[Indices]) -> None:
        self.waited_s = 0.0
        self._source, self._order = source, iter(order)

    def __iter__(self) -> Iterator[dict[str, Tensor]]:
        return self

    def __next__(self) -> dict[str, Tensor]:
        began = time.perf_counter()
        batch = self._source.read(next(self._order))
        self.waited_s += time.perf_counter() - began
        return batch


def close(feed: Feed) -> None:
    """Let a feed stop its threads, if it has any."""
    stop = getattr(feed, "close", None)
    if callable(stop):
        stop()


class Order:
    """The samples of any step: a pure function of (number of samples, batch size, words)."""

    def __init__(self, samples: int, batch_size: int, *words: str | int) -> None:
        if samples < 1:
            raise DataError(
                f"{' '.join(map(str, words))}: the source holds no samples. "
                "Are the episodes long enough for one window, and is the split not empty?"
            )
        self.samples, self.batch_size, self._words = samples, batch_size, words
        self._epochs: dict[int, Indices] = {}

    def batch(self, step: int) -> Indices:
        """The global batch of one step."""
        positions = np.arange(step * self.batch_size, (step + 1) * self.batch_size, dtype=np.int64)
        epochs, offsets = np.divmod(positions, self.samples)
        chosen = np.empty(self.batch_size, dtype=np.int64)
        for epoch in range(int(epochs[0]), int(epochs[-1]) + 1):
            here = epochs == epoch
            chosen[here] = self._epoch(epoch)[offsets[here]]
        return chosen

    def slices(self, part: slice, steps: Iterable[int]) -> Iterator[Indices]:
        """One process's part of the batches of these steps."""
        for step in steps:
            yield self.batch(step)[part]

    def _epoch(self, epoch: int) -> Indices:
        if epoch not in self._epochs:
            # Only the newest epoch is kept; steps come in order.
            self._epochs = {epoch: permutation(self.samples, *self._words, epoch)}
        return self._epochs[epoch]


def to_device(batch: Batch, device: torch.device) -> dict[str, Tensor]:
    """The batch on the model's device."""
    return {name: tensor.to(device, non_blocking=True) for name, tensor in batch.items()}
