"""Two processes that share a batch, played by two threads in lockstep: what `Reduce` promises, without a launcher."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch


@dataclass(frozen=True)
class _Seat:
    """One process's view of the batch they share."""

    table: "TwoProcesses"
    rank: int
    world: int = 2

    def sum(self, x: torch.Tensor) -> torch.Tensor:
        first, second = self.table.exchange(self.rank, x)
        return first + second

    def gather(self, x: torch.Tensor, dim: int) -> torch.Tensor:
        return torch.cat(self.table.exchange(self.rank, x), dim)


@dataclass
class TwoProcesses:
    """`run(work)` calls `work(rank, reduce)` for ranks 0 and 1 at the same time and returns both results."""

    slots: list[Any] = field(default_factory=lambda: [None, None])
    barrier: threading.Barrier = field(default_factory=lambda: threading.Barrier(2, timeout=20))

    def exchange(self, rank: int, x: torch.Tensor) -> list[torch.Tensor]:
        self.slots[rank] = x
        self.barrier.wait()
        both = list(self.slots)
        self.barrier.wait()
        return both

    def run(self, work: Callable[[int, Any], Any]) -> list[Any]:
        results: list[Any] = [None, None]
        problems: list[BaseException] = []

        def seat(rank: int) -> None:
            try:
                results[rank] = work(rank, _Seat(self, rank))
            except BaseException as problem:
                problems.append(problem)
                self.barrier.abort()

        threads = [threading.Thread(target=seat, args=(rank,)) for rank in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if problems:
            raise problems[0]
        return results
