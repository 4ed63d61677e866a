"""Tables as LaTeX in the layout of the paper's result tables: methods down, goal offsets across, booktabs rules.

As there, a figure is a mean over evaluation seeds with their standard deviation behind it; ours adds what the paper's
lack, the Wilson interval of all tasks together, in a second line that may be switched off.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from dualwm.bootstrap import spread
from dualwm.report.comparison import by_task, key
from dualwm.report.tables import Recorded, Row, Table
from dualwm.report.words import Labels, is_quiet, name_of

_SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}  # fmt: skip


def latex(recorded: Recorded, table: Table, labels: Labels, intervals: bool = True) -> str:
    """One table; it needs the package booktabs."""
    offsets = list(table.tasks)
    best = {offset: _best(table, offset) for offset in offsets}
    loud = [row for row in table.rows if not is_quiet(row)]
    quiet = [row for row in table.rows if is_quiet(row)]
    body: list[str] = []
    for group in (loud, quiet):
        if group and body:
            body.append(r"    \midrule")
        for row in group:
            body += _lines(recorded, table, row, labels, best, intervals)
    return "\n".join(
        [
            r"\begin{table}[t]",
            r"  \centering",
            rf"  \caption{{{_caption(table)}}}",
            rf"  \label{{tab:{table.world}-{table.protocol}-{table.rule}}}",
            r"  \small",
            rf"  \begin{{tabular}}{{@{{}}l{'c' * len(offsets)}@{{}}}}",
            r"    \toprule",
            "    Method & " + " & ".join(f"Offset ${offset}$" for offset in offsets) + r" \\",
            r"    \midrule",
            *body,
            r"    \midrule",
            *_about_tasks(table),
            r"    \bottomrule",
            r"  \end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def latex_grid(label: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of cells as they are, the last row apart from the others, as in the paper's summary over worlds."""
    lines = ["    " + " & ".join(map(escape, row)) + r" \\" for row in rows]
    return "\n".join(
        [
            r"\begin{table}[t]",
            r"  \centering",
            r"  \caption{Success over worlds, every world weighing the same. The best other is chosen for each world",
            r"  and offset; in brackets its name, and in the last row the difference with its 95\,\% interval.}",
            rf"  \label{{tab:{label}}}",
            r"  \small",
            rf"  \begin{{tabular}}{{@{{}}l{'r' * (len(head) - 1)}@{{}}}}",
            r"    \toprule",
            "    " + " & ".join(map(escape, head)) + r" \\",
            r"    \midrule",
            *lines[:-1],
            r"    \midrule",
            *lines[-1:],
            r"    \bottomrule",
            r"  \end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def escape(text: str) -> str:
    """Text that LaTeX prints as it is."""
    return "".join(_SPECIAL.get(letter, letter) for letter in text)


def _lines(
    recorded: Recorded,
    table: Table,
    row: Row,
    labels: Labels,
    best: Mapping[int, float],
    intervals: bool,
) -> list[str]:
    means = [_mean(recorded, table, row, offset, best[offset]) for offset in table.tasks]
    lines = [f"    {escape(name_of(row, table, labels))} & " + " & ".join(means) + r" \\"]
    if intervals:
        ends = [_interval(row, offset) for offset in table.tasks]
        lines.append("    & " + " & ".join(ends) + r" \\")
    return lines


def _mean(recorded: Recorded, table: Table, row: Row, offset: int, best: float) -> str:
    """Mean over seeds, bold where no planner's is higher, and the standard deviation over seeds."""
    if offset not in row.cells:
        return "--"
    outcomes = by_task(recorded, table, offset, key(row))
    by_seed = [
        np.array([o.success for (s, _), o in outcomes.items() if s == seed], dtype=np.float64)
        for seed in table.tasks[offset].seeds
    ]
    mean = f"{100 * float(np.mean([values.mean() for values in by_seed])):.2f}"
    shown = rf"\textbf{{{mean}}}" if not is_quiet(row) and row.cells[offset].success.fraction == best else mean
    return shown if len(by_seed) < 2 else rf"{shown} {{\scriptsize$\pm$ {100 * spread(by_seed):.2f}}}"


def _interval(row: Row, offset: int) -> str:
    interval = row.cells[offset].success.ci95 if offset in row.cells else None
    if interval is None:
        return ""
    return rf"{{\scriptsize [{100 * interval[0]:.1f}, {100 * interval[1]:.1f}]}}"


def _best(table: Table, offset: int) -> float:
    rates = [
        row.cells[offset].success.fraction or 0.0 for row in table.rows if offset in row.cells and not is_quiet(row)
    ]
    return max(rates, default=2.0)


def _caption(table: Table) -> str:
    seeds = sorted({seed for tasks in table.tasks.values() for seed in tasks.seeds})
    told = ", ".join(map(str, seeds))
    return (
        rf"{escape(table.world)}: success (\%) by goal offset in environment steps, protocol {escape(table.protocol)}, "
        rf"success rule {escape(table.rule)}, mean and standard deviation over the evaluation seeds {told}; in "
        r"brackets the 95\,\% Wilson interval of all tasks together."
    )


def _about_tasks(table: Table) -> Sequence[str]:
    tasks = list(table.tasks.values())
    solved = [100 * (t.initially_solved.fraction or 0.0) for t in tasks]
    return (
        "    Tasks & " + " & ".join(str(t.n) for t in tasks) + r" \\",
        "    Budget & " + " & ".join(str(t.budget_env_steps) for t in tasks) + r" \\",
        "    Solved at the start & " + " & ".join(f"{share:.1f}" for share in solved) + r" \\",
    )
