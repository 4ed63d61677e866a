"""The paper's summary over worlds in its layout: for every goal offset the best other system, and ours."""

from collections.abc import Sequence
from dataclasses import dataclass

from dualwm.report.comparison import Aggregate, aggregate, key
from dualwm.report.tables import Recorded, Row, Table
from dualwm.report.words import Labels, name_of, percent


@dataclass(frozen=True, kw_only=True)
class OverWorlds:
    """One protocol: the tables of several worlds, our row in each, and the aggregates by goal offset."""

    protocol: str
    tables: tuple[Table, ...]
    ours: tuple[Row, ...]
    aggregates: tuple[Aggregate, ...]

    def lines(self, labels: Labels) -> tuple[list[str], list[list[str]]]:
        """Head and rows: a world a row, two columns an offset, and the means."""
        head = ["world"]
        means = ["mean"]
        for one in self.aggregates:
            head += [f"best other, offset {one.goal_offset_env_steps}", f"ours, offset {one.goal_offset_env_steps}"]
            low, high = (100 * end for end in one.difference.ci95)
            means += [
                f"{100 * one.best_other:.1f} %",
                f"{100 * one.ours.mean:.1f} % ({100 * one.difference.mean:+.1f} points, {low:.1f} to {high:.1f})",
            ]
        rows = [self._row(table, row, labels) for table, row in zip(self.tables, self.ours, strict=True)]
        return head, [*rows, means]

    def _row(self, table: Table, ours: Row, labels: Labels) -> list[str]:
        cells = [table.world]
        for one in self.aggregates:
            offset = one.goal_offset_env_steps
            chosen = next(r for r in table.rows if r.system == one.chosen[table.world] and key(r) != key(ours))
            told = percent(chosen.cells[offset].success)
            cells += [f"{told} ({name_of(chosen, table, labels)})", percent(ours.cells[offset].success)]
        return cells


def over_worlds(recorded: Recorded, tables: Sequence[Table], ours: str, labels: Labels) -> list[OverWorlds]:
    """One summary per protocol under which several worlds have a row that is called `ours` in print.

    Only offsets count at which every one of these worlds has it; a world with several rules is left out, since its
    tables would have to be mixed.
    """
    found: list[OverWorlds] = []
    for protocol in sorted({table.protocol for table in tables}):
        worlds = [table for table in tables if table.protocol == protocol]
        single = [table for table in worlds if sum(other.world == table.world for other in worlds) == 1]
        pairs = [(table, row) for table in single if (row := _called(table, ours, labels)) is not None]
        shared = set[int].intersection(*(set(row.cells) for _, row in pairs)) if len(pairs) > 1 else set[int]()
        if shared:
            systems = {table.world: row.system for table, row in pairs}
            chosen = [table for table, _ in pairs]
            found.append(
                OverWorlds(
                    protocol=protocol,
                    tables=tuple(chosen),
                    ours=tuple(row for _, row in pairs),
                    aggregates=tuple(aggregate(recorded, chosen, offset, systems) for offset in sorted(shared)),
                )
            )
    return found


def _called(table: Table, ours: str, labels: Labels) -> Row | None:
    """The one row of a table with that name in print."""
    rows = [row for row in table.rows if labels.get(row.system, row.system) == ours]
    return rows[0] if len(rows) == 1 else None
