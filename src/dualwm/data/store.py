"""Reading a data set: episodes on disk, rows by number. Writing is in `dualwm.data.writer`, the layout in `schema`.

Files are mapped, never loaded: memory is proportional to the number of episodes and to what one call returns.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualwm.data.codecs import Codec, codec_of
from dualwm.data.index import EpisodeEntry, check_files, read_index
from dualwm.data.schema import (
    SPAN_DTYPE,
    StoreMeta,
    dtype_of,
    find_column,
    read_meta,
    row_bytes,
    row_file,
    shard_folder,
    span_file,
    stored,
)
from dualwm.errors import DataError, did_you_mean
from dualwm.records import ColumnRole, ColumnSpec, Episode

Draw = Callable[[NDArray[Any], int], NDArray[np.uint8]]
"""(states (n, w), size) -> uint8 (n, size, width, 3): how a drawn column becomes pictures. Comes from a world."""

_OPEN_MAPS = 256
_FORGET_BYTES = 1 << 25
_CHUNK_BYTES = 16 << 20


class Store:
    """A data set opened for reading: what was whole when it was opened."""

    def __init__(self, path: Path, meta: StoreMeta, entries: list[EpisodeEntry]) -> None:
        """Use `Store.open`."""
        self.path = path
        self.meta = meta
        self.entries = tuple(entries)
        self.rows = np.array([entry.rows for entry in entries], np.int64)
        """Rows of each episode; episode ids are positions."""
        self.seeds = np.array([entry.seed for entry in entries], np.int64)
        self.first_rows = np.cumsum(self.rows) - self.rows
        """First global row of each episode."""
        starts_shard = np.array([entry.first_row == 0 for entry in entries], bool)
        self._shard_first = self.first_rows[starts_shard]
        self._shard_rows = np.diff(np.append(self._shard_first, self.total_rows))
        self._map = lru_cache(maxsize=_OPEN_MAPS)(self._open_map)
        self._touched = 0

    @staticmethod
    def open(path: str | Path) -> "Store":
        """The data set in a folder, checked for completeness but not read."""
        folder = Path(path)
        meta = read_meta(folder)
        entries, _ = read_index(folder)
        check_files(folder, meta, entries)
        return Store(folder, meta, entries)

    def __len__(self) -> int:
        """Number of episodes."""
        return len(self.entries)

    def __repr__(self) -> str:
        return f"Store({str(self.path)!r}, {len(self)} episodes, {self.total_rows} rows)"

    @property
    def ids(self) -> NDArray[np.int64]:
        """Ids of the episodes: 0, 1, 2, ..."""
        return np.arange(len(self.entries), dtype=np.int64)

    @property
    def total_rows(self) -> int:
        """Rows of all episodes together."""
        return int(self.rows.sum())

    @property
    def bytes(self) -> int:
        """Bytes of the episodes' columns on disk."""
        lasts = {entry.shard: entry.ends for entry in self.entries}
        return sum(sum(ends.values()) for ends in lasts.values())

    @property
    def digest(self) -> str:
        """SHA-256 over the kind of data and every episode's line; who made the folder, and where, does not enter."""
        total = hashlib.sha256(json.dumps(self.meta.identity, sort_keys=True, separators=(",", ":")).encode())
        for entry in self.entries:
            total.update(entry.to_line())
        return total.hexdigest()

    def column(self, name: str) -> ColumnSpec:
        """The column of that name."""
        return find_column(self.meta.columns, name, str(self.path))

    def columns_of(self, role: ColumnRole) -> list[ColumnSpec]:
        """The columns in a role, in the order of the specification."""
        return [spec for spec in self.meta.columns if spec.role == role]

    def camera(self, camera: str) -> ColumnSpec:
        """The pixels column of a camera."""
        by_camera = {spec.camera: spec for spec in self.columns_of("pixels") if spec.camera}
        if camera not in by_camera:
            raise DataError(f"{self.path} has no camera {camera!r}. {did_you_mean(camera, by_camera)}")
        return by_camera[camera]

    def action(self) -> ColumnSpec:
        """The one action column."""
        columns = self.columns_of("action")
        if len(columns) != 1 or len(columns[0].shape) != 1:
            raise DataError(
                f"{self.path} should have exactly one column of role action with rows of shape (action_dim,), found "
                f"{[(spec.name, spec.shape) for spec in columns]}. Import the data again with one such column."
            )
        return columns[0]

    def read_rows(self, name: str, rows: NDArray[np.int64]) -> NDArray[Any]:
        """Rows of a stored column by global number, any shape: (*rows.shape, *column.shape), a fresh array."""
        spec = self.column(name)
        assert spec.kind != "drawn", f"{name} is drawn: use read_frames"
        return self._gather(spec, rows.reshape(-1)).reshape(*rows.shape, *spec.shape)

    def read_frames(
        self, camera: str, rows: NDArray[np.int64], size: int | None = None, draw: Draw | None = None
    ) -> NDArray[np.uint8]:
        """Frames of a camera by global row: uint8 (*rows.shape, height, width, 3).

        Stored frames come as they were stored; drawn ones are drawn now, `size` pixels high.
        """
        spec = self.camera(camera)
        if spec.kind != "drawn":
            return self.read_rows(spec.name, rows)
        draw_now, side = self.require_drawer(spec, size, draw)
        if not rows.size:
            return np.empty((*rows.shape, side, side, 3), np.uint8)
        states = self.read_rows(str(spec.draws_from), rows.reshape(-1))
        frames = draw_now(states.reshape(len(states), -1), side)
        assert frames.shape[:2] == (len(states), side), (frames.shape, side)
        return frames.reshape(*rows.shape, *frames.shape[1:])

    def require_drawer(self, spec: ColumnSpec, size: int | None, draw: Draw | None) -> tuple[Draw, int]:
        """What a drawn column needs to be read; an error naming the world that has it."""
        if draw is None or size is None:
            raise DataError(
                f"{self.path}: the frames of camera {spec.camera!r} are not stored but drawn by the world "
                f"{spec.drawer!r} from the column {spec.draws_from!r}. Pass that world's draw function and a size in "
                "pixels."
            )
        return draw, size

    def row_numbers(self, episode: int) -> NDArray[np.int64]:
        """Global rows of one episode."""
        first = int(self.first_rows[episode])
        return np.arange(first, first + int(self.rows[episode]), dtype=np.int64)

    def chunks(self, name: str, episodes: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], NDArray[Any]]]:
        """A stored column of many episodes, some at a time: (their ids, their rows one after the other)."""
        ends = np.cumsum(self.rows[episodes] * row_bytes(self.column(name)))
        for group in np.split(episodes, np.flatnonzero(np.diff(ends // _CHUNK_BYTES)) + 1):
            if len(group):
                yield group, self.read_rows(name, np.concatenate([self.row_numbers(int(one)) for one in group]))

    def episode(self, episode: int) -> Episode:
        """One whole episode with all its stored columns."""
        entry = self.entries[episode]
        rows = self.row_numbers(episode)
        columns = {spec.name: self.read_rows(spec.name, rows) for spec in stored(self.meta.columns)}
        return Episode(id=entry.id, seed=entry.seed, source=entry.source, columns=columns)

    def _gather(self, spec: ColumnSpec, rows: NDArray[np.int64]) -> NDArray[Any]:
        """Rows of a column out of as many shards as they lie in."""
        if not len(rows):
            return np.empty((0, *spec.shape), dtype_of(spec))
        assert rows.min() >= 0, f"row {rows.min()} asked for"
        assert rows.max() < self.total_rows, f"row {rows.max()} asked for, there are {self.total_rows}"
        self._count(len(rows) * row_bytes(spec))
        shard = np.searchsorted(self._shard_first, rows, side="right") - 1
        local = rows - self._shard_first[shard]
        if shard.min() == shard.max():
            return self._gather_shard(spec, int(shard[0]), local)
        out = np.empty((len(rows), *spec.shape), dtype_of(spec))
        for one in np.unique(shard):
            here = shard == one
            out[here] = self._gather_shard(spec, int(one), local[here])
        return out

    def _gather_shard(self, spec: ColumnSpec, shard: int, local: NDArray[np.int64]) -> NDArray[Any]:
        codec = codec_of(spec.codec)
        if codec is not None:
            return self._decode(spec, codec, shard, local)
        shape = (int(self._shard_rows[shard]), *spec.shape)
        return np.take(self._map(shard, row_file(spec.name), dtype_of(spec), shape), local, axis=0)

    def _decode(self, spec: ColumnSpec, codec: Codec, shard: int, local: NDArray[np.int64]) -> NDArray[Any]:
        rows = int(self._shard_rows[shard])
        spans = self._map(shard, span_file(spec.name), SPAN_DTYPE, (rows, 2))
        size, last = row_bytes(spec), spans[rows - 1]
        blobs = self._map(shard, row_file(spec.name), np.dtype(np.uint8), (int(last.sum()),)).data
        out = np.empty((len(local), size), np.uint8)
        for i, (start, length) in enumerate(spans[local]):
            try:
                out[i] = np.frombuffer(codec.decode(blobs[start : start + length], size), np.uint8)
            except ValueError as problem:
                raise DataError(
                    f"{shard_folder(self.path, shard) / row_file(spec.name)}: row {local[i]} should decode to {size} "
                    f"bytes with {spec.codec!r} and does not ({problem}). The file is damaged: copy it again."
                ) from problem
        return out.view(dtype_of(spec)).reshape(len(local), *spec.shape)

    def _open_map(self, shard: int, name: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        file = shard_folder(self.path, shard) / name
        try:
            return np.asarray(np.memmap(file, dtype, "r", shape=shape))
        except (OSError, ValueError) as problem:
            raise DataError(
                f"{file} should hold {shape[0]:,} rows and cannot be opened ({problem}). It was there when the data "
                "set was opened: keep the folder in place while it is read, or copy it again."
            ) from problem

    def _count(self, size: int) -> None:
        """Unmap now and then, or every page ever read would count as this process's memory.

        The system maps some ten times as much as is read at random, so that this keeps it within about 400 MB.
        """
        self._touched += size
        if self._touched > _FORGET_BYTES:
            self._touched = 0
            self._map.cache_clear()
