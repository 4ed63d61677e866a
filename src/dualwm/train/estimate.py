"""How long a run will take and how much room it needs, from a few steps of every stage on this machine."""

import copy
import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import nn

from dualwm.registry import to_plain
from dualwm.shapes import Tensor
from dualwm.train.distributed import Processes
from dualwm.train.feed import Order, to_device
from dualwm.train.loop import step_key
from dualwm.train.memory import free_bytes, resident_bytes, used_bytes
from dualwm.train.optimise import Optimiser, loss_and_terms, only_trained
from dualwm.train.progress import Progress, Silent, duration
from dualwm.train.run import Model
from dualwm.train.stage import Rehearsal, Source, Stage

_WARM = 3
"""First steps that are not timed: memory is taken and kernels are chosen in them."""
_FIRST_PART = 4
"""Samples to begin with: how much of a batch can be timed is found by doubling."""


@dataclass(frozen=True, kw_only=True)
class StageEstimate:
    """What one stage will need. Times are (low, high): a quiet machine with reading hidden, and a busy one without."""

    name: str
    steps: int
    prepare_s: float
    seconds: tuple[float, float]
    """The whole stage, `prepare` and looks at held-out data included."""
    step_ms: float
    """Median optimiser step, reading included."""
    batch_size: int
    timed_samples: int
    """Samples of a batch that were timed. If they are fewer than `batch_size`, times and activations are scaled."""
    optimiser_bytes: int
    """Gradients and AdamW's two moments."""
    activation_bytes: int
    """Growth of the resident set (or of what the GPU holds) in reading a batch and a forward pass."""
    disk_bytes: int


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """What the run will need."""

    stages: tuple[StageEstimate, ...]
    parameter_bytes: int
    process_bytes: int
    """Resident set before training: Python, torch, the model."""

    @property
    def hours(self) -> tuple[float, float]:
        """Low and high."""
        low, high = (sum(stage.seconds[i] for stage in self.stages) / 3600 for i in (0, 1))
        return low, high

    @property
    def memory_gb(self) -> float:
        """Of the hungriest stage."""
        return (self.process_bytes + max(s.optimiser_bytes + s.activation_bytes for s in self.stages)) / 1e9

    @property
    def disk_gb(self) -> float:
        """What the stages prepare, and two checkpoints of the largest stage with one being written."""
        largest = max(self.parameter_bytes + s.optimiser_bytes for s in self.stages)
        return (sum(s.disk_bytes for s in self.stages) + 3 * largest) / 1e9

    def to_plain(self) -> dict[str, Any]:
        """JSON data, totals included."""
        return {**to_plain(self), "hours": self.hours, "memory_gb": self.memory_gb, "disk_gb": self.disk_gb}

    def text(self) -> str:
        """A few lines for the user."""
        lines = [
            f"{s.name}: {s.steps:,} steps of {s.step_ms:.0f} ms"
            + (f" after {duration(s.prepare_s)} of preparation" if s.prepare_s else "")
            + f", {duration(s.seconds[0])} to {duration(s.seconds[1])}; "
            f"activations {_gb(s.activation_bytes)}, gradients and optimiser {_gb(s.optimiser_bytes)}, "
            f"disk {_gb(s.disk_bytes)}"
            + (f" (scaled from {s.timed_samples} of {s.batch_size} samples)" if s.timed_samples < s.batch_size else "")
            for s in self.stages
        ]
        low, high = (duration(3600 * hours) for hours in self.hours)
        return "\n".join(
            [*lines, f"In all: {low} to {high}, {self.memory_gb:.1f} GB of memory, {self.disk_gb:.1f} GB of disk."]
        )


def estimate(
    model: Model,
    stages: Sequence[Stage[Model]],
    *,
    seed: int,
    steps: int = 20,
    patience_s: float = 60.0,
    device: torch.device | None = None,
    progress: Progress | None = None,
    data_share: float = 1.0,
) -> Estimate:
    """Time `steps` steps of each stage on a copy of the model. Nothing is written and the model stays as it is.

    A batch too large for the memory or the patience is timed in part, and scaled. A stage whose steps take long is left
    after `patience_s` and fewer steps, two at least. The stages may stand on a `data_share` of the rows there will be.
    """
    progress = progress or Silent()
    processes = Processes(device=device or torch.device("cpu"))
    process_bytes = resident_bytes()
    parameters = sum(t.numel() * t.element_size() for t in (*model.parameters(), *model.buffers()))
    found: list[StageEstimate] = []
    with torch.random.fork_rng([processes.device] if processes.device.type == "cuda" else []):
        for stage in stages:
            progress.note(f"Timing {steps} steps of stage {stage.name}.")
            copied = copy.deepcopy(model)
            rehearsal = stage.rehearsal(copied)
            timing = _Timing(patience_s=patience_s, tell=progress.note)
            timing.run(copied, stage, rehearsal.source, processes, seed, steps)
            whole = replace(
                rehearsal,
                prepare_s=rehearsal.prepare_s / data_share,
                disk_bytes=round(rehearsal.disk_bytes / data_share),
            )
            found.append(_extrapolate(stage, stage.trained(copied), whole, timing))
    return Estimate(stages=tuple(found), parameter_bytes=parameters, process_bytes=process_bytes)


@dataclass
class _Timing:
    """Seconds of the timed steps, and the bytes a forward pass took, on a part of the batch."""

    patience_s: float
    tell: Callable[[str], None]
    samples: int = _FIRST_PART
    reading: list[float] = field(default_factory=list[float])
    forward: list[float] = field(default_factory=list[float])
    whole: list[float] = field(default_factory=list[float])
    activation_bytes: int = 0

    def run(
        self, model: Model, stage: Stage[Model], source: Source, processes: Processes, seed: int, steps: int
    ) -> None:
        size, device = stage.settings.batch_size, processes.device
        order = Order(len(source), size, seed, stage.name, "estimate")
        trained = stage.trained(model)
        deadline = time.monotonic() + self.patience_s

        def forward(step: int) -> tuple[float, Tensor, dict[str, Tensor]]:
            """When the batch was read, then its loss and terms."""
            batch = to_device(source.read(order.batch(step)[: self.samples]), device)
            read = _now(device)
            key = step_key(seed, stage.name, "train", step, slice(0, self.samples))
            return read, *loss_and_terms(stage, model, batch, key)

        with only_trained(model, trained):
            self._find_part(lambda: forward(0), size, device, self.patience_s / (_WARM + steps))
            optimiser = Optimiser(model, trained, stage.settings)
            for step in range(_WARM + steps):
                began = _now(device)
                read, loss, terms = forward(step)
                forwarded = _now(device)
                optimiser.update(loss, terms, step, processes)
                del loss, terms
                if step >= _WARM:
                    self.reading.append(read - began)
                    self.forward.append(forwarded - read)
                    self.whole.append(_now(device) - began)
                if len(self.whole) >= 2 and time.monotonic() > deadline:
                    return

    def _find_part(self, forward: Callable[[], object], size: int, device: torch.device, step_s: float) -> None:
        """Double the samples while the next step would take less than `step_s` and half of the free memory."""
        self.samples = min(self.samples, size)
        before, free = used_bytes(device), free_bytes(device)
        forward()  # whatever is done once and for all
        while True:
            began = _now(device)
            graph = forward()
            seconds = _now(device) - began
            self.activation_bytes = max(0, used_bytes(device) - before)
            del graph
            if self.samples == size:
                return
            # A backward pass takes twice as long as a forward one, and no more memory than that again.
            if 2 * 3 * seconds > step_s or 2 * 2 * self.activation_bytes > free / 2:
                self.tell(f"A whole batch is too much to time here: {self.samples} of its {size} samples are.")
                return
            self.samples = min(2 * self.samples, size)


def _extrapolate(
    stage: Stage[Model], trained: Sequence[nn.Module], rehearsal: Rehearsal, timing: _Timing
) -> StageEstimate:
    settings = stage.settings
    scale = settings.batch_size / timing.samples
    looks = settings.heldout_batches * math.ceil(settings.steps / settings.heldout_every_steps)
    compute = [whole - reading for whole, reading in zip(timing.whole, timing.reading, strict=True)]
    low = scale * (settings.steps * _quantile(compute, 0.25) + looks * _quantile(timing.forward, 0.25))
    high = scale * (settings.steps * _quantile(timing.whole, 0.9) + looks * (max(timing.forward) + max(timing.reading)))
    return StageEstimate(
        name=stage.name,
        steps=settings.steps,
        prepare_s=rehearsal.prepare_s,
        seconds=(0.8 * rehearsal.prepare_s + low, 1.3 * rehearsal.prepare_s + 1.2 * high),
        step_ms=1000 * scale * statistics.median(timing.whole),
        batch_size=settings.batch_size,
        timed_samples=timing.samples,
        optimiser_bytes=_optimiser_bytes(trained),
        activation_bytes=round(scale * timing.activation_bytes),
        disk_bytes=rehearsal.disk_bytes,
    )


def _optimiser_bytes(trained: Sequence[nn.Module]) -> int:
    unique = {id(p): p for module in trained for p in module.parameters()}
    return sum(3 * p.numel() * p.element_size() for p in unique.values())


def _quantile(values: Sequence[float], q: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))]


def _now(device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


def _gb(number: int) -> str:
    return f"{number / 1e9:.2f} GB"
