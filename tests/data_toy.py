"""Episodes that can be checked by hand: a frame says which row of which episode it is, actions are differences.

The camera `front` is 4 x 4; `side` is not square (3 x 5). Position after row t is `position(episode, t)`.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from dualwm.data.schema import StoreMeta
from dualwm.data.store import Store
from dualwm.data.writer import Writer
from dualwm.records import Columns, ColumnSpec, Episode

FRONT = ColumnSpec(name="front", kind="frames", dtype="uint8", shape=(4, 4, 3), role="pixels", camera="front")
SIDE = ColumnSpec(name="side", kind="frames", dtype="uint8", shape=(3, 5, 3), role="pixels", camera="side")
ACTION = ColumnSpec(name="action", kind="array", dtype="float32", shape=(2,), role="action")
JOINTS = ColumnSpec(name="joints", kind="array", dtype="float64", shape=(3,), role="proprio")
POSITION = ColumnSpec(name="position", kind="array", dtype="float64", shape=(2,), role="state")
CLOCK = ColumnSpec(name="clock", kind="array", dtype="int32", shape=(), role="state")
DRAWN = replace(FRONT, kind="drawn", shape=(-1, -1, 3), drawer="integrator", draws_from="position")
COLUMNS = (FRONT, SIDE, ACTION, JOINTS, POSITION, CLOCK)


def position(episode: int, row):
    """Where the integrator is: any function will do, as long as it never repeats a step."""
    row = np.asarray(row)
    return np.stack([row * (row + 1) / 2 + episode, 100.0 * episode - row**2], axis=-1)


def frame_says(frames) -> np.ndarray:
    """(episode, row) of frames made by `frames_of`."""
    frames = np.asarray(frames).astype(np.int64)
    return frames[..., 0, 0, :2] + 256 * frames[..., 0, 1, :2]


def frames_of(episode: int, rows: int, spec: ColumnSpec) -> np.ndarray:
    frames = np.full((rows, *spec.shape), 7, np.uint8)
    said = np.stack([np.full(rows, episode), np.arange(rows)], axis=1)
    frames[:, 0, 0, :2], frames[:, 0, 1, :2] = said % 256, said // 256
    return frames


def episode(number: int, rows: int, columns: Sequence[ColumnSpec] = COLUMNS) -> Episode:
    """Episode `number`: the same whenever it is made."""
    where = position(number, np.arange(rows))
    made: Columns = {
        "front": frames_of(number, rows, FRONT),
        "side": frames_of(number, rows, SIDE),
        "action": np.concatenate([np.diff(where, axis=0), np.full((1, 2), np.nan)]).astype(np.float32),
        "joints": np.stack([where[:, 0], where[:, 1], np.arange(rows)], axis=1),
        "position": where,
        "clock": np.arange(rows, dtype=np.int32),
    }
    names = [spec.name for spec in columns if spec.kind != "drawn"]
    return Episode(id=number, seed=1000 + number, source="toy", columns={name: made[name] for name in names})


def meta(columns: Sequence[ColumnSpec] = COLUMNS) -> StoreMeta:
    return StoreMeta(columns=tuple(columns), world="integrator")


def write(
    path: Path, lengths: Sequence[int], columns: Sequence[ColumnSpec] = COLUMNS, shard_bytes: int = 1_000
) -> Store:
    """A data set of episodes of these lengths, in small shards."""
    with Writer(path, meta(columns), shard_bytes=shard_bytes) as writer:
        writer.append([episode(number, rows, columns) for number, rows in enumerate(lengths)])
    return Store.open(path)


def files(folder: Path) -> dict[str, bytes]:
    """Every file of a data set but the lock."""
    found = sorted(file for file in folder.rglob("*") if file.is_file() and file.name != ".lock")
    return {str(file.relative_to(folder)): file.read_bytes() for file in found}


def assert_same_episode(found: Episode, expected: Episode) -> None:
    assert (found.id, found.seed, found.source) == (expected.id, expected.seed, expected.source)
    assert found.columns.keys() == expected.columns.keys()
    for name, rows in expected.columns.items():
        np.testing.assert_array_equal(found.columns[name], rows)
        assert found.columns[name].dtype == rows.dtype


class IntegratorWorld:
    """A world whose behaviour is the toy episodes, longer for larger seeds."""

    name = "integrator"
    columns = (DRAWN, ACTION, POSITION)

    @property
    def behaviour_law(self) -> dict:
        return {"name": "toy", "steps": (1, 2)}

    def record(self, seeds: Sequence[int], max_env_steps: int) -> list[Columns]:
        lengths = [min(max_env_steps, 3 + seed % 5) + 1 for seed in seeds]
        return [episode(seed, rows, self.columns).columns for seed, rows in zip(seeds, lengths, strict=True)]

    def draw(self, states: np.ndarray, size: int, camera: str = "front") -> np.ndarray:
        assert camera == "front", camera
        return draw(states, size)


def draw(states: np.ndarray, size: int) -> np.ndarray:
    """A picture whose first two pixels hold the state's two numbers, modulo 256."""
    frames = np.zeros((len(states), size, size, 3), np.uint8)
    frames[:, 0, 0, 0], frames[:, 0, 1, 0] = (states % 256).astype(np.uint8).T
    return frames
