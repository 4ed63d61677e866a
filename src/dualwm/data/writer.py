"""Appending episodes so that each is there whole or not at all, whatever stops the program and whenever.

An append writes the rows behind what the index knows, waits for the disk, and only then writes the index lines. What a
stopped append left behind the index's ends is no part of the data set; the next append writes over it.
"""

import json
import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from io import FileIO
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from dualwm.data import disk
from dualwm.data.codecs import codec_of
from dualwm.data.index import EpisodeEntry, check_files, read_index
from dualwm.data.schema import (
    INDEX_NAME,
    META_NAME,
    SPAN_DTYPE,
    StoreMeta,
    check_columns,
    checksum,
    dtype_of,
    read_meta,
    row_file,
    shard_folder,
    span_file,
    stored,
)
from dualwm.errors import DataError
from dualwm.files import LOCK_NAME, PART_SUFFIX, only_writer, sync_folder, write_whole
from dualwm.records import ColumnSpec, Episode

SHARD_BYTES = 1 << 30
"""A new shard begins with the first episode after the current one holds this much."""
_META_PARTS = f"{META_NAME}*{PART_SUFFIX}"
"""What writers leave that were killed before the folder became a data set."""


class Writer:
    """The one writer of a folder, made if it is missing. Use as a context manager: it holds the folder's lock."""

    def __init__(self, path: str | Path, meta: StoreMeta, *, shard_bytes: int = SHARD_BYTES) -> None:
        self.path = Path(path)
        self._shard_bytes = shard_bytes
        check_columns(meta.columns, str(self.path))
        with ExitStack() as stack:
            _make_folder(self.path)
            stack.enter_context(only_writer(self.path, self._busy))
            self.meta = _adopt_or_write_meta(self.path, meta)
            self._files = stack.enter_context(_Files(self.path))
            self.entries: list[EpisodeEntry] = []
            self._repair()
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _busy(self, holder: str) -> Exception:
        return DataError(
            f"{self.path} is being written by another live process (process {holder}); a data set has one writer at a "
            "time. Wait until it is done, or stop it, then type the same command again."
        )

    def close(self) -> None:
        """Release the folder."""
        self._stack.close()

    def append(self, episodes: Sequence[Episode]) -> None:
        """Append episodes with the next free ids. They are on the disk, all of them, when this returns."""
        if self._dirty:
            self._repair()
        for number, episode in enumerate(episodes, start=len(self.entries)):
            assert episode.id == number, f"episode {episode.id} where {number} is the next id"
            _check_episode(episode, self.meta.columns, str(self.path))
        self._dirty = True
        try:
            self._commit(episodes)
        except OSError as problem:
            raise DataError(
                f"{self.path}: episodes {len(self.entries)} to {len(self.entries) + len(episodes) - 1} could not be "
                f"written ({problem}). The {len(self.entries)} episodes before them are whole; make room, or restore "
                "the disk, and type the same command again."
            ) from problem
        self._dirty = False

    def _commit(self, episodes: Sequence[Episode]) -> None:
        """Data first, then the lines that make it exist, each only after the disk has the one before."""
        entries: list[EpisodeEntry] = []
        for episode in episodes:
            entries.append(self._write(episode, (self.entries[-1:] + entries)[-1:]))
        self._files.sync()
        index = b"".join(entry.to_line() for entry in entries)
        disk.write_at(self._index, self._index_size, index)
        disk.sync(self._index)
        self._index_size += len(index)
        self.entries += entries

    def _write(self, episode: Episode, before: list[EpisodeEntry]) -> EpisodeEntry:
        """Write an episode's rows behind those of the episode before it; nobody knows of them yet."""
        shard, first_row, ends = _place(before, self._shard_bytes)
        sums: dict[str, str] = {}
        for spec in stored(self.meta.columns):
            rows = np.ascontiguousarray(episode.columns[spec.name], dtype_of(spec))
            sums[spec.name] = checksum(rows)
            for name, data in _encode(spec, rows, ends).items():
                end = ends.get(name, 0)
                disk.write_at(self._files.open(shard, name), end, data)
                ends[name] = end + len(data)
        return EpisodeEntry(
            id=episode.id,
            rows=episode.rows,
            seed=int(episode.seed),
            source=episode.source,
            shard=shard,
            first_row=first_row,
            checksums=sums,
            ends=ends,
        )

    def _repair(self) -> None:
        """Take the index's word for what is there and cut everything behind it."""
        self.entries, self._index_size = read_index(self.path)
        check_files(self.path, self.meta, self.entries)
        self._files.close()
        self._index = self._files.index()
        disk.truncate(self._index, self._index_size)
        last = self.entries[-1] if self.entries else None
        for name, end in last.ends.items() if last else ():
            disk.truncate(self._files.open(last.shard, name), end)  # pyright: ignore[reportOptionalMemberAccess]
        _remove_shards_from(self.path, last.shard + 1 if last else 0)
        self._dirty = False


class _Files:
    """Open files of the folder, and which of them must still reach the disk."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._open: dict[Path, FileIO] = {}
        self._unsynced: set[Path] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def index(self) -> FileIO:
        return self._get(self._path / INDEX_NAME)

    def open(self, shard: int, name: str) -> FileIO:
        """A file of a shard, to be written to."""
        file = shard_folder(self._path, shard) / name
        file.parent.mkdir(exist_ok=True)
        self._unsynced.add(file)
        return self._get(file)

    def sync(self) -> None:
        """Return once everything written, and the names of new files, are on the disk."""
        for file in sorted(self._unsynced):
            disk.sync(self._open[file])
        for folder in sorted({file.parent for file in self._unsynced}):
            sync_folder(folder)
        sync_folder(self._path)
        self._unsynced.clear()

    def close(self) -> None:
        for file in self._open.values():
            file.close()
        self._open.clear()
        self._unsynced.clear()

    def _get(self, file: Path) -> FileIO:
        if file not in self._open:
            self._open[file] = disk.open_for_writing(file)
        return self._open[file]


def _place(before: list[EpisodeEntry], shard_bytes: int) -> tuple[int, int, dict[str, int]]:
    """Shard, first row and file ends for the next episode: a function of the episodes before it and nothing else."""
    if not before:
        return 0, 0, {}
    last = before[-1]
    if sum(last.ends.values()) >= shard_bytes:
        return last.shard + 1, 0, {}
    return last.shard, last.first_row + last.rows, dict(last.ends)


def _encode(spec: ColumnSpec, rows: NDArray[Any], ends: Mapping[str, int]) -> dict[str, bytes | memoryview]:
    """File name -> the bytes to append to it for these rows of a column."""
    codec = codec_of(spec.codec)
    flat = rows.reshape(len(rows), -1).view(np.uint8)
    if codec is None:
        return {row_file(spec.name): flat.reshape(-1).data}
    blobs = [codec.encode(row.data) for row in flat]
    lengths = np.array([len(blob) for blob in blobs], SPAN_DTYPE)
    starts = ends.get(row_file(spec.name), 0) + np.cumsum(lengths) - lengths
    spans = np.stack([starts, lengths], axis=1).astype(SPAN_DTYPE)
    return {row_file(spec.name): b"".join(blobs), span_file(spec.name): spans.tobytes()}


def _check_episode(episode: Episode, columns: tuple[ColumnSpec, ...], where: str) -> None:
    """Refuse an episode that is not what the folder's columns say."""
    expected = {spec.name: spec for spec in stored(columns)}
    if set(episode.columns) != set(expected) or episode.rows < 1:
        raise DataError(
            f"{where}: an episode should have rows in the columns {sorted(expected)}, and episode {episode.id} "
            f"({episode.source}) has {episode.rows if episode.columns else 0} rows in {sorted(episode.columns)}."
        )
    for name, rows in episode.columns.items():
        spec, shape = expected[name], (episode.rows, *expected[name].shape)
        if rows.shape != shape or rows.dtype != np.dtype(spec.dtype):
            raise DataError(
                f"{where}: column {name!r} of episode {episode.id} ({episode.source}) should be {spec.dtype} {shape}, "
                f"found {rows.dtype} {rows.shape}. All episodes of a data set share their columns' types and row "
                "shapes; convert the episode, or write it to a folder of its own."
            )


def _make_folder(path: Path) -> None:
    """Make the folder; refuse one that holds something else."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise DataError(f"{path} cannot be made or is no folder ({problem}). Choose another folder.") from problem
    own = {META_NAME, LOCK_NAME, *(part.name for part in path.glob(_META_PARTS))}
    foreign = [file.name for file in path.iterdir() if file.name not in own]
    if foreign and not (path / META_NAME).exists():
        raise DataError(
            f"{path} should be a data set or an empty folder, and it holds {', '.join(sorted(foreign)[:3])} without a "
            f"{META_NAME}. Choose another folder."
        )


def _adopt_or_write_meta(path: Path, meta: StoreMeta) -> StoreMeta:
    """Write `meta.json` into a new folder; in an old one it must say the same (who made it stays)."""
    if not (path / META_NAME).exists():
        for part in path.glob(_META_PARTS):
            part.unlink()
        write_whole(path / META_NAME, json.dumps(meta.to_plain(), indent=1, sort_keys=True) + "\n")
        return meta
    there = read_meta(path)
    found, asked = _leaves(there.identity), _leaves(meta.identity)
    for key in sorted({*found, *asked}):
        if found.get(key) != asked.get(key):
            raise DataError(
                f"{path} already holds a data set with {key} = {json.dumps(found.get(key))}, and episodes with {key} = "
                f"{json.dumps(asked.get(key))} cannot be added to it. Use another folder, or the settings it was made "
                "with."
            )
    return there


def _leaves(plain: Any, key: str = "") -> dict[str, Any]:
    """Plain data as one flat mapping: `law.max_env_steps` -> 100."""
    if isinstance(plain, dict):
        parts = list(cast(dict[str, Any], plain).items())
    elif isinstance(plain, list):
        parts = [(str(i), part) for i, part in enumerate(cast(list[Any], plain))]
    else:
        return {key: plain}
    return {path: leaf for name, part in parts for path, leaf in _leaves(part, f"{key}.{name}".lstrip(".")).items()}


def _remove_shards_from(path: Path, shard: int) -> None:
    """Remove shards no episode lies in."""
    while (folder := shard_folder(path, shard)).exists():
        shutil.rmtree(folder)
        shard += 1
