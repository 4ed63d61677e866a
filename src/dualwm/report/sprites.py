"""Frames for a page: every state is drawn once, and all frames travel as one PNG of tiles."""

import base64
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Draw = Callable[[NDArray[np.float64]], NDArray[np.uint8]]
"""States (n, w) to frames (n, side, side, 3)."""

_COLUMNS = 16


class Sprites:
    """Collects states, numbers them in the order they came, and draws them when the sheet is asked for."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self._numbers: dict[bytes, int] = {}
        self._sources: list[NDArray[np.float64] | NDArray[np.uint8]] = []
        """Of every number the state to draw, or the picture itself."""

    def __len__(self) -> int:
        return len(self._sources)

    def add(self, states: NDArray[np.float64]) -> tuple[int, ...]:
        """The numbers of the frames of some states (n, w). A state that came before keeps its number."""
        return tuple(self._number(state) for state in np.ascontiguousarray(states))

    def _number(self, state: NDArray[np.float64]) -> int:
        key = state.tobytes()
        if key not in self._numbers:
            self._numbers[key] = len(self._sources)
            self._sources.append(state)
        return self._numbers[key]

    def add_pictures(self, pictures: NDArray[np.uint8]) -> tuple[int, ...]:
        """The numbers of pictures (n, side, side, 3) that are no world's drawing of a state."""
        first = len(self._sources)
        self._sources.extend(pictures)
        return tuple(range(first, len(self._sources)))

    def frames(self) -> NDArray[np.uint8]:
        """All frames in the order of their numbers, (n, side, side, 3)."""
        drawn = [i for i, source in enumerate(self._sources) if source.ndim == 1]
        frames: list[Any] = list(self._sources)
        for i, frame in zip(drawn, self._draw(np.stack([frames[i] for i in drawn])), strict=True):
            frames[i] = frame
        return np.stack(frames)

    def sheet(self) -> "Sheet":
        """All frames as tiles of one picture, row by row."""
        frames = self.frames()
        count, side = len(frames), int(frames.shape[1])
        columns = min(_COLUMNS, count)
        rows = -(-count // columns)
        tiles = np.zeros((rows * columns, side, side, 3), np.uint8)
        tiles[:count] = frames
        picture = tiles.reshape(rows, columns, side, side, 3).swapaxes(1, 2).reshape(rows * side, columns * side, 3)
        return Sheet(png=png(picture), columns=columns, side=side)


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """Tiles of `side` pixels, `columns` to a row, as the bytes of one PNG."""

    png: bytes
    columns: int
    side: int


def png(picture: NDArray[np.uint8]) -> bytes:
    """A picture (height, width, 3) as the bytes of a PNG."""
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def data_uri(png: bytes) -> str:
    """A PNG as a page carries it inside itself."""
    return "data:image/png;base64," + base64.b64encode(png).decode()
