"""Model calls in row tiles of fixed size.

Matrix kernels may give a row different bits when the number of rows around it changes. Cutting every call into tiles
of one size, the last one padded, makes a task's result independent of batch size, order, early finishers and memory
caps, and bounds memory at the same time.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import torch

from dualwm.shapes import Tensor
from dualwm.states import State

R = TypeVar("R", State, Tensor)


@dataclass(frozen=True)
class Tiled(Generic[R]):
    """`fn` over rows, `rows` at a time. Every argument and the result have rows as their first axis."""

    fn: Callable[..., R]
    rows: int

    def __call__(self, *args: State | Tensor) -> R:
        """The call, tile by tile."""
        count = len(args[0].latent) if isinstance(args[0], State) else len(args[0])
        pieces: list[R] = []
        for begin in range(0, count, self.rows):
            end = min(begin + self.rows, count)
            tile = [self._cut(arg, begin, end) for arg in args]
            pieces.append(self.fn(*tile)[: end - begin])
        return pieces[0] if len(pieces) == 1 else _joined(pieces)

    def _cut(self, arg: State | Tensor, begin: int, end: int) -> State | Tensor:
        if isinstance(arg, State):
            return arg.map(lambda x: _padded(x[begin:end], self.rows))
        return _padded(arg[begin:end], self.rows)


def _joined(pieces: list[Any]) -> Any:
    """One State or tensor from the rows of several."""
    return State.join(pieces, torch.cat) if isinstance(pieces[0], State) else torch.cat(pieces)


def _padded(x: Tensor, rows: int) -> Tensor:
    if len(x) == rows:
        # The padded tile is a fresh copy. A full one must be laid out alike: kernels round by layout as well.
        return x.contiguous()
    return torch.cat([x, x.new_zeros(rows - len(x), *x.shape[1:])])
