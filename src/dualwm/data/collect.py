"""Recording episodes of a behaviour into a data set: the same seed gives the same bytes, in one go or in many.

Episode i of a folder is recorded with seed `seed + i`. Whatever stops the program, the same command continues with the
first episode that is not there yet; a larger number of episodes extends the folder.
"""

import json
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from dualwm.data.crew import Crew
from dualwm.data.recording import Plan, Record, Recordable, with_frames
from dualwm.data.schema import META_NAME, StoreMeta, created_by, read_meta, row_bytes, stored
from dualwm.data.store import Store
from dualwm.data.writer import SHARD_BYTES, Writer
from dualwm.errors import DataError
from dualwm.records import Columns, Episode

_TOGETHER = 64
"""Episodes recorded, and committed, at a time, if they are small."""
_COMMIT_BYTES = 64 << 20


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
    crew: Crew | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Store:
    """Fill the folder `out` up to `episodes` episodes and open it.

    Drawn columns stay drawn unless `stored_size` asks for their pictures to be stored at that many pixels. A `crew`
    records in several processes; the bytes are the same.
    `progress(done, total)` is called with the episodes that are on the disk. A folder that has them all is
    only read, which any number of processes may do at once.
    """
    if episodes < 1 or max_env_steps < 1:
        raise DataError(
            f"Collecting needs at least one episode of at least one environment step, found episodes={episodes} and "
            f"max_env_steps={max_env_steps}."
        )
    columns = world.columns
    if stored_size is not None:
        (shown,) = record([seed], 1)
        columns = tuple(with_frames(world, spec, shown, stored_size, codec) for spec in columns)
    law = {"behaviour": dict(world.behaviour_law), "first_seed": seed, "max_env_steps": max_env_steps}
    meta = StoreMeta(columns=columns, world=world.name, collection=collection, law=law, created=created_by(command))
    complete = _complete(Path(out), meta, episodes)
    if complete is not None:
        progress(min(len(complete), episodes), episodes)
        return complete
    plan = Plan(columns=columns, max_env_steps=max_env_steps)
    with Writer(out, meta, shard_bytes=shard_bytes) as writer:
        progress(min(len(writer.entries), episodes), episodes)
        left = range(seed + len(writer.entries), seed + episodes)
        with closing(_recorded(world, record, crew, plan, left)) as batches:
            for seeds, found in batches:
                made = zip(seeds, found, strict=True)
                writer.append([Episode(id=s - seed, seed=s, source=world.name, columns=rows) for s, rows in made])
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


def _together(plan: Plan) -> int:
    """Episodes to record, and to commit, at a time: enough to make waiting cheap, few enough to lose little."""
    largest = sum(map(row_bytes, stored(plan.columns))) * (plan.max_env_steps + 1)
    return int(np.clip(_COMMIT_BYTES // largest, 1, _TOGETHER))


def _recorded(
    world: Recordable, record: Record, crew: Crew | None, plan: Plan, seeds: range
) -> Generator[tuple[Sequence[int], list[Columns]]]:
    """Batches of seeds and the stored columns of their episodes, in order."""
    together = _together(plan)
    batches = [seeds[at : at + together] for at in range(0, len(seeds), together)]
    if crew is None or crew.workers == 1 or len(batches) < 2:
        yield from ((batch, plan.record(world, record, batch)) for batch in batches)
    else:
        with closing(crew.record(plan, batches)) as made:
            yield from zip(batches, made, strict=True)
