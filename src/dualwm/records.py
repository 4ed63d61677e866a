"""Frozen records that cross rooms. numpy only: a results folder can be read without torch or a simulator.

Clocks: an *environment step* is one action of the simulator; a *low step* is `frame_skip` environment steps; a *high
step* is `window` low steps. A number never travels without its clock in its name.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dualwm.errors import ProtocolError

Columns = Mapping[str, NDArray[Any]]

ColumnKind = Literal["array", "frames", "drawn"]
ColumnRole = Literal["pixels", "action", "proprio", "state", "aux"]


@dataclass(frozen=True, kw_only=True)
class ColumnSpec:
    """What one column of an episode holds, how it is stored, and what it may be used for.

    kind:       array (numbers), frames (stored pictures), drawn (nothing stored: drawn from a state column when read).
    shape:      one row's shape; -1 where it is chosen later, such as the side of a drawn picture.
    role:       models see pixels, actions and declared proprio only; state and aux are for simulators and reports.
    drawer:     name of the world that draws a drawn column.
    draws_from: name of the state column it is drawn from.
    """

    name: str
    kind: ColumnKind
    dtype: str
    shape: tuple[int, ...]
    role: ColumnRole
    camera: str | None = None
    codec: str | None = None
    drawer: str | None = None
    draws_from: str | None = None


@dataclass(frozen=True, kw_only=True)
class Episode:
    """One recorded trajectory. Row t holds the observation at t and the action taken FROM it.

    The last row's action was never taken: it is NaN. `columns` share their first axis, the rows.
    """

    id: int
    seed: int
    source: str
    columns: Columns

    @property
    def rows(self) -> int:
        """Number of observations."""
        return len(next(iter(self.columns.values())))


@dataclass(frozen=True, kw_only=True)
class Observation:
    """What a controller sees of a batch of b tasks at one decision.

    frames:   camera name -> uint8 (b, height, width, 3)
    proprio:  column name -> float32 (b, q); empty where the system declares none
    executed: float32 (b, c, action_dim), environment actions executed since the previous call; None at the first call
    """

    frames: Mapping[str, NDArray[np.uint8]]
    proprio: Mapping[str, NDArray[np.float32]] = field(default_factory=dict[str, NDArray[np.float32]])
    executed: NDArray[np.float32] | None = None

    @property
    def tasks(self) -> int:
        """Number of tasks in the batch."""
        return len(next(iter(self.frames.values())))


@dataclass(frozen=True, kw_only=True)
class Goal:
    """What a batch of b tasks should reach: goal images by camera, or latents, or raw states. One of the three.

    States are drawn by the system's world, which also gives their proprio: `state` needs a system that has one.
    """

    frames: Mapping[str, NDArray[np.uint8]] | None = None
    latent: NDArray[np.float32] | None = None
    state: NDArray[np.float64] | None = None
    proprio: Mapping[str, NDArray[np.float32]] = field(default_factory=dict[str, NDArray[np.float32]])


@dataclass(frozen=True, kw_only=True)
class Task:
    """One goal-reaching task: start and goal states of the simulator, and where they came from."""

    index: int
    """Position in its TaskSet; with the evaluation seed it keys all randomness of this task."""
    env_seed: int
    start: tuple[float, ...]
    goal: tuple[float, ...]
    episode: int
    start_row: int
    initially_solved: bool
    facts: Mapping[str, float] = field(default_factory=dict[str, float])
    """World-specific facts for reports, such as `path_px` (shortest path) and `cross_room` (0 or 1)."""


def _task_from_plain(data: Mapping[str, Any]) -> Task:
    plain: dict[str, Any] = {**data, "start": tuple(data["start"]), "goal": tuple(data["goal"])}
    return Task(**plain)


@dataclass(frozen=True, kw_only=True)
class TaskSet:
    """A frozen set of matched tasks. Two outcomes with different digests never share a table."""

    world: str
    rule: str
    """Named success rule of the world."""
    collection: str
    """dev (seeds of 1000 and above) or test."""
    protocol: str
    """heldout or paper."""
    goal_offset_env_steps: int
    budget_env_steps: int
    seed: int
    tasks: tuple[Task, ...]

    def to_plain(self) -> dict[str, Any]:
        """JSON data."""
        return asdict(self)

    @staticmethod
    def from_plain(data: Mapping[str, Any]) -> "TaskSet":
        """The inverse of `to_plain`."""
        plain: dict[str, Any] = {**data, "tasks": tuple(_task_from_plain(row) for row in data["tasks"])}
        return TaskSet(**plain)

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON: the same tasks give the same digest whatever method runs them."""
        text = json.dumps(self.to_plain(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def first(self, count: int) -> "TaskSet":
        """The first `count` tasks, as a TaskSet of its own digest."""
        return replace(self, tasks=self.tasks[:count])


NO_WEIGHTS = "none"
"""The weights digest of systems that have no weights: floors and oracles."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What happened on one task. No clocks, no dates, no host names: identical runs give identical lines."""

    system: str
    """The resolved system, such as `tworoom:search=64/8/8`."""
    weights_digest: str
    settings_digest: str
    """Of the resolved planner settings, spelled out in the run folder's `command.json`; empty if there are none."""
    variant: str
    """Dynamics variant of the world."""
    taskset_digest: str
    world: str
    rule: str
    protocol: str
    goal_offset_env_steps: int
    budget_env_steps: int
    seed: int
    task: int
    success: bool
    initially_solved: bool
    steps: int
    """Environment steps executed: to the success, or the whole budget."""
    distance: float
    """Smallest distance to the goal over the episode, in the success rule's own unit."""
    decisions: int
    facts: Mapping[str, float] = field(default_factory=dict[str, float])

    def to_json(self) -> str:
        """One canonical line, without its end."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))

    @staticmethod
    def from_json(line: str) -> "Outcome":
        """The inverse of `to_json`."""
        return Outcome(**json.loads(line))


def read_outcomes(file: Path) -> list[Outcome]:
    """The outcomes in a file of JSON lines. A last line without its end is what a killed writer left: ignored."""
    outcomes: list[Outcome] = []
    for number, line in enumerate(file.read_bytes().split(b"\n")[:-1], start=1):
        try:
            outcomes.append(Outcome.from_json(line.decode()))
        except (ValueError, TypeError) as problem:
            raise ProtocolError(
                f"{file}, line {number}: expected the outcome of one task as JSON ({problem!r}). Restore the file, or "
                "delete the line and type the command of the run again: the task it held is then run again."
            ) from problem
    return outcomes


@dataclass(frozen=True, kw_only=True)
class Pace:
    """Milliseconds of planning per environment step: over everything, and quantiles over decisions."""

    mean_ms: float | None
    p50_ms: float | None
    p95_ms: float | None


@dataclass(frozen=True, kw_only=True)
class PlanningTime:
    """What planning cost one system at one offset, measured with nothing beside it."""

    system: str
    weights_digest: str
    goal_offset_env_steps: int
    together: Pace
    """All tasks in one batch: the paper's measure, amortised."""
    alone: Pace
    """One task at a time: what somebody with one robot waits for."""
    tasks: int
    tasks_alone: int
    threads: int
    precision: str


def read_planning(file: Path) -> list[PlanningTime]:
    """The measurements in a `planning.json`."""
    try:
        rows: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
        for row in rows:
            row |= {name: Pace(**row[name]) for name in ("together", "alone")}
        return [PlanningTime(**row) for row in rows]
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise ProtocolError(
            f"{file}: expected measured planning times ({problem!r}). Restore the file, or delete it: `dualwm compare` "
            "measures again."
        ) from problem


def is_hard(facts: Mapping[str, float]) -> bool:
    """Whether a task leads into another room over a shortest path of 100 px or more; False where not known."""
    return facts.get("cross_room", 0.0) == 1.0 and facts.get("path_px", 0.0) >= 100.0
