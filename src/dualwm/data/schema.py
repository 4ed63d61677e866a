"""What stands in a data set's folder, schema 1.

    meta.json                       columns, world, collection, behaviour law, who made it
    episodes.jsonl                  one line per episode, written and synced after the episode's data
    shard-00000/<column>.bin        rows of a column, one after the other, little-endian
    shard-00000/<column>.spans.bin  for compressed frames: (start, length) of each row inside <column>.bin

An episode exists if its line does. Episodes are numbered from 0 in the order of their lines; the rows of all episodes
in that order are the *global rows*. An episode never crosses a shard.
"""

import hashlib
import json
import platform
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

import dualwm
from dualwm.data.codecs import CODECS
from dualwm.errors import DataError, did_you_mean
from dualwm.records import ColumnKind, ColumnRole, ColumnSpec

SCHEMA = 1
META_NAME = "meta.json"
INDEX_NAME = "episodes.jsonl"
SPAN_DTYPE = np.dtype("<i8")

_SAFE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]*")


@dataclass(frozen=True, kw_only=True)
class StoreMeta:
    """What `meta.json` says. Two data sets are alike if all but `created` agree."""

    columns: tuple[ColumnSpec, ...]
    world: str = ""
    """Name of the world the episodes come from; empty for data without one."""
    collection: str = ""
    """train, dev or test for collected data (see `dualwm.data.collections`); empty otherwise."""
    law: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """How the episodes came to be, as plain data: behaviour, first seed, cap on environment steps."""
    created: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The command that made the folder and the versions it ran with."""
    schema: int = SCHEMA

    def to_plain(self) -> dict[str, Any]:
        """JSON data; tuples become lists, so that what is read back compares equal."""
        return json.loads(json.dumps(asdict(self)))

    @property
    def identity(self) -> dict[str, Any]:
        """What must agree for episodes to be appended: everything but who made it, in whatever order."""
        plain = {key: value for key, value in self.to_plain().items() if key != "created"}
        return {**plain, "columns": {spec["name"]: spec for spec in plain["columns"]}}


def shard_folder(path: Path, shard: int) -> Path:
    """Where the files of a shard lie."""
    return path / f"shard-{shard:05d}"


def row_file(column: str) -> str:
    """Name of the file with a column's rows."""
    return f"{column}.bin"


def span_file(column: str) -> str:
    """Name of the file that says where each compressed row lies."""
    return f"{column}.spans.bin"


def dtype_of(spec: ColumnSpec) -> np.dtype[Any]:
    """The column's numpy type as it lies on disk."""
    return np.dtype(spec.dtype).newbyteorder("<")


def row_bytes(spec: ColumnSpec) -> int:
    """Bytes of one uncompressed row."""
    return dtype_of(spec).itemsize * int(np.prod(spec.shape, dtype=np.int64))


def stored(columns: tuple[ColumnSpec, ...]) -> list[ColumnSpec]:
    """The columns that have bytes on disk."""
    return [spec for spec in columns if spec.kind != "drawn"]


def checksum(rows: NDArray[Any]) -> str:
    """BLAKE2b of an array's numbers, little-endian, row-major."""
    little = np.ascontiguousarray(rows, dtype=rows.dtype.newbyteorder("<"))
    return hashlib.blake2b(little.reshape(-1).view(np.uint8).data, digest_size=16).hexdigest()


def created_by(command: str) -> dict[str, Any]:
    """The `created` record of a new folder."""
    versions = {"dualwm": dualwm.__version__, "numpy": np.__version__, "python": platform.python_version()}
    return {"command": command, "versions": versions}


def check_columns(columns: tuple[ColumnSpec, ...], where: str) -> None:
    """Refuse columns that cannot be stored or that contradict each other."""
    names = [spec.name for spec in columns]
    for name in names:
        if not _SAFE_NAME.fullmatch(name) or names.count(name) > 1:
            raise DataError(
                f"{where}: the column name {name!r} cannot be used. Names are unique and made of letters, digits, "
                "'_', '.' and '-', because each names a file."
            )
    if not stored(columns):
        raise DataError(f"{where}: no column stores anything; an episode needs at least one array or frames column.")
    for spec in columns:
        problem = _problem(spec, {other.name: other for other in columns})
        if problem:
            raise DataError(f"{where}: column {spec.name!r} {problem}.")


def _problem(spec: ColumnSpec, columns: Mapping[str, ColumnSpec]) -> str:
    """What is wrong with a column, as the end of a sentence; empty if nothing is."""
    try:
        dtype = np.dtype(spec.dtype)
    except TypeError:
        return f"has the type {spec.dtype!r}, which numpy does not know"
    if spec.kind not in get_args(ColumnKind) or spec.role not in get_args(ColumnRole):
        return f"has kind {spec.kind!r} and role {spec.role!r}; known are {ColumnKind} and {ColumnRole}"
    if dtype.kind not in "biuf":
        return f"has the type {spec.dtype!r}; stored are numbers and booleans only"
    if (spec.role == "pixels") != (spec.camera is not None):
        return "must name its camera if its role is pixels, and only then"
    if spec.kind != "array" and (dtype != np.uint8 or len(spec.shape) != 3 or spec.shape[-1] != 3):
        return f"holds pictures and so must be uint8 (height, width, 3), found {spec.dtype} {spec.shape}"
    if spec.kind == "drawn":
        source = columns.get(spec.draws_from or "")
        fine = spec.drawer is not None and source is not None and source.kind == "array"
        return "" if fine else f"is drawn and must name its drawer and an array column, found {spec.draws_from!r}"
    if min(spec.shape, default=1) < 1:
        return f"has the row shape {spec.shape}; every side must be at least 1"
    if spec.codec not in (None, "raw") and (spec.kind != "frames" or spec.codec not in CODECS):
        return f"has the codec {spec.codec!r}; known for frames are 'raw' and {sorted(CODECS)}, for arrays only 'raw'"
    return ""


def read_meta(path: Path) -> StoreMeta:
    """`meta.json` of a folder, or one clear paragraph."""
    file = path / META_NAME
    try:
        plain = json.loads(file.read_bytes())
    except FileNotFoundError:
        raise DataError(
            f"{path} is not a data set: it has no {META_NAME}. Give the folder that `dualwm data collect` or "
            "`dualwm data import` wrote."
        ) from None
    except NotADirectoryError:
        raise DataError(f"{path} should be the folder of a data set, and it is a file. Check the path.") from None
    except (OSError, ValueError) as problem:
        raise DataError(
            f"{file} should hold JSON and cannot be read ({problem}). The file is damaged: copy it again from its "
            "source, or collect the data set again into a new folder."
        ) from problem
    schema = plain.get("schema") if isinstance(plain, dict) else None  # pyright: ignore[reportUnknownVariableType]
    if isinstance(schema, int) and schema > SCHEMA:
        raise DataError(
            f"{file} has schema {schema}, and this version of dualwm reads schema {SCHEMA} at most. The data set was "
            "written by a newer version: upgrade with `pip install -U dualwm`, or collect the data set again."
        )
    return _meta_from_plain(plain, file)


def _meta_from_plain(plain: Any, file: Path) -> StoreMeta:
    try:
        columns: list[ColumnSpec] = []
        for spec in plain["columns"]:
            values: dict[str, Any] = {**spec, "shape": tuple(spec["shape"])}
            columns.append(ColumnSpec(**values))
        fields_of_meta: dict[str, Any] = {**plain, "columns": tuple(columns)}
        meta = StoreMeta(**fields_of_meta)
    except (TypeError, KeyError) as problem:
        raise DataError(
            f"{file} should hold the fields {', '.join(f.name for f in fields(StoreMeta))} of schema {SCHEMA} and does "
            f"not ({problem}). The file is damaged or was edited: copy it again from its source."
        ) from problem
    check_columns(meta.columns, str(file))
    return meta


def find_column(columns: tuple[ColumnSpec, ...], name: str, where: str) -> ColumnSpec:
    """The column of that name; an unknown one is an error that suggests the nearest."""
    for spec in columns:
        if spec.name == name:
            return spec
    raise DataError(f"{where} has no column {name!r}. {did_you_mean(name, [spec.name for spec in columns])}")
