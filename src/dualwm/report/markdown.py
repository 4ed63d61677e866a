"""Tables as Markdown."""

from collections.abc import Callable, Iterable, Sequence

from dualwm.report.tables import Cell, Row, Table
from dualwm.report.words import Labels, name_of, number, percent, with_interval

Show = Callable[[Cell], str]
"""What one cell says."""


def markdown(table: Table, labels: Labels | None = None) -> str:
    """One table: success, success on the hard tasks alone, planning time, and the tasks themselves, by offset."""
    names = {row.system: f"`{row.system}`" for row in table.rows} | dict(labels or {})
    offsets = list(table.tasks)
    head = ["", *(f"offset {offset}" for offset in offsets)]
    seeds = sorted({seed for tasks in table.tasks.values() for seed in tasks.seeds})
    parts = [f"**{table.world}**, protocol `{table.protocol}`, rule `{table.rule}`, seeds {_list(seeds)}"]
    for title, show in sections(table):
        body = [[name_of(row, table, names), *(shown(row, offset, show) for offset in offsets)] for row in table.rows]
        parts.append(grid([title, *head[1:]], body))
    parts.append(grid(["the tasks", *head[1:]], task_rows(table)))
    return "\n\n".join(parts) + "\n"


def sections(table: Table) -> list[tuple[str, Show]]:
    """What there is to say: success, and where they differ from it or are known, the rest."""
    cells = [cell for row in table.rows for cell in row.cells.values()]
    sections: list[tuple[str, Show]] = [("success", lambda cell: with_interval(cell.success))]
    if any(cell.hard.n for cell in cells):
        sections.append(("success, other room and path of 100 px or more", lambda cell: with_interval(cell.hard)))
    if any(tasks.initially_solved.successes for tasks in table.tasks.values()):
        sections.append(("success, not solved at the start", lambda cell: with_interval(cell.not_initially_solved)))
    if any(cell.planning_ms_per_env_step is not None for cell in cells):
        sections.append(("planning, ms per environment step", lambda cell: number(cell.planning_ms_per_env_step)))
    return sections


def task_rows(table: Table) -> list[list[str]]:
    """The tasks behind the columns: how many, how long, how hard."""
    tasks = list(table.tasks.values())
    rows = [
        ["tasks", *(str(t.n) for t in tasks)],
        ["budget, environment steps", *(str(t.budget_env_steps) for t in tasks)],
        ["solved at the start", *(percent(t.initially_solved) for t in tasks)],
    ]
    if any(t.path_px for t in tasks):
        rows += [
            ["other room and path of 100 px or more", *(percent(t.hard) for t in tasks)],
            ["shortest path, px: 5, 50, 95 % quantile", *(_list(map(round, t.path_px or ())) for t in tasks)],
        ]
    return rows


def shown(row: Row, offset: int, show: Show) -> str:
    """What a cell says; a dash where the system was not run."""
    return show(row.cells[offset]) if offset in row.cells else "–"


def _list(values: Iterable[object]) -> str:
    return ", ".join(map(str, values)) or "–"


def grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lines of cells as a Markdown table; figures to the right."""
    rule = ["---", *("---:" for _ in head[1:])]
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, rule, *rows])
