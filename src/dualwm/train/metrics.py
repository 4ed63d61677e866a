"""The run's diary: one JSON object per line in `metrics.jsonl`, and TensorBoard on request.

Every line names its `kind` ("train", "heldout", "alarm"), its stage and the number of optimiser steps done. When a
run continues from a checkpoint, lines beyond it are cut, so that no step is told twice and none is missing.
"""

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, cast, runtime_checkable

from dualwm.errors import missing_extra
from dualwm.train.checkpoint import Position


@runtime_checkable
class _Board(Protocol):
    def add_scalar(self, tag: str, scalar_value: float, global_step: int) -> None: ...

    def flush(self) -> None: ...

    def close(self) -> None: ...


class Metrics:
    """Appends lines; on opening, cuts what lies beyond `position`."""

    def __init__(self, out: Path, stages: Mapping[str, int], position: Position, tensorboard: bool = False) -> None:
        """`stages` gives the steps of each stage by name, in order."""
        self.path = out / "metrics.jsonl"
        self._names, self._offsets = list(stages), _offsets(stages)
        start = self._offsets[self._names[position.stage]] + position.step
        self._board = _open_board(out / "tensorboard", start) if tensorboard else None
        self._cut(position)
        self._file = self.path.open("a")

    def write(self, kind: str, stage: str, step: int, facts: Mapping[str, Any]) -> None:
        """Add one line; it is in the system's hands when this returns."""
        line = {"kind": kind, "stage": stage, "step": step, **facts}
        self._file.write(json.dumps(_finite(line), separators=(",", ":")) + "\n")
        self._file.flush()
        if self._board is not None:
            for tag, value in _scalars(facts):
                self._board.add_scalar(f"{stage}/{kind}/{tag}", value, self._offsets[stage] + step)

    def lines(self) -> Iterator[dict[str, Any]]:
        """All lines there are."""
        for text in self.path.read_text().splitlines():
            yield json.loads(text)

    def sync(self) -> None:
        """Return once all lines are on the disk. A checkpoint is written after its lines, never before."""
        os.fsync(self._file.fileno())
        if self._board is not None:
            self._board.flush()

    def close(self) -> None:
        """Finish writing."""
        self._file.close()
        if self._board is not None:
            self._board.close()

    def _cut(self, position: Position) -> None:
        if not self.path.exists():
            return
        kept = 0
        with self.path.open("rb") as file:
            for raw in file:
                if not raw.endswith(b"\n") or not self._within(raw, position):
                    break
                kept += len(raw)
        os.truncate(self.path, kept)

    def _within(self, raw: bytes, position: Position) -> bool:
        try:
            line = json.loads(raw)
            return Position(self._names.index(line["stage"]), line["step"]) <= position
        except (ValueError, KeyError, TypeError):
            return False


def _offsets(stages: Mapping[str, int]) -> dict[str, int]:
    before, offsets = 0, dict[str, int]()
    for name, steps in stages.items():
        offsets[name] = before
        before += steps
    return offsets


def _finite(data: Any) -> Any:
    """JSON knows no NaN and no infinity: they become null."""
    if isinstance(data, Mapping):
        return {key: _finite(value) for key, value in cast(Mapping[str, Any], data).items()}
    if isinstance(data, (list, tuple)):
        return [_finite(value) for value in cast(Sequence[Any], data)]
    return None if isinstance(data, float) and not math.isfinite(data) else data


def _scalars(data: Any, tag: str = "") -> Iterator[tuple[str, float]]:
    """Every number in nested data with a path to it."""
    if isinstance(data, Mapping):
        for key, value in cast(Mapping[str, Any], data).items():
            yield from _scalars(value, f"{tag}/{key}" if tag else key)
    elif isinstance(data, (list, tuple)):
        for i, value in enumerate(cast(Sequence[Any], data)):
            yield from _scalars(value, f"{tag}/{i}")
    elif isinstance(data, (int, float)):
        yield tag, float(data)


def _open_board(folder: Path, start: int) -> _Board:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as problem:
        raise missing_extra("TensorBoard", "tensorboard", 10) from problem
    return cast(_Board, SummaryWriter(str(folder), purge_step=start + 1))
