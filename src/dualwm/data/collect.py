"""Recording episodes of a behaviour into a data set: the same seed gives the same bytes, in one go or in many.

Episode i of a folder is recorded with seed `seed + i`. Whatever stops the program, the same command continues with the
first episode that is not there yet; a larger number of episodes extends the folder.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dualwm.data.schema import META_NAME, StoreMeta, created_by, read_meta
from dualwm.data.store import Store
from dualwm.data.writer import SHARD_BYTES, Writer
from dualwm.errors import DataError
from dualwm.records import Columns, ColumnSpec, Episode

Record = Callable[[Sequence[int], int], Sequence[Columns]]
"""(seeds, max_env_steps) -> one behaviour episode per seed, the same bytes whatever its batch mates."""

_TOGETHER = 64
_COMMIT_BYTES = 64 << 20


@runtime_checkable
class Recordable(Protocol):
    """What collecting needs to know of a world."""

    @property
    def name(self) -> str:
        """The world's name."""
        ...

    @property
    def columns(self) -> tuple[ColumnSpec, ...]:
        """What an episode stores."""
        ...

    @property
    def behaviour_law(self) -> Mapping[str, Any]:
        """How it behaves, as plain data."""
        ...

    def draw(self, states: NDArray[np.floating[Any]], size: int, camera: str = ...) -> NDArray[np.uint8]:
        """Pictures of states."""
        ...


def collect(
    world: Recordable,
    out: str | Path,
    *,
    record: Record,
    episodes: int,
    seed: int,
    max_env_steps: int,
    collection: str = "",
    stored_size: int | None = None,
    codec: str | None = None,
    command: str = "",
    shard_bytes: int = SHARD_BYTES,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Store:
    """Fill the folder `out` up to `episodes` episodes and open it.

    Drawn columns stay drawn unless `stored_size` asks for their pictures to be stored at that many pixels.
    `progress(done, total)` is called with the episodes that are on the disk. A folder that has them all is only read,
    which any number of processes may do at once.
    """
    if episodes < 1 or max_env_steps < 1:
        raise DataError(
            f"Collecting needs at least one episode of at least one environment step, found episodes={episodes} and "
            f"max_env_steps={max_env_steps}."
        )
    columns = world.columns
    if stored_size is not None:
        (shown,) = record([seed], 1)
        columns = tuple(_with_frames(world, spec, shown, stored_size, codec) for spec in columns)
    law = {"behaviour": dict(world.behaviour_law), "first_seed": seed, "max_env_steps": max_env_steps}
    meta = StoreMeta(columns=columns, world=world.name, collection=collection, law=law, created=created_by(command))
    complete = _complete(Path(out), meta, episodes)
    if complete is not None:
        progress(len(complete), episodes)
        return complete
    with Writer(out, meta, shard_bytes=shard_bytes) as writer:
        progress(len(writer.entries), episodes)
        first = len(writer.entries)
        for group in _groups(_recorded(world, record, columns, range(first, episodes), seed, max_env_steps)):
            writer.append(group)
            progress(len(writer.entries), episodes)
    return Store.open(out)


def _complete(out: Path, meta: StoreMeta, episodes: int) -> Store | None:
    """The data set at `out`, if it is the one that is wanted and nothing is missing."""
    if not (out / META_NAME).exists():
        return None
    found, wanted = (json.dumps(one.identity, sort_keys=True) for one in (read_meta(out), meta))
    if found != wanted:
        return None
    store = Store.open(out)
    return store if len(store) >= episodes else None


def _recorded(
    world: Recordable, record: Record, columns: tuple[ColumnSpec, ...], ids: range, seed: int, max_env_steps: int
) -> Iterator[Episode]:
    """The episodes of these ids, in order."""
    for start in range(ids.start, ids.stop, _TOGETHER):
        together = range(start, min(start + _TOGETHER, ids.stop))
        found = record([seed + i for i in together], max_env_steps)
        assert len(found) == len(together), (len(found), len(together))
        for i, rows in zip(together, found, strict=True):
            stored = {spec.name: _stored_rows(world, spec, rows) for spec in columns if spec.kind != "drawn"}
            yield Episode(id=i, seed=seed + i, source=world.name, columns=stored)


def _with_frames(
    world: Recordable, spec: ColumnSpec, shown: Columns, stored_size: int, codec: str | None
) -> ColumnSpec:
    """The specification of a drawn column whose pictures are to be stored; `drawer` still says who drew them.

    How wide a camera's pictures are is for the world to say: `shown`, a first episode, is drawn to see it.
    """
    if spec.kind != "drawn":
        return spec
    stored = replace(spec, kind="frames", shape=(stored_size, stored_size, 3), codec=codec)
    return replace(stored, shape=_stored_rows(world, stored, shown).shape[1:])


def _stored_rows(world: Recordable, spec: ColumnSpec, rows: Columns) -> NDArray[Any]:
    if spec.name in rows:
        return rows[spec.name]
    assert spec.kind == "frames", f"{world.name} recorded no column {spec.name!r}: {sorted(rows)}"
    states = rows[str(spec.draws_from)]
    return world.draw(states.reshape(len(states), -1), spec.shape[0], str(spec.camera))


def _groups(episodes: Iterator[Episode]) -> Iterator[list[Episode]]:
    """Episodes to commit together: enough to make waiting for the disk cheap, few enough to lose little."""
    group: list[Episode] = []
    size = 0
    for episode in episodes:
        group.append(episode)
        size += sum(rows.nbytes for rows in episode.columns.values())
        if len(group) == _TOGETHER or size >= _COMMIT_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group
