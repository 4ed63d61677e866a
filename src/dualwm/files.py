"""Small files that are there whole or not at all."""

import os
import sys
from pathlib import Path


def write_whole(path: Path, data: bytes | str) -> None:
    """Write a file so that readers, and whoever comes after a crash, see the old one or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
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
