"""Small files that are there whole or not at all, and the lock that keeps a folder to one writer."""

import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

LOCK_NAME = ".lock"
PART_SUFFIX = ".part"
"""Of what was not finished: a file under such a name counts for nothing."""


def write_whole(path: Path, data: bytes | str) -> None:
    """Write a file so that readers, and whoever comes after a crash, see the old one or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}{PART_SUFFIX}")
    with part.open("wb") as file:
        file.write(data.encode() if isinstance(data, str) else data)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    sync_folder(path.parent)


def append_lines(path: Path, lines: list[str]) -> None:
    """Add whole lines at the end in one write and bring them to the disk.

    Two processes that append at once do not mix their lines; a crash can tear the last line only.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o644)
    try:
        rest = "".join(line + "\n" for line in lines).encode()
        while rest:
            rest = rest[os.write(handle, rest) :]
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_folder(folder: Path) -> None:
    """Return once the names in a folder are on the disk (nothing to do on Windows)."""
    if sys.platform == "win32":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def only_writer(folder: Path, refuse: Callable[[str], Exception], name: str = LOCK_NAME) -> Generator[None]:
    """Hold a folder's lock, or raise what `refuse` makes of the process number of whoever holds it.

    The system releases the lock when this process ends, however it ends. A folder that several writers share has a
    lock of another `name` for each.
    """
    with FileIO(folder / name, "a+") as file:
        if not _take(file):
            file.seek(0)
            raise refuse((file.read(64) or b"").decode(errors="replace").strip() or "unknown")
        try:
            file.truncate(0)
            file.write(str(os.getpid()).encode())
            yield
        finally:
            file.truncate(0)
            _release(file)


def _take(file: FileIO) -> bool:
    try:
        if sys.platform == "win32":
            file.seek(1 << 20)  # a byte nobody writes: the process number stays readable
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
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
