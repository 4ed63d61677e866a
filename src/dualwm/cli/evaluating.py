"""How an evaluation shows itself on a terminal: running success while it goes, a small table at the end."""

import sys
import time
from types import TracebackType
from typing import Self

from dualwm.evaluate.closed_loop import Progress
from dualwm.evaluate.summary import Summary
from dualwm.records import TaskSet


class Bar:
    """One line per TaskSet: tasks over, success so far, planning time. Plain lines where there is no terminal."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._live = sys.stderr.isatty()
        self._told = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._live and not self._quiet and self._told:
            print(file=sys.stderr)

    def tell(self, taskset: TaskSet, progress: Progress) -> None:
        """Show where an evaluation stands, at most twice a second (every ten seconds without a terminal)."""
        now = time.monotonic()
        if self._quiet or now - self._told < (0.5 if self._live else 10):
            return
        self._told = now
        line = f"seed {taskset.seed}, offset {taskset.goal_offset_env_steps}: {progress}"
        print(
            f"\r{line[:110]:<110}" if self._live else line, end="" if self._live else "\n", file=sys.stderr, flush=True
        )


def print_summary(system: str, summary: Summary) -> None:
    """Success with its interval, floors, difficulty and planning time."""
    from rich.console import Console
    from rich.table import Table

    plain = summary.to_plain()
    table = Table(title=f"{system}: {plain['protocol']} tasks at offset {plain['offset']}", show_header=False)
    low, high = plain["ci95"]
    table.add_row("success", f"{100 * plain['success']:.1f} %  (95 % interval {100 * low:.1f} to {100 * high:.1f})")
    table.add_row("tasks", str(plain["n"]))
    for key in (
        "initially_solved",
        "floor_random",
        "planning_ms_per_env_step",
        "planning_ms_single",
        "threads",
        "precision",
        "taskset_digest",
    ):
        value = plain[key]
        table.add_row(key, f"{value:.3f}" if isinstance(value, float) else str(value))
    for row in plain["per_seed"]:
        table.add_row(f"seed {row['seed']}", f"{100 * row['success']:.1f} %")
    Console().print(table)
