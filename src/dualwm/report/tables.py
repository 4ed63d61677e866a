"""Tables from recorded outcomes: success by offset with intervals, the tasks it was measured on, what planning cost.

Every system of a table was run on the very same tasks. Outcomes of other tasks, or of only some of them, are refused:
a number that was measured on something else does not belong beside the others.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from dualwm.errors import ProtocolError
from dualwm.records import NO_WEIGHTS, Outcome, PlanningTime, is_hard, read_outcomes, read_planning
from dualwm.stats import Rate

System = tuple[str, str]
"""Resolved system and weights digest: the same name with other weights is another row."""
TaskKey = tuple[str, int]
"""TaskSet digest and task."""
Timed = tuple[str, str, str]
"""Resolved system, weights digest, TaskSet digest."""


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """What run folders hold: outcomes, and planning seconds and environment steps by what was timed."""

    outcomes: tuple[Outcome, ...]
    planning: Mapping["Timed", "Planning"]
    folders: tuple[Path, ...] = ()
    timed: tuple[PlanningTime, ...] = ()
    """Planning time measured with nothing beside it, where it was."""
    sources: Mapping[tuple[str, str, str], Path] = field(default_factory=dict[tuple[str, str, str], Path])
    """(system, weights digest, TaskSet digest) -> the run folder that holds those outcomes."""


@dataclass(frozen=True)
class Planning:
    """Seconds spent planning, and the environment steps they were spent for."""

    seconds: float
    env_steps: int

    def __add__(self, other: "Planning") -> "Planning":
        return Planning(self.seconds + other.seconds, self.env_steps + other.env_steps)

    @property
    def ms_per_env_step(self) -> float | None:
        """None where nothing was timed."""
        return 1000 * self.seconds / self.env_steps if self.env_steps else None


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One system at one offset, all seeds together."""

    success: Rate
    hard: Rate
    """On cross-room tasks with a shortest path of 100 px or more alone."""
    not_initially_solved: Rate
    planning_ms_per_env_step: float | None
    """Amortised over the batch: from a run made for it where there is one, else from the runs that gave outcomes."""
    timed: PlanningTime | None = None
    env_steps_to_success: tuple[float, float, float] | None = None
    """5, 50 and 95 % quantiles over the tasks that succeeded."""


@dataclass(frozen=True, kw_only=True)
class Tasks:
    """The tasks behind one column."""

    n: int
    seeds: tuple[int, ...]
    budget_env_steps: int
    initially_solved: Rate
    hard: Rate
    path_px: tuple[float, float, float] | None
    """5, 50 and 95 % quantiles of the shortest path."""
    digests: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Row:
    """One system: its cells by offset; offsets it was not run at are missing."""

    system: str
    weights_digest: str
    cells: Mapping[int, Cell]


@dataclass(frozen=True, kw_only=True)
class Table:
    """One world under one rule and protocol: systems by offset."""

    world: str
    rule: str
    protocol: str
    tasks: Mapping[int, Tasks]
    """By offset, in environment steps."""
    rows: tuple[Row, ...]


def read_runs(folders: Sequence[Path]) -> Recorded:
    """Outcomes, floors and timings of finished run folders."""
    outcomes: list[Outcome] = []
    planning: dict[Timed, Planning] = {}
    timed: list[PlanningTime] = []
    sources: dict[tuple[str, str, str], Path] = {}
    for folder in folders:
        if not (folder / "outcomes.jsonl").exists():
            raise ProtocolError(
                f"{folder}: expected a finished run with a file outcomes.jsonl, found none. Type the command of the "
                "run again to finish it, or name another folder."
            )
        for name in ("outcomes.jsonl", "floors.jsonl"):
            for outcome in read_outcomes(folder / name) if (folder / name).exists() else []:
                # Floors once said that they have no weights by an empty digest.
                outcomes.append(replace(outcome, weights_digest=outcome.weights_digest or NO_WEIGHTS))
                sources.setdefault((outcome.system, outcomes[-1].weights_digest, outcome.taskset_digest), folder)
        if (folder / "planning.json").exists():
            timed += read_planning(folder / "planning.json")
        for file in sorted(folder.glob("timings*.json")):
            for key, spent in _read_timings(file):
                planning[key] = planning.get(key, Planning(0.0, 0)) + spent
    return Recorded(
        outcomes=tuple(outcomes), planning=planning, folders=tuple(folders), timed=tuple(timed), sources=sources
    )


def build_tables(recorded: Recorded, order: Sequence[str] = ()) -> list[Table]:
    """One table per (world, protocol, rule). Systems named in `order` come first, the others by name."""
    kinds = sorted({(o.world, o.protocol, o.rule) for o in recorded.outcomes})
    tables: list[Table] = []
    for world, protocol, rule in kinds:
        outcomes = [o for o in recorded.outcomes if (o.world, o.protocol, o.rule) == (world, protocol, rule)]
        by_offset = {m: _by_system(o for o in outcomes if o.goal_offset_env_steps == m) for m in _offsets(outcomes)}
        for offset, systems in by_offset.items():
            _check_same_tasks(offset, systems)
        names = sorted({name for systems in by_offset.values() for name in systems}, key=lambda n: _rank(n, order))
        rows = tuple(_row(name, by_offset, recorded) for name in names)
        tasks = {offset: _tasks(next(iter(systems.values()))) for offset, systems in by_offset.items()}
        tables.append(Table(world=world, rule=rule, protocol=protocol, tasks=tasks, rows=rows))
    return tables


def ledger_notes(recorded: Recorded, ledger: Path) -> list[str]:
    """A sentence for every system that was evaluated more than once on test tasks of a shown cell, with all results.

    The same cell means the same world, dynamics, rule, protocol, offset and seed, whatever the number of tasks; cells
    on which every result is the same share a sentence. The same system means the same name, or the same weights under
    another name with the same planner settings.
    """
    if not ledger.exists():
        return []
    lines: list[dict[str, Any]] = [json.loads(line) for line in ledger.read_text(encoding="utf-8").splitlines()]
    notes: list[str] = []
    agreeing: dict[tuple[str, int, str], list[_CellKey]] = {}
    for name, cell in sorted({(_signature(vars(o)), _cell_key(vars(o))) for o in recorded.outcomes}):
        same = [line for line in lines if _cell_key(line) == cell and _is_same(name, _signature(line))]
        if len(same) > 1 and len({(line["success"], line["n"]) for line in same}) == 1:
            agreeing.setdefault((name[0], len(same), f"{' '.join(cell[:2])}, protocol {cell[2]}"), []).append(cell)
        elif len(same) > 1:
            told = ", ".join(
                f"{100 * line['success']:.1f} % of {line['n']} (weights {line['weights_digest'][:8]})" for line in same
            )
            notes.append(
                f"`{name[0]}` was evaluated {len(same)} times on test tasks of protocol {cell[2]}, offset {cell[3]}, "
                f"seed {cell[4]}: {told}."
            )
    for (name, times, where), cells in agreeing.items():
        told = "; ".join(f"{m} (seeds {', '.join(map(str, seeds))})" for m, seeds in _seeds_by_offset(cells).items())
        notes.append(
            f"`{name}` was evaluated {times} times on test tasks of {where}, with the same share solved every time, at "
            f"offsets {told}."
        )
    return notes


_CellKey = tuple[str, str, str, int, int, str]


def _seeds_by_offset(cells: Sequence[_CellKey]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for *_, offset, seed, _ in sorted(cells):
        found.setdefault(offset, []).append(seed)
    return found


def _cell_key(line: Mapping[str, Any]) -> _CellKey:
    """World, rule, protocol, offset, seed and dynamics."""
    offset, seed = line["goal_offset_env_steps"], line["seed"]
    return (line["world"], line["rule"], line["protocol"], offset, seed, line["variant"])


def _signature(line: Mapping[str, Any]) -> tuple[str, str, str]:
    return (line["system"], line["weights_digest"], line["settings_digest"])


def _is_same(one: tuple[str, str, str], other: tuple[str, str, str]) -> bool:
    return one[0] == other[0] or (one[2] != "" and one[1:] == other[1:])


def _offsets(outcomes: Iterable[Outcome]) -> list[int]:
    return sorted({outcome.goal_offset_env_steps for outcome in outcomes})


def _by_system(outcomes: Iterable[Outcome]) -> dict[System, dict[TaskKey, Outcome]]:
    """Outcomes of one offset by system and task. One may stand in several folders, two different ones may not."""
    systems: dict[System, dict[TaskKey, Outcome]] = {}
    for outcome in outcomes:
        own = systems.setdefault((outcome.system, outcome.weights_digest), {})
        before = own.setdefault((outcome.taskset_digest, outcome.task), outcome)
        if before != outcome:
            raise ProtocolError(
                f"{outcome.system}: task {outcome.task} of seed {outcome.seed} at offset "
                f"{outcome.goal_offset_env_steps} has two different outcomes. Leave out one of the runs they come from."
            )
    return systems


def _check_same_tasks(offset: int, systems: Mapping[System, Mapping[TaskKey, Outcome]]) -> None:
    """Refuse to put systems side by side that were not run on the same tasks."""
    first, *others = sorted(systems)
    for other in others:
        if systems[first].keys() == systems[other].keys():
            continue
        told = [f"{name[0]} on {_describe(systems[name].values())}" for name in (first, other)]
        raise ProtocolError(
            f"Two results on different tasks never share a table. At offset {offset}: {told[0]}; {told[1]}. Run both "
            "with the same seeds, number of tasks and protocol, or make two tables."
        )


def _describe(outcomes: Iterable[Outcome]) -> str:
    some = list(outcomes)
    sets = sorted({(outcome.seed, outcome.taskset_digest[:8]) for outcome in some})
    return f"{len(some)} tasks of the TaskSets " + ", ".join(f"{digest} (seed {seed})" for seed, digest in sets)


def _rank(system: System, order: Sequence[str]) -> tuple[int, bool, list[str | int], str]:
    """Whoever is named in `order`, then whoever plans, then floors and ceilings; smaller searches first."""
    name, weights = system
    place = order.index(name) if name in order else len(order)
    return place, weights == NO_WEIGHTS, _with_numbers(name), weights


def _with_numbers(name: str) -> list[str | int]:
    """The words of a name and its numbers by turns, so that 96 comes before 256."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def _row(
    name: System,
    by_offset: Mapping[int, Mapping[System, Mapping[TaskKey, Outcome]]],
    recorded: Recorded,
) -> Row:
    cells = {m: _cell(list(systems[name].values()), recorded) for m, systems in by_offset.items() if name in systems}
    return Row(system=name[0], weights_digest=name[1], cells=cells)


def _cell(outcomes: Sequence[Outcome], recorded: Recorded) -> Cell:
    first = outcomes[0]
    sets = sorted({(outcome.system, outcome.weights_digest, outcome.taskset_digest) for outcome in outcomes})
    spent = sum((recorded.planning[key] for key in sets if key in recorded.planning), Planning(0.0, 0))
    own = (first.system, first.weights_digest, first.goal_offset_env_steps)
    timed = next((t for t in recorded.timed if (t.system, t.weights_digest, t.goal_offset_env_steps) == own), None)
    return Cell(
        success=Rate.of(o.success for o in outcomes),
        hard=Rate.of(o.success for o in outcomes if is_hard(o.facts)),
        not_initially_solved=Rate.of(o.success for o in outcomes if not o.initially_solved),
        planning_ms_per_env_step=spent.ms_per_env_step if timed is None else timed.together.mean_ms,
        timed=timed,
        env_steps_to_success=_quantiles([o.steps for o in outcomes if o.success]),
    )


def _tasks(outcomes: Mapping[TaskKey, Outcome]) -> Tasks:
    some = list(outcomes.values())
    return Tasks(
        n=len(some),
        seeds=tuple(sorted({o.seed for o in some})),
        budget_env_steps=some[0].budget_env_steps,
        initially_solved=Rate.of(o.initially_solved for o in some),
        hard=Rate.of(is_hard(o.facts) for o in some if "path_px" in o.facts),
        path_px=_quantiles([o.facts["path_px"] for o in some if "path_px" in o.facts]),
        digests=tuple(sorted({o.taskset_digest for o in some})),
    )


def _quantiles(values: Sequence[float]) -> tuple[float, float, float] | None:
    """The 5, 50 and 95 % quantiles."""
    if not values:
        return None
    low, middle, high = (float(q) for q in np.quantile(np.array(values, dtype=np.float64), [0.05, 0.5, 0.95]))
    return low, middle, high


def _read_timings(file: Path) -> list[tuple[Timed, Planning]]:
    try:
        sessions = json.loads(file.read_text(encoding="utf-8"))["sessions"]
        return [
            (
                (s["system"], s["weights_digest"], s["taskset_digest"]),
                Planning(float(s["planning_seconds"]), int(s["env_steps"])),
            )
            for s in sessions
        ]
    except (ValueError, KeyError, TypeError) as problem:
        raise ProtocolError(
            f"{file}: expected the timings of a run ({problem!r}). Restore the file, or delete it: the table then "
            "shows no planning time."
        ) from problem
