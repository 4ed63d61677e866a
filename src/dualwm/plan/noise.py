"""Planning noise as a function of what it is for, so that no task's noise depends on its batch mates."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from dualwm.shapes import Float, Int, Tensor

SEARCHES = {"route": 1, "refine": 2, "converge": 3}


@dataclass(frozen=True)
class Noise:
    """Random numbers of one search at one decision, for b tasks."""

    seed: int
    tasks: NDArray[np.int64]
    decisions: NDArray[np.int64]
    search: int
    device: torch.device = torch.device("cpu")

    def normal(self, iteration: int, shape: tuple[int, ...]) -> Float[Tensor, "b *shape"]:
        """Standard normal numbers, one block of `shape` per task."""
        drawn = np.empty((len(self.tasks), *shape), np.float32)
        for rows, generator in zip(drawn, self._generators(iteration), strict=True):
            generator.standard_normal(dtype=np.float32, out=rows)
        return torch.from_numpy(drawn).to(self.device)

    def gumbel(self, iteration: int, shape: tuple[int, ...]) -> Float[Tensor, "b *shape"]:
        """Gumbel numbers, one block of `shape` per task."""
        rows = [g.gumbel(size=shape).astype(np.float32) for g in self._generators(iteration)]
        return torch.from_numpy(np.stack(rows)).to(self.device)

    def integers(self, iteration: int, below: int, shape: tuple[int, ...]) -> Int[Tensor, "b *shape"]:
        """Whole numbers in [0, below), one block of `shape` per task; independent of the iteration's normal numbers."""
        rows = [g.integers(below, size=shape) for g in self._generators(iteration, stream=1)]
        return torch.from_numpy(np.stack(rows)).to(self.device)

    def _generators(self, iteration: int, stream: int = 0) -> list[np.random.Generator]:
        word = (self.search << 32) | iteration
        return [
            np.random.Generator(
                np.random.Philox(key=(self.seed << 32) | int(task), counter=[0, stream, word, int(decision)])
            )
            for task, decision in zip(self.tasks, self.decisions, strict=True)
        ]
