"""How an evaluation shows itself on a terminal: running success while it goes, a small table at the end."""

import sys
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from dualwm.evaluate.closed_loop import Progress
from dualwm.evaluate.summary import Summary
from dualwm.records import TaskSet
from dualwm.report.comparison import AllCompared
from dualwm.stats import Rate
from dualwm.zoo.comparing import Standing


class _Line:
    """One line that is written over and over on a terminal; elsewhere plain lines, less often."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._live = sys.stderr.isatty()
        self._told = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._live and not self._quiet and self._told:
            print(file=sys.stderr)

    def due(self) -> bool:
        """Whether it is time to write again: at most twice a second, every ten seconds without a terminal."""
        return not self._quiet and time.monotonic() - self._told >= (0.5 if self._live else 10)

    def write(self, line: str) -> None:
        """Show a line now."""
        self._told = time.monotonic()
        text, end = (f"\r{line[:118]:<118}", "") if self._live else (line, "\n")
        print(text, end=end, file=sys.stderr, flush=True)


class Bar(_Line):
    """One line per TaskSet: tasks over, success so far, planning time, and how long the TaskSet will take."""

    def tell(self, taskset: TaskSet, progress: Progress) -> None:
        """Show where an evaluation stands."""
        if self.due():
            rate, timings = Rate(progress.successes, progress.done), progress.timings
            self.write(
                f"offset {taskset.goal_offset_env_steps}, seed {taskset.seed}: {progress.done} of {progress.tasks} "
                f"tasks over{_so_far(rate)}{_pace(timings.planning_seconds, timings.env_steps)}"
                f"{_left(progress.worked, progress.tasks, timings.seconds)}"
            )


class Board(_Line):
    """The same for a comparison: all tasks of all systems, and the system that was heard of last."""

    def __init__(self, quiet: bool) -> None:
        super().__init__(quiet)
        self._known: dict[tuple[str, str, int, int], Standing] = {}
        self._began = time.monotonic()

    def tell(self, now: Standing) -> None:
        """Show where a comparison stands, all of this command's processes together."""
        self._known[now.share, now.system, now.goal_offset_env_steps, now.seed] = now
        if self.due():
            self.write(self._text(now))

    def _text(self, now: Standing) -> str:
        known = list(self._known.values())
        total = sum({one.share: one.tasks_of_share for one in known}.values())
        same = [o for o in known if (o.system, o.goal_offset_env_steps) == (now.system, now.goal_offset_env_steps)]
        rate = Rate(sum(one.successes for one in same), sum(one.done for one in same))
        seconds, env_steps = sum(one.planning_seconds for one in same), sum(one.env_steps for one in same)
        left = _left(sum(one.worked for one in known), total, time.monotonic() - self._began)
        latest = f"{now.system} at offset {now.goal_offset_env_steps}{_so_far(rate)}{_pace(seconds, env_steps)}"
        return f"{sum(one.done for one in known)} of {total} tasks over{left}; {latest}"


def _so_far(rate: Rate) -> str:
    if rate.fraction is None or rate.ci95 is None:
        return ""
    low, high = rate.ci95
    return f", {100 * rate.fraction:.1f} % solved [{100 * low:.0f}, {100 * high:.0f}]"


def _pace(seconds: float, env_steps: int) -> str:
    return f", {1000 * seconds / max(env_steps, 1):.1f} ms of planning per environment step"


def _left(worked: float, tasks: int, seconds: float) -> str:
    """How much longer, if the rest goes as what is behind us."""
    if worked <= 0:
        return ""
    left = seconds * max(tasks - worked, 0) / worked
    return f", {left / 60:.0f} min left" if left >= 120 else f", {left:.0f} s left"


def print_comparison(found: AllCompared) -> None:
    """Every table with intervals, then the first system against every other in words."""
    from rich.console import Console
    from rich.markdown import Markdown

    from dualwm.report.markdown import markdown

    console = Console()
    for part in found.parts:
        console.print(Markdown(markdown(part.table)))
        for duel in part.duels:
            console.print(f"- {duel.sentence()}", highlight=False)


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
