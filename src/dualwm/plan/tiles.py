"""Model calls in row tiles of fixed size.

Matrix kernels may give a row different bits when the number of rows around it changes. Cutting every call into tiles
of one size, the last one padded, makes a task's result independent of batch size, order, early finishers and memory
caps, and bounds memory at the same time.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from dualwm.shapes import Tensor
from dualwm.states import State


@dataclass(frozen=True)
class Tiled:
    """`fn` over rows, `rows` at a time. Every argument and the result have rows as their first axis."""

    fn: Callable[..., State]
    rows: int

    def __call__(self, *args: State | Tensor) -> State:
        """The call, tile by tile."""
        count = len(args[0].latent) if isinstance(args[0], State) else len(args[0])
        pieces: list[State] = []
        for begin in range(0, count, self.rows):
            end = min(begin + self.rows, count)
            tile = [self._cut(arg, begin, end) for arg in args]
            pieces.append(self.fn(*tile)[: end - begin])
        return pieces[0] if len(pieces) == 1 else State.join(pieces, torch.cat)

    def _cut(self, arg: State | Tensor, begin: int, end: int) -> State | Tensor:
        if isinstance(arg, State):
            return arg.map(lambda x: _padded(x[begin:end], self.rows))
        return _padded(arg[begin:end], self.rows)


def _padded(x: Tensor, rows: int) -> Tensor:
    if len(x) == rows:
        return x
    return torch.cat([x, x.new_zeros(rows - len(x), *x.shape[1:])])
