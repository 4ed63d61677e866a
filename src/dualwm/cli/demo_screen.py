"""What the demo shows while it runs: a live table on a terminal, a line per event elsewhere, nothing for --json."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from dualwm.evaluate.needs import Controller
from dualwm.plan.trace import STAGES, Decision
from dualwm.records import Goal, Observation, Outcome, Task

_LETTERS = {"refine": ("r", "blue"), "converge": ("c", "cyan"), "reuse": ("=", "bright_black")}
LEGEND = "R route planned, refine  r refine  c converge  ok N: reached at step N"


@dataclass
class _Line:
    """One task under one planner, as far as it got."""

    stages: Text = field(default_factory=Text)
    stage: str = ""
    routed: bool = False
    env_step: int = 0
    over: bool = False
    success: bool = False


class Screen:
    """Hears of every decision and every ending, and shows them as they come. A context manager."""

    def __init__(self, console: Console, planners: Mapping[str, str], tasks: Sequence[Task]) -> None:
        self._console, self._planners = console, dict(planners)
        self._lines = {name: {task.index: _Line() for task in tasks} for name in planners}
        self._live = Live(console=console, auto_refresh=False) if console.is_terminal else None

    def __enter__(self) -> "Screen":
        if self._live is not None:
            self._live.start()
            self._refresh()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def decided(self, planner: str, env_step: int, decision: Decision) -> None:
        """A decision of the tasks still under way."""
        news: dict[str, list[int]] = {}
        for row, task in enumerate(decision.tasks.tolist()):
            line = self._lines[planner][task]
            stage, routed = STAGES[int(decision.stage[row])], bool(decision.routed[row])
            letter, style = _LETTERS[stage]
            line.stages.append("R" if routed else letter, "bold magenta" if routed else style)
            if stage != line.stage or (routed and not line.routed):  # a route at every decision is said once
                news.setdefault(f"route planned, {stage}" if routed else stage, []).append(task)
            line.stage, line.routed, line.env_step = stage, routed, env_step
        for text, tasks in news.items():
            self._say(planner, tasks, env_step, text)
        self._refresh()

    def listener(self, planner: str) -> Callable[[Sequence[Outcome], object], None]:
        """`finished` of one planner, as a closed loop calls it."""
        return lambda outcomes, _: self.finished(planner, outcomes)

    def finished(self, planner: str, outcomes: Sequence[Outcome]) -> None:
        """Tasks that are over."""
        for outcome in outcomes:
            line = self._lines[planner][outcome.task]
            line.over, line.success, line.env_step = True, outcome.success, outcome.steps
            ending = "reached" if outcome.success else f"FAILED, {outcome.distance:.0f} px away at best"
            self._say(planner, [outcome.task], outcome.steps, ending)
        self._refresh()

    def _say(self, planner: str, tasks: Sequence[int], env_step: int, text: str) -> None:
        if self._live is None:
            names = " ".join(map(str, tasks))
            line = f"{planner:<9} step {env_step:>3}  {text:<34} task{'s' if len(tasks) > 1 else ''} {names}"
            self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def _refresh(self) -> None:
        if self._live is not None:
            self._live.update(self._table(), refresh=True)

    def _table(self) -> Table:
        table = Table(box=None, padding=(0, 2, 0, 0), caption=LEGEND, caption_justify="left")
        table.add_column("task", justify="right", no_wrap=True, min_width=4)
        for label in self._planners.values():
            table.add_column(label, no_wrap=True, min_width=34)  # two of them fit into 80 columns
        for task in next(iter(self._lines.values())):
            table.add_row(str(task), *(_cell(lines[task]) for lines in self._lines.values()))
        return table


def _cell(line: _Line) -> Text:
    """One letter per decision, then how it ended, or the environment step it has come to."""
    if not line.stages:
        return Text("")
    if not line.over:
        return Text.assemble(line.stages, (f" {line.env_step}", "bright_black"))
    return Text.assemble(line.stages, (f" ok {line.env_step}", "green") if line.success else (" FAILED", "bold red"))


@dataclass
class Watched:
    """A controller whose decisions are told to a screen; it changes nothing about them.

    It is made for one batch: environment steps are counted from the first decision on.
    """

    controller: Controller
    cameras: tuple[str, ...]
    planner: str
    screen: Screen
    chunk_env_steps: int = 0
    """Environment steps of the last chunk."""
    env_step: int = 0
    """Environment steps of all chunks so far."""

    def start(self, goal: Goal, tasks: Sequence[int], seed: int) -> Any:
        """The controller's own memory."""
        return self.controller.start(goal, tasks, seed)

    def act(self, memory: Any, observation: Observation) -> tuple[NDArray[np.float32], Any, Any]:
        """The controller's own decision."""
        chunk, memory, decision = self.controller.act(memory, observation)
        self.screen.decided(self.planner, self.env_step, decision)
        self.chunk_env_steps = chunk.shape[1]
        self.env_step += chunk.shape[1]
        return chunk, memory, decision
