"""What a person sees while a run goes on: a live panel on a terminal, plain lines elsewhere."""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from dualwm.train.vitals import Vitals

_BARS = " ▁▂▃▄▅▆▇█"


@dataclass(frozen=True, kw_only=True)
class Pace:
    """The state of a stage at a log step."""

    step: int
    loss: float
    terms: Mapping[str, float]
    learning_rate: float
    gradient_norm: float
    windows_per_s: float
    waiting_share: float
    """Share of time spent waiting for data."""
    eta_s: float
    """Seconds to the end of this stage."""


class Progress:
    """Shows a run. `Progress(console)` decides by itself which way; `Silent` shows nothing."""

    def __init__(self, console: Console | None = None, every_s: float = 10.0) -> None:
        self.console = console or Console()
        self._every_s = every_s
        """Plain lines come no more often than this."""
        self._live: Live | None = None
        self._stage, self._steps, self._last = "", 1, -float("inf")
        self._pace: Pace | None = None
        self._vitals: Vitals | None = None
        self._notes: list[str] = []

    def begin(self, stage: str, number: int, stages: int, steps: int, done: int) -> None:
        """A stage starts, or continues after `done` steps."""
        self.close()
        self._stage, self._steps, self._pace, self._vitals = stage, steps, None, None
        again = f", continued after step {done:,}" if done else ""
        self.note(f"Stage {stage} ({number} of {stages}): {steps:,} steps{again}.")
        if self.console.is_terminal:
            self._live = Live(console=self.console, auto_refresh=False)
            self._live.start()

    def train(self, pace: Pace) -> None:
        """A log step of training."""
        self._pace = pace
        if self._live is not None:
            self._live.update(self._panel(), refresh=True)
        elif time.monotonic() - self._last >= self._every_s or pace.step >= self._steps:
            self._last = time.monotonic()
            self._print(train_line(self._stage, self._steps, pace))

    def look(self, step: int, vitals: Vitals) -> None:
        """A look at held-out data."""
        self._vitals = vitals
        if self._live is not None:
            self._live.update(self._panel(), refresh=True)
        else:
            for line in look_lines(self._stage, step, vitals):
                self._print(line)

    def note(self, text: str) -> None:
        """A sentence that stays on the screen."""
        self._print(text)

    def warn(self, text: str) -> None:
        """A sentence that should be seen. The same one is said once."""
        if text not in self._notes:
            self._notes.append(text)
            self._print(f"Warning: {text}", style="bold yellow")

    def close(self) -> None:
        """End the live panel, leaving its last state on the screen."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _print(self, text: str, style: str | None = None) -> None:
        self.console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)

    def _panel(self) -> Panel:
        table = Table.grid(padding=(0, 2), expand=True)
        table.add_column(style="bold", no_wrap=True)
        table.add_column(ratio=1)
        if self._pace is not None:
            table.add_row("progress", ProgressBar(total=self._steps, completed=self._pace.step))
            for name, text in train_rows(self._steps, self._pace):
                table.add_row(name, Text(text))
        if self._vitals is not None:
            for name, text in look_rows(self._vitals):
                table.add_row(name, Text(text))
        return Panel(table, title=f"training: {self._stage}", title_align="left")


class Silent(Progress):
    """Shows nothing: for the processes beside the first, and for tests."""

    def __init__(self) -> None:
        super().__init__(Console(quiet=True))


def on_stderr() -> Progress:
    """Plain lines on standard error, for programs: standard output is left to the result."""
    return Progress(Console(stderr=True, force_terminal=False))


def train_line(stage: str, steps: int, pace: Pace) -> str:
    """One line for one log step."""
    (_, loss), (_, work), (_, left) = train_rows(steps, pace)
    return f"{stage} {left}  loss {loss}  {work}"


def train_rows(steps: int, pace: Pace) -> list[tuple[str, str]]:
    """(What, numbers) of one log step: loss, speed, what is left."""
    terms = ", ".join(f"{name} {value:.3g}" for name, value in pace.terms.items())
    return [
        ("loss", f"{pace.loss:.4g} ({terms})"),
        ("speed", f"{pace.windows_per_s:,.0f} windows/s, waiting for data {pace.waiting_share:.0%}"),
        ("step", f"{pace.step:,}/{steps:,}, ETA {duration(pace.eta_s)}"),
    ]


def look_lines(stage: str, step: int, vitals: Vitals) -> list[str]:
    """Plain lines for one look at held-out data."""
    return [f"{stage} {step:,}  {name}: {text}" for name, text in look_rows(vitals)]


def look_rows(vitals: Vitals) -> list[tuple[str, str]]:
    """(What, numbers) of one look at held-out data."""
    terms = ", ".join(f"{name} {value:.3g}" for name, value in vitals.terms.items())
    rows = [("held-out loss", f"{vitals.loss:.4g} ({terms})")]
    for level, errors in vitals.rollout_error.items():
        rows.append((f"{level} rollout error", "  ".join(f"{error:.3g}" for error in errors)))
    for level, s in vitals.spread.items():
        text = f"std {s.std_mean:.2f} (min {s.std_min:.2f}), effective rank {s.effective_rank:.1f} of {s.width}"
        rows.append((f"{level} latents", text))
    if vitals.kl_per_dim is not None:
        rows.append(("KL per macro dim", f"{bars(vitals.kl_per_dim)}  max {max(vitals.kl_per_dim):.2f} nats"))
    rows += [(name, "  ".join(f"{x:.3g}" for x in values)) for name, values in vitals.values.items()]
    return rows


def bars(values: Sequence[float]) -> str:
    """One small bar per value, relative to the largest."""
    top = max([1e-12, *(value for value in values if math.isfinite(value))])
    return "".join(_BARS[round(8 * max(0.0, value) / top)] if math.isfinite(value) else "?" for value in values)


def duration(seconds: float) -> str:
    """Seconds in words: 45 s, 12 min, 3 h 05 min."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"
