"""`fit`: bring a model through its training stages, and be killed, continued and repeated on the way without a trace.

What a step computes depends on the weights and on (seed, stage, step) alone: the order of samples, the noise and the
learning rate are functions of them. So a checkpoint is weights, optimiser moments and a position; a run continued
from one repeats the missing steps bit for bit (on CPU in float32), and it does not matter at which instant it died.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from dualwm.nets.batchnorm import share_statistics
from dualwm.train.checkpoint import Checkpoints
from dualwm.train.distributed import Processes
from dualwm.train.feed import InTurn, Iterate
from dualwm.train.loop import StageLoop
from dualwm.train.progress import Progress, Silent
from dualwm.train.run import Model, Run, opened
from dualwm.train.stage import Stage


@dataclass(frozen=True, kw_only=True)
class StageSummary:
    """One stage's work, over all commands that took part in it."""

    name: str
    steps: int
    seconds: float
    windows_per_s: float
    waiting_share: float
    """Share of the time spent waiting for data."""


@dataclass(frozen=True, kw_only=True)
class Summary:
    """How a call of `fit` ended. The model it was given holds the weights."""

    finished: bool
    already_finished: bool
    """The run was complete before this call, which then did nothing but load the weights."""
    stages: tuple[StageSummary, ...]
    message: str
    """One sentence for the user; where the run is not finished, how to continue it."""


def fit(
    model: Model,
    stages: Sequence[Stage[Model]],
    out: Path,
    *,
    seed: int,
    settings: Mapping[str, Any] | None = None,
    processes: Processes | None = None,
    iterate: Iterate = InTurn,
    progress: Progress | None = None,
    tensorboard: bool = False,
    stop_after_s: float | None = None,
) -> Summary:
    """Train `model` through `stages`, or continue where an earlier call in the same folder was stopped or killed.

    `settings` is plain data describing what the stages cannot tell themselves (recipe, data digest): a folder whose
    run had other settings is refused. The model must be built alike every time and live on `processes.device`; stages
    that take statistics of the whole batch hold the same `processes` as their `Reduce`. Ctrl-C and `stop_after_s`
    write a checkpoint and return an unfinished summary.
    """
    processes = processes or Processes()
    model.eval()
    share_statistics(model, processes)
    run = Run(
        model=model,
        stages=stages,
        out=out,
        seed=seed,
        processes=processes,
        iterate=iterate,
        progress=(progress or Progress()) if processes.first else Silent(),
        checkpoints=Checkpoints(out / "checkpoints"),
        stop_at=time.monotonic() + (float("inf") if stop_after_s is None else stop_after_s),
    )
    devices = [processes.device] if processes.device.type == "cuda" else []
    with torch.random.fork_rng(devices), opened(run, settings or {}, tensorboard):
        summary = _train(run)
    run.progress.note(summary.message)
    return summary


def _train(run: Run[Model]) -> Summary:
    if run.finished:
        message = f"The run in {run.out} is finished already; there was nothing to do."
        return _summary(run, finished=True, already=True, message=message)
    for index in range(run.start.stage, len(run.stages)):
        stage = run.stages[index]
        try:
            completed = StageLoop(run, index).complete()
            where = f"after step {run.clocks[stage.name].steps:,} of {stage.settings.steps:,} of stage {stage.name}"
        except KeyboardInterrupt:
            # Outside the steps (in `prepare` or `finish`), or a second Ctrl-C: the newest checkpoint counts.
            completed, where = False, f"at once, in stage {stage.name}"
        if not completed:
            message = f"Stopped {where}. What is done is kept in {run.out}: type the same command again to continue."
            return _summary(run, finished=False, already=False, message=message)
    return _summary(run, finished=True, already=False, message=f"The run in {run.out} is finished.")


def _summary(run: Run[Model], *, finished: bool, already: bool, message: str) -> Summary:
    stages = tuple(
        StageSummary(
            name=name,
            steps=clock.steps,
            seconds=clock.seconds,
            windows_per_s=clock.windows / max(clock.seconds, 1e-9),
            waiting_share=clock.waited_s / max(clock.seconds, 1e-9),
        )
        for name, clock in run.clocks.items()
    )
    return Summary(finished=finished, already_finished=already, stages=stages, message=message)
