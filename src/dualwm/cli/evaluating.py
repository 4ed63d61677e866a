"""How an evaluation shows itself on a terminal: running success while it goes, a small table at the end."""

import sys
import time
from collections.abc import Sequence
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
        line = _line(taskset, progress)
        print(
            f"\r{line[:110]:<110}" if self._live else line, end="" if self._live else "\n", file=sys.stderr, flush=True
        )


def _line(taskset: TaskSet, progress: Progress) -> str:
    timings = progress.timings
    ms = 1000 * timings.planning_seconds / max(timings.env_steps, 1)
    return (
        f"offset {taskset.goal_offset_env_steps}, seed {taskset.seed}: {progress.done} of {progress.tasks} tasks over, "
        f"{progress.successes} solved; environment step {progress.env_step}, {ms:.1f} ms of planning per step"
    )


def print_summary(system: str, summary: Summary) -> None:
    """Success with its interval, floors, difficulty and planning time."""
    from rich.console import Console
    from rich.table import Table

    plain = summary.to_plain()
    title = f"{system}: {plain['protocol']} tasks at offset {plain['goal_offset_env_steps']}"
    table = Table(title=title, show_header=False)
    table.add_row("success", _percent(plain["success"], plain["ci95"]))
    hard = plain["cross_room_100px"]
    if hard["n"]:
        table.add_row("on the hard ones", f"{_percent(hard['success'], hard['ci95'])}, {hard['n']} tasks")
    table.add_row("random actions", _percent(plain["floor_random"], plain["floor_random_ci95"]))
    table.add_row("already solved", f"{100 * plain['initially_solved']:.1f} %")
    table.add_row(
        "tasks", f"{plain['n']} ({plain['collection']}), budget {plain['budget_env_steps']} environment steps"
    )
    if plain["path_px"] is not None:
        quantiles = " · ".join(f"{value:.0f}" for value in plain["path_px"].values())
        share = f"{100 * plain['cross_room_100px_share']:.0f} % lead 100 px or more into the other room"
        table.add_row("difficulty", f"{share}; shortest paths (5, 25, 50, 75, 95 %): {quantiles} px")
    if plain["planning_ms_per_env_step"] is not None:
        single = plain["planning_ms_single"]
        alone = "" if single is None else f", {single:.1f} ms for a lone task"
        told = f"{plain['planning_ms_per_env_step']:.1f} ms per environment step{alone}"
        table.add_row("planning", f"{told}; {plain['threads']} threads, {plain['precision']}")
    for row in plain["per_seed"]:
        table.add_row(f"seed {row['seed']}", _percent(row["success"], row["ci95"]))
    table.add_row("tasks' digest", plain["taskset_digest"][:16])
    Console().print(table)


def _percent(rate: float, interval: Sequence[float]) -> str:
    low, high = interval
    return f"{100 * rate:.1f} %  (95 % interval {100 * low:.1f} to {100 * high:.1f})"
