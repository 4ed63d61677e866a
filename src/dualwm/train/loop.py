"""One stage: prepare, step, look, write checkpoints, finish. Everything it does is a function of (seed, step)."""

import math
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from types import FrameType, TracebackType
from typing import Generic

import torch

from dualwm.errors import DataError, RecipeError
from dualwm.train.alarm import Alarms
from dualwm.train.checkpoint import Position
from dualwm.train.distributed import Processes
from dualwm.train.feed import Order, close, to_device
from dualwm.train.noise import hash64
from dualwm.train.optimise import (
    Optimiser,
    StepResult,
    autocast,
    frozen_digests,
    learning_rate,
    loss_and_terms,
    only_trained,
    set_modes,
    unchanged,
)
from dualwm.train.progress import Pace
from dualwm.train.run import Model, Run, StageClock
from dualwm.train.stage import Batch, Source, Stage, StepKey, Watch
from dualwm.train.vitals import Vitals, measure

_GRACE = 0.05
"""Share of a stage before its alarms are armed: an untrained model looks collapsed."""


class Interrupts:
    """Within this context Ctrl-C and termination are asked politely: `asked` turns true. A second Ctrl-C is obeyed."""

    def __init__(self) -> None:
        self.asked = False
        self._before: dict[int, object] = {}

    def __enter__(self) -> "Interrupts":
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._ask) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # pyright: ignore[reportArgumentType]

    def _ask(self, number: int, frame: FrameType | None) -> None:
        del frame
        if self.asked and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.asked = True


def step_key(seed: int, stage: str, purpose: str, step: int, part: slice, progress: float = 1.0) -> StepKey:
    """The key of one process's part of a batch. The seed stays below 2**31: it may be multiplied."""
    return StepKey(hash64(seed, stage, purpose) >> 33, step, torch.arange(part.start, part.stop), progress)


class StageLoop(Generic[Model]):
    """The life of stage number `index` of a run, from where the run's checkpoint left it."""

    def __init__(self, run: Run[Model], index: int) -> None:
        self._run, self._index = run, index
        self._stage: Stage[Model] = run.stages[index]
        self._settings = self._stage.settings
        self._done = run.start.step if run.start.stage == index else 0
        self._part = run.processes.slice(self._settings.batch_size)
        self._clock = run.clocks.setdefault(self._stage.name, StageClock())
        self._alarms = Alarms()
        self._log_mark = (0.0, 0.0, self._done)

    def complete(self) -> bool:
        """Bring the stage to its end; False where the user asked to stop before. Either way a checkpoint is written."""
        run, stage = self._run, self._stage
        run.progress.begin(stage.name, self._index + 1, len(run.stages), self._settings.steps, self._done)
        with run.processes.first_then_others():
            stage.prepare(run.model, run.out)
        train, heldout = stage.sources()
        self._check_samples(train)
        self._recall()
        trained = stage.trained(run.model)
        frozen = frozen_digests(run.model, trained)
        with only_trained(run.model, trained):
            if not self._steps(train, heldout):
                return False
            run.model.eval()
            stage.finish(run.model, self._finishing(train))
        touched = [name for name, digest in frozen_digests(run.model, trained).items() if frozen[name] != digest]
        if touched:
            raise RecipeError(
                f"Stage {stage.name!r} changed what it does not train: {', '.join(touched[:8])}. Everything outside "
                "`trained` must stay as it is, BatchNorm statistics included. Nothing of this was saved."
            )
        run.save(Position(self._index + 1, 0), {}, {})
        return True

    def _steps(self, train: Source, heldout: Source) -> bool:
        """All remaining optimiser steps; False where the user asked to stop."""
        run, stage, settings = self._run, self._stage, self._settings
        trained = stage.trained(run.model)
        optimiser = Optimiser(run.model, trained, settings)
        if self._done:
            optimiser.load(run.optimiser)
            run.optimiser.clear()
        order = Order(len(train), settings.batch_size, run.seed, stage.name, "train")
        feed = run.iterate(train, order.slices(self._part, range(self._done, settings.steps)))
        facts = {"samples": len(train)}
        resumed = self._done
        began, ready, waited = time.perf_counter(), self._clock.seconds, self._clock.waited_s
        self._log_mark = (began, 0.0, self._done)
        try:
            with Interrupts() as interrupts:
                while self._done < settings.steps:
                    result = self._step(optimiser, to_device(next(feed), run.processes.device))
                    self._clock.seconds = ready + time.perf_counter() - began
                    self._clock.waited_s = waited + feed.waited_s
                    self._tell(result, feed.waited_s)
                    if self._at(settings.heldout_every_steps):
                        self._look(train, heldout)
                        set_modes(run.model, trained)
                    if self._stops(interrupts, optimiser, facts):
                        return False
        finally:
            close(feed)
        if self._done > resumed:
            run.save(Position(self._index, self._done), facts, optimiser.tensors())
        return True

    def _step(self, optimiser: Optimiser, batch: Batch) -> StepResult:
        run, stage = self._run, self._stage
        # Stray draws from torch's own generator become a function of the step, too.
        torch.manual_seed(hash64(run.seed, stage.name, self._done, run.processes.rank) >> 1)
        progress = self._done / max(1, self._settings.steps)
        key = step_key(run.seed, stage.name, "train", self._done, self._part, progress)
        loss, terms = loss_and_terms(stage, run.model, batch, key)
        result = optimiser.update(loss, terms, self._done, run.processes)
        self._done += 1
        self._clock.steps = self._done
        self._clock.windows = self._done * self._settings.batch_size
        # Asking a GPU for a number makes it wait, so there it is done at log steps only.
        if self._controls() and not result.finite:
            raise RecipeError(
                f"The loss of stage {stage.name!r} is not a finite number at step {self._done:,}: "
                f"loss {float(result.loss):g}, gradient norm {float(result.gradient_norm):g}, "
                f"{', '.join(f'{name} {float(term):g}' for name, term in result.terms.items())}. "
                f"The last good checkpoint is kept in {run.checkpoints.folder}. Lower the learning rate, clip lower, "
                "or check the data (`dualwm data check`); changed settings need another --out."
            )
        return result

    def _controls(self) -> bool:
        """Whether this is a step at which to look up: each one on a single CPU, log steps and the like elsewhere."""
        alone = self._run.processes.world == 1 and self._run.processes.device.type == "cpu"
        return alone or self._at(self._settings.log_every_steps) or self._at(self._settings.checkpoint_every_steps)

    def _at(self, every: int | None) -> bool:
        return every is not None and (self._done % every == 0 or self._done == self._settings.steps)

    def _stops(self, interrupts: Interrupts, optimiser: Optimiser, facts: dict[str, int]) -> bool:
        """Write a checkpoint if one is due, and say whether to stop."""
        if not self._controls():
            return False
        run, now = self._run, time.monotonic()
        due = now - run.saved_at >= self._settings.checkpoint_every_s
        stop, due = run.processes.any((interrupts.asked or now >= run.stop_at, due and run.processes.first))
        due = due or self._at(self._settings.checkpoint_every_steps)
        if stop or (due and self._done < self._settings.steps):
            run.save(Position(self._index, self._done), facts, optimiser.tensors())
        return stop

    def _tell(self, result: StepResult, waited_s: float) -> None:
        if not self._at(self._settings.log_every_steps):
            return
        now, (then, waited_then, step_then) = time.perf_counter(), self._log_mark
        self._log_mark = (now, waited_s, self._done)
        seconds = max(now - then, 1e-9)
        steps = self._done - step_then
        pace = Pace(
            step=self._done,
            loss=float(result.loss),
            terms={name: float(term) for name, term in result.terms.items()},
            learning_rate=learning_rate(self._settings, self._done - 1),
            gradient_norm=float(result.gradient_norm),
            windows_per_s=steps * self._settings.batch_size / seconds,
            waiting_share=min(1.0, (waited_s - waited_then) / seconds),
            eta_s=(self._settings.steps - self._done) * seconds / max(steps, 1),
        )
        if self._run.metrics is not None:
            facts = {key: value for key, value in vars(pace).items() if key not in ("step", "eta_s")}
            self._run.metrics.write("train", self._stage.name, self._done, facts)
        self._run.progress.train(pace)

    def _look(self, train: Source, heldout: Source) -> None:
        began = time.perf_counter()
        with unchanged(self._run.model):
            self._run.model.eval()
            # What would be measured if training ended now: trailing BatchNorm statistics would be measured instead.
            self._stage.finish(self._run.model, self._finishing(train))
            vitals = look(self._stage, self._run.model, heldout, self._run)
        then, waited_s, step = self._log_mark
        self._log_mark = (then + time.perf_counter() - began, waited_s, step)
        if self._run.metrics is None:
            return
        name = self._stage.name
        self._run.metrics.write("heldout", name, self._done, vitals.to_plain())
        self._run.progress.look(self._done, vitals)
        share = self._clock.waited_s / max(self._clock.seconds, 1e-9)
        alarms = self._alarms.look(vitals) + self._alarms.waiting(share)
        if self._done >= _GRACE * self._settings.steps:
            for text in alarms:
                self._run.metrics.write("alarm", name, self._done, {"text": text})
                self._run.progress.warn(text)

    def _finishing(self, train: Source) -> Iterator[tuple[Batch, StepKey]]:
        """Endless training batches in an order of their own."""
        run, name = self._run, self._stage.name
        order = Order(len(train), self._settings.batch_size, run.seed, name, "finish")
        step = 0
        while True:
            batch = train.read(order.batch(step)[self._part])
            yield to_device(batch, run.processes.device), step_key(run.seed, name, "finish", step, self._part)
            step += 1

    def _check_samples(self, train: Source) -> None:
        before = self._run.facts["samples"] if self._done else len(train)
        if before != len(train):
            raise DataError(
                f"The run was begun on {before:,} training samples and now finds {len(train):,}. Continuing would not "
                "be the same run. Restore the data set, or give another --out to begin anew."
            )

    def _recall(self) -> None:
        """Let the alarms see the looks of earlier commands."""
        if self._run.metrics is not None and self._done:
            for line in self._run.metrics.lines():
                if line["kind"] == "heldout" and line["stage"] == self._stage.name:
                    self._alarms.look(Vitals.from_plain(line))


@torch.no_grad()
def look(stage: Stage[Model], model: Model, heldout: Source, run: Run[Model]) -> Vitals:
    """Losses over the held-out batches and the vitals of the first of them. Leaves the model in evaluation mode."""
    settings, processes = stage.settings, run.processes
    part = processes.slice(settings.batch_size)
    count = min(settings.heldout_batches, math.ceil(len(heldout) / settings.batch_size))
    order = Order(len(heldout), settings.batch_size, run.seed, stage.name, "heldout")
    feed = run.iterate(heldout, order.slices(part, range(count)))
    model.eval()
    watch, losses = Watch(), list[tuple[torch.Tensor, dict[str, torch.Tensor]]]()
    try:
        for number, batch in enumerate(_on(feed, processes)):
            key = step_key(run.seed, stage.name, "heldout", number, part)
            losses.append(loss_and_terms(stage, model, batch, key))
            if number == 0:
                with autocast(settings, processes.device):
                    watch = stage.watch(model, batch, key)
    finally:
        close(feed)
    loss = torch.stack([loss for loss, _ in losses]).mean()
    terms = {name: torch.stack([terms[name].float() for _, terms in losses]).mean() for name in losses[0][1]}
    return measure(watch, loss, terms, processes)


def _on(feed: Iterable[Batch], processes: Processes) -> Iterator[Batch]:
    for batch in feed:
        yield to_device(batch, processes.device)
