"""Folders of other programs, read episode by episode as named arrays. Nothing found in them is ever executed.

npz     one NAME.npz per episode, arrays by name
npy     one folder per episode with NAME.npy files
png     one folder per episode with pictures (*.png, *.jpg) in it, or in one folder per camera, and numbers in a
        CSV with a header: one CSV in each episode's folder, or one beside them with a column `episode`
"""

import csv
import hashlib
import re
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from dualwm.errors import DataError

Arrays = dict[str, NDArray[Any]]
ONE_CAMERA = "front"
"""Name of the camera where an episode's pictures lie in no folder of their own."""

_PICTURES = (".png", ".jpg", ".jpeg")
_Table = dict[str, list[str]]


@dataclass(frozen=True, kw_only=True)
class RawEpisode:
    """An episode as another program left it."""

    name: str
    """Its path below the imported folder."""
    files: tuple[Path, ...]
    load: Callable[[], Arrays]
    rows_text: str = ""
    """Its rows of a CSV shared by all episodes."""

    @property
    def source(self) -> str:
        """`NAME@CHECKSUM` of what it was read from: how an episode imported before is recognised."""
        total = hashlib.blake2b(self.rows_text.encode(), digest_size=8)
        for file in self.files:
            total.update(file.name.encode())
            total.update(hashlib.blake2b(file.read_bytes()).digest())
        return f"{self.name}@{total.hexdigest()}"


def find_episodes(folder: Path) -> list[RawEpisode]:
    """The episodes of a folder in natural order: `run2` stands before `run10`."""
    if not folder.is_dir():
        raise DataError(f"{folder} should be a folder with episodes, and there is none. Check the path.")
    packed = _natural(file for file in folder.iterdir() if file.suffix == ".npz")
    folders = _natural(file for file in folder.iterdir() if file.is_dir())
    arrays = [(one, _natural(one.glob("*.npy"))) for one in folders]
    if packed:
        return [RawEpisode(name=file.stem, files=(file,), load=partial(_load_npz, file)) for file in packed]
    if any(files for _, files in arrays):
        return [
            RawEpisode(name=one.name, files=tuple(files), load=partial(_load_npy, files))
            for one, files in arrays
            if files
        ]
    pictures = [(one, _cameras(one)) for one in folders]
    if any(cameras for _, cameras in pictures):
        tables = _shared_tables(folder)
        return [_picture_episode(one, cameras, tables) for one, cameras in pictures if cameras]
    raise DataError(
        f"{folder} holds no episode in a known layout. Known: NAME.npz files; one folder per episode with .npy files; "
        "one folder per episode with .png or .jpg pictures (or one folder per camera in it) and a CSV of actions."
    )


def _natural(files: Iterable[Path]) -> list[Path]:
    def key(file: Path) -> list[tuple[int, str]]:
        return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", file.name)]

    return sorted((file for file in files if not file.name.startswith(".")), key=key)


def _load_npz(file: Path) -> Arrays:
    try:
        with file.open("rb") as opened, np.load(opened, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except (OSError, ValueError, KeyError, EOFError, BadZipFile, zlib.error) as problem:
        raise _unreadable(file, "plain arrays saved with numpy.savez", problem) from problem


def _load_npy(files: list[Path]) -> Arrays:
    arrays: Arrays = {}
    for file in files:
        try:
            arrays[file.stem] = np.load(file, allow_pickle=False)
        except (OSError, ValueError, EOFError) as problem:
            raise _unreadable(file, "one plain array saved with numpy.save", problem) from problem
    return arrays


def _cameras(folder: Path) -> dict[str, list[Path]]:
    """Camera name -> pictures in natural order."""

    def pictures(place: Path) -> list[Path]:
        return _natural(file for file in place.iterdir() if file.suffix.lower() in _PICTURES)

    found = {ONE_CAMERA: pictures(folder)}
    found |= {place.name: pictures(place) for place in _natural(file for file in folder.iterdir() if file.is_dir())}
    return {camera: files for camera, files in found.items() if files}


def _picture_episode(folder: Path, cameras: dict[str, list[Path]], shared: Mapping[str, _Table]) -> RawEpisode:
    own = _natural(folder.glob("*.csv"))
    if len(own) > 1 or (not own and folder.name not in shared):
        raise DataError(
            f"{folder} has pictures and should have one CSV with its actions, found {[file.name for file in own]}. Put "
            "one CSV into each episode's folder, or one beside the folders with a column `episode` naming them."
        )
    table = _read_table(own[0]) if own else shared[folder.name]
    files = (*own, *(file for pictures in cameras.values() for file in pictures))
    where = str(own[0] if own else folder)
    load = partial(_load_pictures, cameras, table, where)
    return RawEpisode(name=folder.name, files=files, load=load, rows_text="" if own else repr(table))


def _load_pictures(cameras: dict[str, list[Path]], table: _Table, where: str) -> Arrays:
    pictures = {camera: _stack(files) for camera, files in cameras.items()}
    clash = pictures.keys() & (numbers := _numbers(table, where)).keys()
    if clash:
        raise DataError(f"{where} has the columns {sorted(clash)}, which are cameras too. Rename them in the CSV.")
    return pictures | numbers


def _stack(files: list[Path]) -> NDArray[np.uint8]:
    """Pictures of one camera, (t, height, width, 3)."""
    from PIL import Image

    frames: list[NDArray[np.uint8]] = []
    for file in files:
        try:
            with Image.open(file) as picture:
                frames.append(np.asarray(picture.convert("RGB")))
        except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as problem:
            raise _unreadable(file, "a picture", problem) from problem
        if frames[-1].shape != frames[0].shape:
            raise DataError(
                f"{file} is {frames[-1].shape[1]} x {frames[-1].shape[0]} pixels, and {files[0].name} before it is "
                f"{frames[0].shape[1]} x {frames[0].shape[0]}. A camera's pictures share one size: convert them."
            )
    return np.stack(frames)


def _read_table(file: Path) -> _Table:
    """Column -> cells of a CSV with a header."""
    try:
        with file.open(newline="", encoding="utf-8-sig") as text:
            rows = [row for row in csv.reader(text) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as problem:
        raise _unreadable(file, "a CSV in UTF-8", problem) from problem
    header = [cell.strip() for cell in rows[0]] if rows else []
    uneven = [number for number, row in enumerate(rows, start=1) if len(row) != len(header)]
    if len(rows) < 2 or uneven or len(set(header)) < len(header) or any(_is_number(cell) for cell in header):
        raise DataError(
            f"{file} should be a CSV whose first line names the columns, each name once, and whose other lines have as "
            f"many cells; found the header {header}, {len(rows)} lines"
            + (f", and line {uneven[0]} with another number of cells." if uneven else ".")
        )
    return {name: [row[i].strip() for row in rows[1:]] for i, name in enumerate(header)}


def _shared_tables(folder: Path) -> dict[str, _Table]:
    """Episode -> its rows of the CSV that lies beside the episodes' folders."""
    tables: dict[str, _Table] = {}
    for file in _natural(folder.glob("*.csv")):
        whole = _read_table(file)
        names = whole.pop("episode", None)
        if names is None:
            raise DataError(f"{file} speaks of all episodes and needs a column `episode` naming their folders.")
        for row, name in enumerate(names):
            one = tables.setdefault(name, {column: [] for column in whole})
            for column, cells in whole.items():
                one.setdefault(column, []).append(cells[row])
    return tables


def _numbers(table: _Table, where: str) -> Arrays:
    """Cells as numbers; `action_0, action_1, ...` become one array `action`; an empty cell is NaN."""
    groups: dict[str, list[tuple[int, str]]] = {}
    for column in table:
        numbered = re.fullmatch(r"(.+?)[_.\[]?(\d+)\]?", column)
        stem, number = (numbered[1], int(numbered[2])) if numbered else (column, 0)
        groups.setdefault(stem, []).append((number, column))
    arrays: Arrays = {}
    for stem, members in groups.items():
        columns = [column for _, column in sorted(members)]
        name = stem if len(columns) > 1 else columns[0]
        try:
            cells = [[float(cell) if cell else np.nan for cell in table[column]] for column in columns]
        except ValueError:
            arrays[name] = np.array([table[column] for column in columns]).T
            continue
        arrays[name] = np.array(cells, np.float64).T
    if not arrays:
        raise DataError(f"{where} names no column of numbers; actions are needed.")
    return arrays


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _unreadable(file: Path, expected: str, problem: Exception) -> DataError:
    return DataError(
        f"{file} should hold {expected} and cannot be read ({problem}). Repair or remove it, then type the same "
        "command again: episodes imported before it are kept."
    )
