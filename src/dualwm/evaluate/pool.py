"""Start and goal states cut from recorded episodes, small enough to ship, so that tasks exist without their data set.

The law of a pool. A pair of offset m is (row t, row t + m) of one episode. Of every episode that is long enough, the
same number of distinct start rows is drawn uniformly (all of them where it has fewer), the smallest number that gives
the pairs asked for. The draw is keyed by collection, offset and episode, so a pool is a function of its episodes.
Beside these pairs the pool carries what the protocol `paper` draws for a few seeds (see `sampling.paper_rows`).
"""

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualwm.errors import DataError, ProtocolError
from dualwm.evaluate.needs import Episodes, World
from dualwm.evaluate.sampling import PAPER_SAMPLE, heldout_starts, paper_rows, rows_to_starts
from dualwm.files import write_whole
from dualwm.records import Task

COLLECTIONS = ("dev", "test")
OFFSETS = (25, 50, 75, 100)
PAPER_SEEDS = (0, 1, 42)
_FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """n start and goal states of one offset with all that a Task records of them. Columns share their first axis."""

    starts: NDArray[np.float64]
    goals: NDArray[np.float64]
    episode: NDArray[np.int64]
    start_row: NDArray[np.int64]
    env_seed: NDArray[np.int64]
    solved: Mapping[str, NDArray[np.bool_]]
    """By success rule: whether the start already satisfies it."""
    facts: Mapping[str, NDArray[np.float64]]

    def __len__(self) -> int:
        return len(self.episode)

    def task(self, row: int, index: int, rule: str) -> Task:
        """One pair as the task at position `index` of a TaskSet."""
        return Task(
            index=index,
            env_seed=int(self.env_seed[row]),
            start=tuple(self.starts[row].tolist()),
            goal=tuple(self.goals[row].tolist()),
            episode=int(self.episode[row]),
            start_row=int(self.start_row[row]),
            initially_solved=bool(self.solved[rule][row]),
            facts={name: float(values[row]) for name, values in self.facts.items()},
        )

    def columns(self) -> dict[str, NDArray[Any]]:
        """Every array by a flat name, as files hold them."""
        plain = {name: getattr(self, name) for name in ("starts", "goals", "episode", "start_row", "env_seed")}
        solved = {f"solved.{rule}": values for rule, values in self.solved.items()}
        return plain | solved | {f"facts.{name}": values for name, values in self.facts.items()}

    @staticmethod
    def from_columns(columns: Mapping[str, NDArray[Any]]) -> "Pairs":
        """The inverse of `columns`."""

        def group(prefix: str) -> dict[str, NDArray[Any]]:
            return {name.removeprefix(prefix): columns[name] for name in sorted(columns) if name.startswith(prefix)}

        plain = {name: values for name, values in columns.items() if "." not in name}
        return Pairs(**plain, solved=group("solved."), facts=group("facts."))


@dataclass(frozen=True, kw_only=True)
class PairPool:
    """The pairs of one collection: by offset, and what the protocol `paper` draws, by (seed, offset)."""

    world: str
    collection: str
    rules: tuple[str, ...]
    episodes: int
    """Episodes in the collection the pool was cut from."""
    pairs: Mapping[int, Pairs]
    paper: Mapping[tuple[int, int], Pairs]

    @property
    def digest(self) -> str:
        """SHA-256 over names, types, shapes and bytes of everything in the pool."""
        total = hashlib.sha256(_meta(self).encode())
        for name, values in sorted(_arrays(self).items()):
            total.update(f"{name} {values.dtype.str} {values.shape}".encode())
            total.update(np.ascontiguousarray(values).tobytes())
        return total.hexdigest()

    def save(self, path: Path) -> None:
        """Write the pool as one compressed npz without pickles; an older file is replaced whole or not at all."""
        arrays: dict[str, Any] = {"meta": np.array(_meta(self)), **_arrays(self)}
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **arrays)
        write_whole(path, buffer.getvalue())

    @staticmethod
    def load(path: Path) -> "PairPool":
        """Read a pool; nothing in the file is executed."""
        try:
            with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            meta = json.loads(str(arrays.pop("meta")))
            if meta["format"] > _FORMAT:
                raise DataError(
                    f"{path} is a task pool of format {meta['format']}; this dualwm reads up to format {_FORMAT}. "
                    "Install a newer dualwm."
                )
            return _from_arrays(meta, arrays)
        except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as problem:
            raise DataError(
                f"{path}: expected a pool of start and goal states as `PairPool.save` writes it, and could not read it "
                f"({problem}). Restore the file, or build it again from its collection."
            ) from problem


def build_pool(
    collection: str,
    source: Episodes,
    world: World,
    *,
    offsets: Sequence[int] = OFFSETS,
    min_pairs: int = 2000,
    min_episodes: int = 1000,
    paper_seeds: Sequence[int] = PAPER_SEEDS,
    paper_sample: int = PAPER_SAMPLE,
) -> PairPool:
    """Cut a pool from the recorded episodes of a collection (dev or test) by the law at the head of this file."""
    lengths = source.rows
    if collection not in COLLECTIONS or len(lengths) < min_episodes:
        raise ProtocolError(
            f"A pool is cut from at least {min_episodes} episodes of the collection dev or test; these are "
            f"{len(lengths)} episodes of {collection!r}. Collect enough of them with "
            "`dualwm data collect`, and never evaluate on training episodes."
        )
    pairs = {m: cut(source, world, m, *heldout_starts(collection, lengths, m, min_pairs)) for m in offsets}
    paper = {
        (seed, m): cut(source, world, m, *rows_to_starts(lengths, paper_rows(lengths, m, seed, paper_sample)))
        for seed in paper_seeds
        for m in offsets
    }
    return PairPool(
        world=world.name, collection=collection, rules=world.rules, episodes=len(lengths), pairs=pairs, paper=paper
    )


def cut(source: Episodes, world: World, offset: int, episode: NDArray[np.int64], start_row: NDArray[np.int64]) -> Pairs:
    """The pairs (row, row + offset) of the named episodes, with what a world has to say about them."""
    rows = source.first_rows[episode] + start_row
    starts, goals = _states(source, rows), _states(source, rows + offset)
    facts = [world.facts(start, goal) for start, goal in zip(starts, goals, strict=True)]
    return Pairs(
        starts=starts,
        goals=goals,
        episode=episode,
        start_row=start_row,
        env_seed=source.seeds[episode],
        solved={rule: world.success(starts, goals, rule)[0] for rule in world.rules},
        facts={name: np.array([f[name] for f in facts], dtype=np.float64) for name in sorted(facts[0])},
    )


def _states(source: Episodes, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    columns = [source.read_rows(spec.name, rows).reshape(len(rows), -1) for spec in source.columns_of("state")]
    return np.concatenate(columns, axis=1).astype(np.float64)


def _meta(pool: PairPool) -> str:
    data = {
        "format": _FORMAT,
        "world": pool.world,
        "collection": pool.collection,
        "rules": list(pool.rules),
        "episodes": pool.episodes,
    }
    return json.dumps(data, sort_keys=True)


def _arrays(pool: PairPool) -> dict[str, NDArray[Any]]:
    groups = {f"heldout/{offset}": pairs for offset, pairs in pool.pairs.items()}
    groups |= {f"paper/{seed}/{offset}": pairs for (seed, offset), pairs in pool.paper.items()}
    return {f"{group}/{name}": values for group, pairs in groups.items() for name, values in pairs.columns().items()}


def _from_arrays(meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> PairPool:
    groups: dict[str, dict[str, NDArray[Any]]] = {}
    for name, values in arrays.items():
        group, column = name.rsplit("/", 1)
        groups.setdefault(group, {})[column] = values
    keyed = {tuple(group.split("/")): Pairs.from_columns(columns) for group, columns in groups.items()}
    return PairPool(
        world=meta["world"],
        collection=meta["collection"],
        rules=tuple(meta["rules"]),
        episodes=meta["episodes"],
        pairs={int(key[1]): pairs for key, pairs in keyed.items() if key[0] == "heldout"},
        paper={(int(key[1]), int(key[2])): pairs for key, pairs in keyed.items() if key[0] == "paper"},
    )
