"""What the figures of a report show, before anybody draws it: series of points with intervals, as plain records."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from operator import eq

import numpy as np

from dualwm.report.comparison import by_task, key
from dualwm.report.tables import Cell, Recorded, Table
from dualwm.report.words import Labels, is_quiet, name_of


@dataclass(frozen=True, kw_only=True)
class Point:
    """A place in a chart; `low` and `high` are the ends of the interval of y."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    says: str = ""


@dataclass(frozen=True, kw_only=True)
class Series:
    """Points of one system in the order of x."""

    name: str
    points: tuple[Point, ...]
    quiet: bool = False
    """Floors and ceilings stay in the background."""


@dataclass(frozen=True, kw_only=True)
class Chart:
    """One figure. y is a rate in per cent."""

    name: str
    """Of the file it is saved to."""
    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    ticks: tuple[float, ...] = ()
    """Places on x that are named; chosen evenly where none are given."""
    steps: bool = False
    """Lines go along x and then up, as counts do."""


def charts(recorded: Recorded, table: Table, labels: Labels) -> list[Chart]:
    """Every figure that a table's outcomes give."""
    found = [by_offset(table, labels)] if len(table.tasks) > 1 else []
    for offset in table.tasks:
        found += [chart for chart in (by_time(table, offset, labels),) if chart.series]
    return [*found, *(until_goal(recorded, table, offset, labels) for offset in table.tasks)]


def by_offset(table: Table, labels: Labels) -> Chart:
    """Success against the goal offset."""
    series = [
        Series(
            name=name_of(row, table, labels),
            points=tuple(_point(offset, cell) for offset, cell in sorted(row.cells.items())),
            quiet=is_quiet(row),
        )
        for row in table.rows
    ]
    return Chart(
        name=f"{table.world}-{table.protocol}-offset",
        title="Success by goal offset",
        x_label="goal offset, environment steps",
        y_label="success, %",
        series=tuple(series),
        ticks=tuple(float(offset) for offset in table.tasks),
    )


def by_time(table: Table, offset: int, labels: Labels) -> Chart:
    """Success against planning time; a system's sizes of search, where several were run, are joined by a line."""
    groups: dict[str, list[Point]] = {}
    for row in table.rows:
        cell = row.cells.get(offset)
        if cell is None or cell.planning_ms_per_env_step is None or is_quiet(row):
            continue
        base = re.sub(r":\w*search=[^:]*", "", row.system)
        groups.setdefault(labels.get(base, base), []).append(_point(cell.planning_ms_per_env_step, cell, row.system))
    series = [
        Series(name=name, points=tuple(sorted(points, key=lambda point: point.x))) for name, points in groups.items()
    ]
    return Chart(
        name=f"{table.world}-{table.protocol}-time-{offset}",
        title=f"Success and planning time at offset {offset}",
        x_label="planning, ms per environment step",
        y_label="success, %",
        series=tuple(series),
    )


def until_goal(recorded: Recorded, table: Table, offset: int, labels: Labels) -> Chart:
    """The share of tasks that were over by every environment step."""
    series: list[Series] = []
    for row in table.rows:
        if offset in row.cells:
            outcomes = by_task(recorded, table, offset, key(row)).values()
            steps, counts = np.unique([o.steps for o in outcomes if o.success], return_counts=True)
            shares = 100 * np.cumsum(counts) / len(outcomes)
            ends = [(0.0, 0.0), *zip(steps.tolist(), shares.tolist(), strict=True)]
            ends.append((float(table.tasks[offset].budget_env_steps), ends[-1][1]))
            points = tuple(Point(x=x, y=y) for x, y in ends)
            series.append(Series(name=name_of(row, table, labels), points=points, quiet=is_quiet(row)))
    return Chart(
        name=f"{table.world}-{table.protocol}-steps-{offset}",
        title=f"Tasks solved by environment step at offset {offset}",
        x_label="environment step",
        y_label="solved so far, %",
        series=tuple(series),
        steps=True,
    )


def agreement(recorded: Recorded, table: Table, offset: int) -> list[list[float]]:
    """Share of tasks that ended the same way, for every two rows of a table that were run at the offset."""
    rows = [row for row in table.rows if offset in row.cells]
    flags = [[o.success for o in by_task(recorded, table, offset, key(row)).values()] for row in rows]
    return [[sum(map(eq, one, two)) / len(one) for two in flags] for one in flags]


def _point(x: float, cell: Cell, says: str = "") -> Point:
    rate, interval = cell.success.fraction, cell.success.ci95
    assert rate is not None
    assert interval is not None, "a cell has tasks"
    low, high = (100 * end for end in interval)
    told = f"{says}: " if says else ""
    return Point(x=x, y=100 * rate, low=low, high=high, says=f"{told}{100 * rate:.1f} % [{low:.1f}, {high:.1f}]")


def even_ticks(top: float, wanted: int = 5) -> list[float]:
    """Round numbers from 0 to at least `top`."""
    raw = max(top, 1e-9) / wanted
    power = 10.0 ** floor(log10(raw))
    step = next(m * power for m in (1.0, 2.0, 2.5, 5.0, 10.0) if m * power >= raw * (1 - 1e-9))
    return [step * i for i in range(ceil(top / step - 1e-9) + 1)]


def numbered(series: Sequence[Series]) -> list[tuple[Series, int | None]]:
    """Every series with its colour's number; quiet ones have none."""
    loud = iter(range(len(series)))
    return [(one, None if one.quiet else next(loud)) for one in series]
