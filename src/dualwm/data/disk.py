"""The few operations that change a data set's bytes, and the lock that keeps it to one writer.

Everything else in this room reads. Tests stop the program at each of these operations to prove that no order of
events leaves half an episode behind.
"""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path

from dualwm.errors import DataError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

LOCK_NAME = ".lock"


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


def sync_folder(folder: Path) -> None:
    """Return once the names of the files in `folder` are on the disk (nothing to do on Windows)."""
    if sys.platform != "win32":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def replace(path: Path, data: bytes) -> None:
    """Write a whole small file so that readers see the old one or the new one, never a part."""
    part = path.with_name(path.name + ".part")
    with open_for_writing(part) as file:
        truncate(file, 0)
        write_at(file, 0, data)
        sync(file)
    os.replace(part, path)
    sync_folder(path.parent)


@contextmanager
def only_writer(folder: Path) -> Generator[None]:
    """Hold the folder's lock. The system releases it when this process ends, however it ends."""
    with open_for_writing(folder / LOCK_NAME) as file:
        if not _take(file):
            holder = (file.read(64) or b"").decode(errors="replace").strip()
            raise DataError(
                f"{folder} is being written by another live process (process {holder or 'unknown'}); a data set has "
                "one writer at a time. Wait until it is done, or stop it, then type the same command again."
            )
        try:
            truncate(file, 0)
            write_at(file, 0, str(os.getpid()).encode())
            yield
        finally:
            truncate(file, 0)
            _release(file)


def _take(file: FileIO) -> bool:
    try:
        if sys.platform == "win32":
            file.seek(1 << 20)  # a byte nobody writes: the process number stays readable
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
            file.seek(0)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _release(file: FileIO) -> None:
    if sys.platform == "win32":
        file.seek(1 << 20)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)
    else:
        fcntl.flock(file, fcntl.LOCK_UN)
