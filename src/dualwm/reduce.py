"""How statistics of a batch are taken when the batch is spread over several processes.

BatchNorm and the Gaussian regulariser see the GLOBAL batch through one object. On one process it does nothing; the
version for several processes lives in `dualwm.train.distributed`. Both are differentiable, so two processes with half
batches give the loss and gradients of one process with the whole batch.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from dualwm.shapes import Tensor


@runtime_checkable
class Reduce(Protocol):
    """Sums and gathers over the processes that share a batch."""

    @property
    def world(self) -> int:
        """Number of processes."""
        ...

    def sum(self, x: Tensor) -> Tensor:
        """Elementwise sum over processes."""
        ...

    def gather(self, x: Tensor, dim: int) -> Tensor:
        """Concatenation over processes along `dim`, in rank order."""
        ...


@dataclass(frozen=True)
class Alone:
    """One process: nothing to reduce."""

    world: int = 1

    def sum(self, x: Tensor) -> Tensor:
        """The sum of one."""
        return x

    def gather(self, x: Tensor, dim: int) -> Tensor:
        """All there is."""
        del dim
        return x


ALONE = Alone()
