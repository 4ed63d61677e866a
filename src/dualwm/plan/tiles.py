"""Model calls in row tiles: a row's bits never depend on how many rows there are.

Matrix kernels may give a row different bits when the number of rows around it changes. A tile has as many rows as one
task brings, whatever the batch; the last one is padded. Several tiles go through one larger call only after such calls
have been seen to give the tiles' own bits, on this machine and with this number of threads. So results are independent
of batch size, order, early finishers and memory caps, a lone task pays for no padding, and memory is bounded.
"""

from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

import torch

from dualwm.shapes import Tensor
from dualwm.states import State

R = TypeVar("R", State, Tensor)

_EVIDENCE = 1 << 18
"""Numbers that must have come out alike before larger calls are trusted. Rounded to bfloat16, a sum in another order
shows in a few numbers of a thousand; in float32 in most."""
_FEWEST = 8
"""Rows of the smallest tile: below, kernels gain nothing from fewer."""


def tile_of(rows: int, most: int) -> int:
    """Rows of a tile where a task brings `rows`: all of them, or equal parts of at most `most`."""
    parts = -(-rows // most)
    return max(-(-rows // parts), min(_FEWEST, most))


class Tiled(Generic[R]):
    """`fn` over rows, `rows` at a time, or at most `most` where that gives the same bits.

    Every argument and the result have rows as their first axis.
    """

    def __init__(self, fn: Callable[..., R], rows: int, most: int = 0) -> None:
        self._fn, self._rows = fn, rows
        self._sizes = [rows << n for n in range(max(1, most // rows).bit_length())][::-1]
        self._alike: dict[object, int] = {}
        """Per kind of call: numbers that came out alike so far; -1 once some did not."""

    def __call__(self, *args: State | Tensor) -> R:
        """The call, tile by tile."""
        count = len(args[0].latent) if isinstance(args[0], State) else len(args[0])
        pieces: list[Any] = [self._call(args, begin, size)[: count - begin] for begin, size in self._cuts(count)]
        return pieces[0] if len(pieces) == 1 else _joined(pieces)

    def _cuts(self, count: int) -> Iterator[tuple[int, int]]:
        """Where calls begin and how many rows they have: the largest whole ones first."""
        begin = 0
        while begin < count:
            size = next((size for size in self._sizes if size <= count - begin), self._rows)
            yield begin, size
            begin += size

    def _call(self, args: tuple[State | Tensor, ...], begin: int, size: int) -> R:
        """`size` rows in one call if that is known to be the same, else in tiles."""
        if size == self._rows:
            return self._one_call(args, begin, size)
        kind = (size, torch.get_num_threads(), *(_layout(arg) for arg in args))
        alike = self._alike.get(kind, 0)
        if alike >= _EVIDENCE:
            return self._one_call(args, begin, size)
        tiles = _joined([self._one_call(args, at, self._rows) for at in range(begin, begin + size, self._rows)])
        if alike >= 0:
            same, numbers = _compared(tiles, self._one_call(args, begin, size))
            self._alike[kind] = alike + numbers if same else -1
        return tiles

    def _one_call(self, args: tuple[State | Tensor, ...], begin: int, size: int) -> R:
        def cut(x: Tensor) -> Tensor:
            return _padded(x[begin : begin + size], size)

        return self._fn(*(arg.map(cut) if isinstance(arg, State) else cut(arg) for arg in args))


def _parts(value: State | Tensor) -> list[Tensor]:
    if isinstance(value, State):
        return [x for x in (value.latent, value.tokens, value.proprio) if x is not None]
    return [value]


def _layout(value: State | Tensor) -> tuple[object, ...]:
    return tuple((x.shape[1:], x.dtype) for x in _parts(value))


def _compared(first: State | Tensor, second: State | Tensor) -> tuple[bool, int]:
    """Whether all bits are the same, and of how many numbers."""
    pairs = list(zip(_parts(first), _parts(second), strict=True))
    return all(torch.equal(x, y) for x, y in pairs), sum(x.numel() for x, _ in pairs)


def _joined(pieces: list[Any]) -> Any:
    """One State or tensor from the rows of several."""
    return State.join(pieces, torch.cat) if isinstance(pieces[0], State) else torch.cat(pieces)


def _padded(x: Tensor, rows: int) -> Tensor:
    if len(x) == rows:
        # The padded tile is a fresh copy. A full one must be laid out alike: kernels round by layout as well.
        return x.contiguous()
    return torch.cat([x, x.new_zeros(rows - len(x), *x.shape[1:])])
