"""The few operations that append to a data set. Everything else in this room reads.

Tests stop the program at each of these operations, and around each file that is written whole, to prove that no order
of events leaves half an episode behind.
"""

import os
from io import FileIO
from pathlib import Path


def open_for_writing(path: Path) -> FileIO:
    """The file for reading and writing without a buffer of our own, made if it is missing."""
    return FileIO(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o644), "r+")


def write_at(file: FileIO, offset: int, data: bytes | memoryview) -> None:
    """Write all of `data` at `offset`."""
    file.seek(offset)
    rest = memoryview(data).cast("B")
    while len(rest):
        rest = rest[file.write(rest) :]


def truncate(file: FileIO, size: int) -> None:
    """Cut what a stopped writer left behind `size`."""
    file.truncate(size)


def sync(file: FileIO) -> None:
    """Return once the file's bytes are on the disk."""
    os.fsync(file.fileno())
