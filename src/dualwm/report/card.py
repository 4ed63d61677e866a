"""The protocol card beside a table: everything a success rate depends on and a table of rates does not say."""

from collections.abc import Callable, Mapping

from dualwm.report.origin import Origin
from dualwm.report.tables import Recorded, Row, Table, Tasks
from dualwm.report.words import Labels, is_quiet, name_of, number, percent, with_interval

Line = tuple[str, list[str]]
"""What is told, and by offset."""


def card(recorded: Recorded, table: Table, origins: Mapping[str, Origin], labels: Labels) -> list[Line]:
    """The lines of a card; `origins` by the name of the run folder."""
    offsets = list(table.tasks)

    def per_offset(show: Callable[[Tasks], str]) -> list[str]:
        return [show(table.tasks[offset]) for offset in offsets]

    lines: list[Line] = [
        ("goal offset, environment steps", [str(offset) for offset in offsets]),
        ("budget, environment steps", per_offset(lambda t: str(t.budget_env_steps))),
        ("tasks", per_offset(lambda t: str(t.n))),
        ("evaluation seeds", per_offset(lambda t: ", ".join(map(str, t.seeds)))),
        ("split", per_offset(lambda t: _split(t, origins))),
        ("protocol", [table.protocol] * len(offsets)),
        ("success rule", [table.rule] * len(offsets)),
        ("solved at the start", per_offset(lambda t: percent(t.initially_solved))),
        ("floor: uniform actions", [_floor(table, offset) for offset in offsets]),
    ]
    planners = [row for row in table.rows if not is_quiet(row)]
    for row in planners:
        name = name_of(row, table, labels)
        lines.append((f"search of {name}", [_search(recorded, table, row, m, origins) for m in offsets]))
        lines.append((f"planning time of {name}", [_time(row, m) for m in offsets]))
    lines.append(("device", [_device(origins)] * len(offsets)))
    lines.append(("TaskSets", per_offset(lambda t: ", ".join(digest[:8] for digest in t.digests))))
    return lines


def source_of(recorded: Recorded, table: Table, row: Row, offset: int) -> str:
    """The name of the run folder behind a cell; empty where none is known."""
    for digest in table.tasks[offset].digests:
        found = recorded.sources.get((row.system, row.weights_digest, digest))
        if found is not None:
            return str(found)
    return ""


def _split(tasks: Tasks, origins: Mapping[str, Origin]) -> str:
    known = {o.collections[digest] for o in origins.values() for digest in tasks.digests if digest in o.collections}
    return ", ".join(sorted(known)) or "not recorded"


def _floor(table: Table, offset: int) -> str:
    floors = [row.cells[offset].success for row in table.rows if row.system == "random" and offset in row.cells]
    return with_interval(floors[0]) if floors else "not measured"


def _search(recorded: Recorded, table: Table, row: Row, offset: int, origins: Mapping[str, Origin]) -> str:
    if offset not in row.cells:
        return "–"
    known = origins.get(source_of(recorded, table, row, offset))
    return (known.search(row.system, offset) if known else None) or "not recorded"


def _time(row: Row, offset: int) -> str:
    cell = row.cells.get(offset)
    if cell is None or cell.planning_ms_per_env_step is None:
        return "–"
    if cell.timed is None:
        return f"{cell.planning_ms_per_env_step:.1f} ms per environment step, while outcomes were made"
    pace, alone = cell.timed.together, cell.timed.alone
    return (
        f"{number(pace.mean_ms)} ms per environment step (p50 {number(pace.p50_ms)}, p95 {number(pace.p95_ms)}) for "
        f"{cell.timed.tasks} tasks together, {number(alone.mean_ms)} for a lone one; {cell.timed.threads} threads, "
        f"{cell.timed.precision}"
    )


def _device(origins: Mapping[str, Origin]) -> str:
    return "; ".join(sorted({o.device for o in origins.values() if o.device})) or "not recorded"
