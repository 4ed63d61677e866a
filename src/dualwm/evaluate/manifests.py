"""Task sets that others published, made runnable where their data set is: the authors' definitions, CLEAR-LeWM's.

Neither holds states: both name rows of a data set that is not ours. With the same episodes at hand, in the same order
(`dualwm data import`), a row becomes a start and the row `goal_offset_env_steps` later its goal.

Dual-WM release  {task, task_seed, offset_env_steps, dataset_rows, environment_seeds} and sometimes budget_env_steps,
                 source_episode_indices. Rows count over all episodes laid end to end.
CLEAR-LeWM       {schema_version: clear-lewm-manifest-..., task, seed, protocol: {name, goal_offset, eval_budget},
                 pairs: [{episode_id, start_row, start_step, goal_row, initial_success}]}, rows likewise.

What a manifest says of a row (its episode, its step) is checked against the data: other data are refused, not used.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualwm.errors import ProtocolError
from dualwm.evaluate.needs import Episodes, World
from dualwm.evaluate.pool import cut
from dualwm.evaluate.sampling import rows_to_starts
from dualwm.evaluate.tasks import budget_env_steps
from dualwm.records import TaskSet

COLLECTION = "imported"
"""Of such TaskSets: tasks that belong neither to our dev nor to our test collection."""
_WORLDS = {"sokobanlong": "sokoban"}
"""What others call a world, where it is not what we call it."""
_CLEAR = "clear-lewm-manifest"


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What a published task set says, in one form."""

    protocol: str
    """Of the TaskSet made from it, so that its results never share a table with others."""
    world: str
    seed: int
    goal_offset_env_steps: int
    budget_env_steps: int
    rows: tuple[int, ...]
    """Start rows, over all episodes laid end to end."""
    env_seeds: tuple[int, ...] | None
    """None: the seeds of the episodes."""
    episodes: tuple[int, ...] | None
    """The episode each row should lie in, where it is said."""
    initially_solved: tuple[bool, ...] | None
    """As the publisher counted it under a rule of theirs, where it is said."""


def read_manifest(path: Path) -> Manifest:
    """Read either form; whatever is neither is refused."""
    try:
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if str(data.get("schema_version", "")).startswith(_CLEAR):
            return _clear(data)
        return _release(data)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as problem:
        raise ProtocolError(
            f"{path} should be a task definition of the Dual-WM release (dataset_rows, environment_seeds) or a "
            f"manifest of CLEAR-LeWM (schema_version, pairs), and could not be read as either ({problem!r}). A TaskSet "
            "of our own needs no import: pass it to `dualwm eval --tasks`."
        ) from problem


def _release(data: Mapping[str, Any]) -> Manifest:
    offset, rows = int(data["offset_env_steps"]), _whole(data["dataset_rows"])
    source = data.get("source_episode_indices")
    return Manifest(
        protocol="dual-wm-release",
        world=_world(data),
        seed=int(data["task_seed"]),
        goal_offset_env_steps=offset,
        budget_env_steps=int(data.get("budget_env_steps", budget_env_steps(offset))),
        rows=rows,
        env_seeds=_whole(data["environment_seeds"], len(rows)),
        episodes=None if source is None else _whole(source, len(rows)),
        initially_solved=None,
    )


def _clear(data: Mapping[str, Any]) -> Manifest:
    pairs, protocol = data["pairs"], data["protocol"]
    offsets = {pair["goal_row"] - pair["start_row"] for pair in pairs}
    if offsets != {int(protocol["goal_offset"])}:
        raise ValueError(f"goal rows {sorted(offsets)} after start rows, and goal_offset {protocol['goal_offset']}")
    return Manifest(
        protocol=f"clear-{protocol['name']}-{data.get('benchmark_version', data['schema_version'])}",
        world=_world(data),
        seed=int(data["seed"]),
        goal_offset_env_steps=int(protocol["goal_offset"]),
        budget_env_steps=int(protocol["eval_budget"]),
        rows=_whole([pair["start_row"] for pair in pairs]),
        env_seeds=None,
        episodes=_whole([pair["episode_id"] for pair in pairs]),
        initially_solved=tuple(bool(pair["initial_success"]) for pair in pairs),
    )


def tasks_of(manifest: Manifest, source: Episodes, world: World, rule: str | None = None) -> TaskSet:
    """The tasks as a TaskSet, their states read from the data set that the manifest is about."""
    rows, offset = np.array(manifest.rows, dtype=np.int64), manifest.goal_offset_env_steps
    if len(rows) == 0 or rows.min() < 0 or rows.max() >= int(source.rows.sum()):
        raise ProtocolError(
            f"The manifest names {len(rows)} rows up to {rows.max(initial=-1):,}, and this data set has "
            f"{int(source.rows.sum()):,}. {_OTHER_DATA}"
        )
    episode, start_row = rows_to_starts(source.rows, rows)
    _check_rows(manifest, source, rows, episode, start_row)
    pairs = cut(source, world, offset, episode, start_row)
    width = int(getattr(world, "state_width", pairs.starts.shape[1]))
    if pairs.starts.shape[1] != width:
        raise ProtocolError(
            f"A state of {world.name} has {width} numbers, and the columns of role `state` in this data set give "
            f"{pairs.starts.shape[1]}. Import the data set again and give that role to the world's own state "
            "(--roles NAME=state)."
        )
    chosen = world.rules[0] if rule is None else rule
    tasks = [pairs.task(row, row, chosen) for row in range(len(rows))]
    if manifest.env_seeds is not None:
        tasks = [replace(task, env_seed=seed) for task, seed in zip(tasks, manifest.env_seeds, strict=True)]
    return TaskSet(
        world=world.name,
        rule=chosen,
        collection=COLLECTION,
        protocol=manifest.protocol,
        goal_offset_env_steps=offset,
        budget_env_steps=manifest.budget_env_steps,
        seed=manifest.seed,
        tasks=tuple(tasks),
    )


_OTHER_DATA = "These are other data than it was made from: import the publisher's data set, all episodes in its order."


def _check_rows(
    manifest: Manifest, source: Episodes, rows: NDArray[np.int64], episode: NDArray[np.int64], start: NDArray[np.int64]
) -> None:
    """Whether every goal lies in its start's episode, and every row in the episode that the manifest says."""
    short = np.flatnonzero(start + manifest.goal_offset_env_steps >= source.rows[episode])
    if len(short):
        row = int(rows[short[0]])
        raise ProtocolError(
            f"{len(short)} of {len(rows)} tasks would leave their episode: {manifest.goal_offset_env_steps} steps "
            f"after row {row:,} another one has begun. {_OTHER_DATA}"
        )
    said = episode if manifest.episodes is None else np.array(manifest.episodes)
    wrong = np.flatnonzero(said != episode)
    if len(wrong):
        first = wrong[0]
        raise ProtocolError(
            f"{len(wrong)} of {len(rows)} rows lie in other episodes than the manifest says: row {int(rows[first]):,} "
            f"in episode {int(episode[first])} and not {int(said[first])}. {_OTHER_DATA}"
        )


def _world(data: Mapping[str, Any]) -> str:
    task = str(data["task"])
    return _WORLDS.get(task, task)


def _whole(values: Sequence[Any], count: int | None = None) -> tuple[int, ...]:
    """Whole numbers, as many as there should be."""
    found = tuple(int(value) for value in values)
    if count is not None and len(found) != count:
        raise ValueError(f"{len(found)} values where {count} rows have one each")
    return found
