"""Two systems on the same tasks, one system over several worlds: what differs, and whether it is more than chance."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dualwm.bootstrap import Estimate, estimate
from dualwm.errors import ProtocolError
from dualwm.records import NO_WEIGHTS, Outcome
from dualwm.report.tables import Recorded, Row, System, Table, build_tables
from dualwm.stats import Paired, paired


@dataclass(frozen=True, kw_only=True)
class Duel:
    """Two systems at one offset of one table, `first` minus `second`."""

    goal_offset_env_steps: int
    first: System
    second: System
    tasks: Paired
    """Of these very seeds: tasks alone are left to chance."""
    seeds: Estimate
    """Seeds drawn anew, and tasks within them."""

    def sentence(self) -> str:
        """The comparison in words."""
        low, high = (100 * end for end in self.seeds.ci95)
        return (
            f"offset {self.goal_offset_env_steps}, {self.first[0]} against {self.second[0]}: {self.tasks.sentence()} "
            f"(other seeds included: {low:.1f} to {high:.1f}; McNemar p = {_p(self.tasks.p_value)})"
        )


@dataclass(frozen=True, kw_only=True)
class Compared:
    """A table, and its first system against every other."""

    table: Table
    duels: tuple[Duel, ...]


@dataclass(frozen=True, kw_only=True)
class AllCompared:
    """Every table of some runs."""

    parts: tuple[Compared, ...]

    def to_plain(self) -> list[dict[str, Any]]:
        """JSON data."""
        return [_plain(part) for part in self.parts]


def compared(recorded: Recorded, order: Sequence[str] = ()) -> AllCompared:
    """Tables, with the first system of `order` (or of the table) against all others at every shared offset."""
    parts: list[Compared] = []
    for table in build_tables(recorded, order):
        first = table.rows[0]
        duels = [
            duel(recorded, table, offset, key(first), key(other))
            for other in table.rows[1:]
            for offset in table.tasks
            if offset in first.cells and offset in other.cells
        ]
        parts.append(Compared(table=table, duels=tuple(duels)))
    return AllCompared(parts=tuple(parts))


def key(row: Row) -> System:
    """What a row is known by."""
    return row.system, row.weights_digest


def duel(recorded: Recorded, table: Table, offset: int, first: System, second: System) -> Duel:
    """Two rows of a table, task by task."""
    one, two = (by_task(recorded, table, offset, system) for system in (first, second))
    assert one.keys() == two.keys(), "a table has one set of tasks"
    return Duel(
        goal_offset_env_steps=offset,
        first=first,
        second=second,
        tasks=paired([one[task].success for task in one], [two[task].success for task in one]),
        seeds=estimate([differences(one, two)]),
    )


def by_task(recorded: Recorded, table: Table, offset: int, system: System) -> dict[tuple[int, int], Outcome]:
    """The outcomes behind one cell by (seed, task), in that order."""
    kind = (table.world, table.protocol, table.rule, offset)
    chosen = {
        (o.seed, o.task): o
        for o in recorded.outcomes
        if (o.world, o.protocol, o.rule, o.goal_offset_env_steps) == kind and (o.system, o.weights_digest) == system
    }
    return dict(sorted(chosen.items()))


def differences(
    one: Mapping[tuple[int, int], Outcome], two: Mapping[tuple[int, int], Outcome]
) -> list[np.ndarray[Any, np.dtype[np.float64]]]:
    """Per seed, the difference of two systems on every task: -1, 0 or 1."""
    seeds = sorted({seed for seed, _ in one})
    both = {task: float(one[task].success) - float(two[task].success) for task in one}
    return [np.array([value for (s, _), value in both.items() if s == seed]) for seed in seeds]


@dataclass(frozen=True, kw_only=True)
class Aggregate:
    """The paper's cross-task aggregate at one goal offset: every world weighs the same, nothing is rounded before."""

    goal_offset_env_steps: int
    ours: Estimate
    best_other: float
    chosen: Mapping[str, str]
    """By world: the system with the highest success among the others. It was chosen on these very tasks."""
    difference: Estimate
    """Ours minus the chosen ones, task by task."""


def mean_of_best(success: Mapping[str, Mapping[str, float]]) -> tuple[float, dict[str, str]]:
    """Mean over worlds of the highest success in each, and whose it is (the first by name of equals)."""
    chosen = {world: min(rates, key=lambda name: (-rates[name], name)) for world, rates in success.items()}
    return float(np.mean([success[world][name] for world, name in chosen.items()])), chosen


def aggregate(
    recorded: Recorded,
    tables: Sequence[Table],
    offset: int,
    ours: Mapping[str, str],
    others: Sequence[str] | None = None,
) -> Aggregate:
    """Our system of each world against the best eligible other there.

    `ours` names our system by world; `others` says who is eligible: by default whoever plans with other weights.
    """
    known = {table.world: table for table in tables}
    missing = [world for world in ours if world not in known or offset not in known[world].tasks]
    if missing or len(known) < len(tables):
        raise ProtocolError(
            f"The aggregate at offset {offset} takes one table (one rule, one protocol) of each of the worlds "
            f"{sorted(ours)}; missing: {missing or 'none'}. Name the runs of one protocol that have it."
        )
    mine = {world: _row(known[world], system) for world, system in ours.items()}
    rows = {world: _eligible(known[world], offset, row, others) for world, row in mine.items()}
    best, chosen = mean_of_best({world: {r.system: _success(r, offset) for r in some} for world, some in rows.items()})
    own: list[list[Any]] = []
    apart: list[list[Any]] = []
    for world, row in mine.items():
        one = by_task(recorded, known[world], offset, key(row))
        other = next(r for r in rows[world] if r.system == chosen[world])
        seeds = sorted({seed for seed, _ in one})
        own.append([np.array([o.success for (s, _), o in one.items() if s == seed], float) for seed in seeds])
        apart.append(differences(one, by_task(recorded, known[world], offset, key(other))))
    return Aggregate(
        goal_offset_env_steps=offset,
        ours=estimate(own),
        best_other=best,
        chosen=chosen,
        difference=estimate(apart),
    )


def _eligible(table: Table, offset: int, ours: Row, others: Sequence[str] | None) -> list[Row]:
    """Whoever ran at the offset and may be chosen; variants of our own weights and floors only where they are named."""
    rows = [row for row in table.rows if row.system != ours.system and offset in row.cells]
    if others is None:
        rows = [row for row in rows if row.weights_digest not in (ours.weights_digest, NO_WEIGHTS)]
    else:
        rows = [row for row in rows if row.system in others]
    if not rows:
        raise ProtocolError(
            f"{table.world} has no other system at offset {offset} to compare {ours.system} with. Run one on the same "
            "tasks."
        )
    return rows


def _row(table: Table, system: str) -> Row:
    found = [row for row in table.rows if row.system == system]
    if len(found) != 1:
        raise ProtocolError(
            f"{table.world}: expected one row of {system}, found {len(found)}. Name runs in which it has one set of "
            "weights."
        )
    return found[0]


def _success(row: Row, offset: int) -> float:
    fraction = row.cells[offset].success.fraction
    assert fraction is not None, "a cell has tasks"
    return fraction


def _p(value: float) -> str:
    return f"{value:.3f}" if value >= 0.001 else f"{value:.0e}"


def _plain(part: Compared) -> dict[str, Any]:
    table = part.table
    return {
        "world": table.world,
        "rule": table.rule,
        "protocol": table.protocol,
        "tasks": {str(m): asdict(tasks) for m, tasks in table.tasks.items()},
        "rows": [_plain_row(row) for row in table.rows],
        "against_the_first": [
            {**asdict(duel), "separated": duel.tasks.separated, "sentence": duel.sentence()} for duel in part.duels
        ],
    }


def _plain_row(row: Row) -> dict[str, Any]:
    cells = {
        str(m): {**asdict(cell), "fraction": cell.success.fraction, "ci95": cell.success.ci95}
        for m, cell in row.cells.items()
    }
    return {"system": row.system, "weights_digest": row.weights_digest, "offsets": cells}
