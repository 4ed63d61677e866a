"""Which episodes a data set has: one line each, written when the episode's rows are safely on the disk."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from dualwm.data.codecs import codec_of
from dualwm.data.schema import INDEX_NAME, META_NAME, StoreMeta, row_file, shard_folder, span_file, stored
from dualwm.errors import DataError


@dataclass(frozen=True, kw_only=True, slots=True)
class EpisodeEntry:
    """One line of the index."""

    id: int
    rows: int
    seed: int
    """Seed it was collected with; -1 where there is none."""
    source: str
    shard: int
    first_row: int
    """First row inside the shard."""
    checksums: Mapping[str, str]
    """Column -> BLAKE2b of its rows as numbers, before any codec."""
    ends: Mapping[str, int]
    """File of the shard -> its size once this episode is written."""

    def to_line(self) -> bytes:
        """The canonical line, newline included: the same episode gives the same bytes."""
        plain = {name: getattr(self, name) for name in _ENTRY_TYPES}
        return (json.dumps(plain, sort_keys=True, separators=(",", ":")) + "\n").encode()

    @staticmethod
    def from_line(line: bytes) -> "EpisodeEntry":
        """The entry of a line; anything else is a ValueError."""
        values: dict[str, Any] = json.loads(line)
        try:
            fine = set(values) == set(_ENTRY_TYPES) and all(isinstance(values[k], t) for k, t in _ENTRY_TYPES.items())
        except TypeError:
            fine = False
        if not fine:
            raise ValueError("not an episode")
        return EpisodeEntry(**values)


_ENTRY_TYPES: dict[str, type] = {
    "id": int,
    "rows": int,
    "seed": int,
    "source": str,
    "shard": int,
    "first_row": int,
    "checksums": dict,
    "ends": dict,
}


def read_index(path: Path) -> tuple[list[EpisodeEntry], int]:
    """The episodes of a folder and the length in bytes of their lines.

    A last line that is torn, or lines of rubbish at the end, are what a stopped writer leaves: they are not episodes.
    """
    file = path / INDEX_NAME
    data = file.read_bytes() if file.exists() else b""
    entries: list[EpisodeEntry] = []
    good, bad_line = 0, 0
    for number, line in _lines(data):
        try:
            entry = EpisodeEntry.from_line(line)
        except ValueError:
            bad_line = bad_line or number
            continue
        _check_follows(entry, entries, bad_line, f"{file}, line {number}")
        entries.append(entry)
        good += len(line)
    return entries, good


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Whole lines with their newline, numbered from 1."""
    for number, line in enumerate(data.split(b"\n")[:-1], start=1):
        yield number, line + b"\n"


def _check_follows(entry: EpisodeEntry, before: list[EpisodeEntry], bad_line: int, where: str) -> None:
    """Refuse an index with a hole: its episodes would be told apart wrongly from there on."""
    last = before[-1] if before else None
    if last is None:
        starts = (entry.shard, entry.first_row) == (0, 0)
    elif entry.shard == last.shard:
        starts = entry.first_row == last.first_row + last.rows
    else:
        starts = (entry.shard, entry.first_row) == (last.shard + 1, 0)
    if bad_line or not starts or entry.id != len(before) or entry.rows < 1:
        raise DataError(
            f"{where}: expected episode {len(before)} right behind the one before it, found episode {entry.id} at row "
            f"{entry.first_row} of shard {entry.shard}"
            + (f" after the unreadable line {bad_line}" if bad_line else "")
            + ". The index is damaged: copy the file again from its source, or collect into a new folder."
        )


def check_files(path: Path, meta: StoreMeta, entries: list[EpisodeEntry]) -> None:
    """Refuse a folder whose files are missing or shorter than the index says."""
    lasts = [a for a, b in pairwise(entries) if a.shard != b.shard] + entries[-1:]
    needed = {row_file(spec.name) for spec in stored(meta.columns)}
    needed |= {span_file(spec.name) for spec in stored(meta.columns) if codec_of(spec.codec)}
    for last in lasts:
        if needed != set(last.ends):
            raise DataError(
                f"{path / INDEX_NAME}, episode {last.id} lies in the files {sorted(last.ends)}, but the columns in "
                f"{META_NAME} need {sorted(needed)}. The two files do not belong together: copy the folder again."
            )
        for name, end in last.ends.items():
            file = shard_folder(path, last.shard) / name
            size = file.stat().st_size if file.exists() else None
            if size is None or size < end:
                found = "it is missing" if size is None else f"it has {size:,}"
                raise DataError(
                    f"{file} should have at least {end:,} bytes for the episodes up to {last.id}, and {found}. The "
                    "folder is incomplete: copy it again from its source, or collect the data set into a new folder."
                )
