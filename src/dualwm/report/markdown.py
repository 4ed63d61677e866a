"""Tables as Markdown."""

from collections.abc import Callable, Iterable, Sequence

from dualwm.report.tables import Cell, Row, Table
from dualwm.stats import Rate

Show = Callable[[Cell], str]


def markdown(table: Table, labels: dict[str, str] | None = None) -> str:
    """One table: success, success on the hard tasks alone, planning time, and the tasks themselves, by offset."""
    names = labels or {}
    offsets = list(table.tasks)
    head = ["", *(f"offset {offset}" for offset in offsets)]
    seeds = sorted({seed for tasks in table.tasks.values() for seed in tasks.seeds})
    parts = [f"**{table.world}**, protocol `{table.protocol}`, rule `{table.rule}`, seeds {_list(seeds)}"]
    for title, show in _sections(table):
        body = [[_label(row, table, names), *(_shown(row, offset, show) for offset in offsets)] for row in table.rows]
        parts.append(_grid([title, *head[1:]], body))
    parts.append(_grid(["the tasks", *head[1:]], _task_rows(table)))
    return "\n\n".join(parts) + "\n"


def _sections(table: Table) -> list[tuple[str, Show]]:
    """What there is to say: success, and where they differ from it or are known, the rest."""
    cells = [cell for row in table.rows for cell in row.cells.values()]
    sections: list[tuple[str, Show]] = [("success", lambda cell: _rate(cell.success))]
    if any(cell.hard.n for cell in cells):
        sections.append(("success, other room and path of 100 px or more", lambda cell: _rate(cell.hard)))
    if any(tasks.initially_solved.successes for tasks in table.tasks.values()):
        sections.append(("success, not solved at the start", lambda cell: _rate(cell.not_initially_solved)))
    if any(cell.planning_ms_per_env_step is not None for cell in cells):
        sections.append(("planning, ms per environment step", lambda cell: _number(cell.planning_ms_per_env_step)))
    return sections


def _task_rows(table: Table) -> list[list[str]]:
    tasks = list(table.tasks.values())
    rows = [
        ["tasks", *(str(t.n) for t in tasks)],
        ["budget, environment steps", *(str(t.budget_env_steps) for t in tasks)],
        ["solved at the start", *(_percent(t.initially_solved) for t in tasks)],
    ]
    if any(t.path_px for t in tasks):
        rows += [
            ["other room and path of 100 px or more", *(_percent(t.hard) for t in tasks)],
            ["shortest path, px: 5, 50, 95 % quantile", *(_list(map(round, t.path_px or ())) for t in tasks)],
        ]
    return rows


def _label(row: Row, table: Table, names: dict[str, str]) -> str:
    """The system's name; with its weights where two rows would else read the same."""
    twins = sum(other.system == row.system for other in table.rows)
    label = names.get(row.system, f"`{row.system}`")
    return f"{label} (weights {row.weights_digest[:8]})" if twins > 1 else label


def _shown(row: Row, offset: int, show: Show) -> str:
    return show(row.cells[offset]) if offset in row.cells else "–"


def _rate(rate: Rate) -> str:
    if rate.ci95 is None:
        return "–"
    low, high = rate.ci95
    return f"{_percent(rate)} [{100 * low:.1f}, {100 * high:.1f}]"


def _percent(rate: Rate) -> str:
    return "–" if rate.fraction is None else f"{100 * rate.fraction:.1f} %"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def _list(values: Iterable[object]) -> str:
    return ", ".join(map(str, values)) or "–"


def _grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    rule = ["---", *("---:" for _ in head[1:])]
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, rule, *rows])
