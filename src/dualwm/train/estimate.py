"""How long a run will take and how much room it needs, from a few steps of every stage on this machine."""

import copy
import math
import os
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from dualwm.registry import to_plain
from dualwm.train.distributed import Processes
from dualwm.train.feed import Order, to_device
from dualwm.train.loop import step_key
from dualwm.train.optimise import Optimiser, loss_and_terms, only_trained
from dualwm.train.progress import duration
from dualwm.train.run import Model
from dualwm.train.stage import Stage

_WARM = 3
"""First steps that are not timed: memory is taken and kernels are chosen in them."""


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
    optimiser_bytes: int
    """Gradients and AdamW's two moments."""
    activation_bytes: int
    """Growth of the resident set in a forward pass, or what the GPU held at its peak."""
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
            for s in self.stages
        ]
        low, high = (duration(3600 * hours) for hours in self.hours)
        return "\n".join(
            [*lines, f"In all: {low} to {high}, {self.memory_gb:.1f} GB of memory, {self.disk_gb:.1f} GB of disk."]
        )


def estimate(
    model: Model, stages: Sequence[Stage[Model]], *, seed: int, steps: int = 20, device: torch.device | None = None
) -> Estimate:
    """Time `steps` steps of each stage on a copy of the model. Nothing is written and the model stays as it is."""
    processes = Processes(device=device or torch.device("cpu"))
    process_bytes = resident_bytes()
    parameters = sum(t.numel() * t.element_size() for t in (*model.parameters(), *model.buffers()))
    with torch.random.fork_rng([processes.device] if processes.device.type == "cuda" else []):
        found = tuple(_stage(copy.deepcopy(model), stage, seed, steps, processes) for stage in stages)
    return Estimate(stages=found, parameter_bytes=parameters, process_bytes=process_bytes)


def _stage(model: Model, stage: Stage[Model], seed: int, steps: int, processes: Processes) -> StageEstimate:
    settings, device = stage.settings, processes.device
    rehearsal = stage.rehearsal(model)
    order = Order(len(rehearsal.source), settings.batch_size, seed, stage.name, "estimate")
    part = slice(0, settings.batch_size)
    reading, forward, whole, memory = list[float](), list[float](), list[float](), list[int]()
    trained = stage.trained(model)
    with only_trained(model, trained):
        optimiser = Optimiser(model, trained, settings)
        for step in range(_WARM + steps):
            before, began = _used(device), time.perf_counter()
            batch = to_device(rehearsal.source.read(order.batch(step)), device)
            read = time.perf_counter()
            loss, terms = loss_and_terms(stage, model, batch, step_key(seed, stage.name, "train", step, part))
            stepped = _used(device) - before
            done_forward = _now(device)
            optimiser.update(loss, terms, step, processes)
            del loss, terms
            ended = _now(device)
            memory.append(max(0, stepped))
            reading.append(read - began)
            forward.append(done_forward - read)
            whole.append(ended - began)
    looks = settings.heldout_batches * math.ceil(settings.steps / settings.heldout_every_steps)
    compute = [w - r for w, r in zip(whole[_WARM:], reading[_WARM:], strict=True)]
    low = settings.steps * _quantile(compute, 0.25) + looks * _quantile(forward[_WARM:], 0.25)
    high = settings.steps * _quantile(whole[_WARM:], 0.9) + looks * (max(forward[_WARM:]) + max(reading[_WARM:]))
    return StageEstimate(
        name=stage.name,
        steps=settings.steps,
        prepare_s=rehearsal.prepare_s,
        seconds=(0.8 * rehearsal.prepare_s + low, 1.3 * rehearsal.prepare_s + 1.2 * high),
        step_ms=1000 * statistics.median(whole[_WARM:]),
        optimiser_bytes=_optimiser_bytes(trained),
        activation_bytes=max(memory),
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


def _used(device: torch.device) -> int:
    return torch.cuda.memory_allocated(device) if device.type == "cuda" else resident_bytes()


def resident_bytes() -> int:
    """Memory this process occupies now; where the system does not tell, the most it ever occupied."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        if sys.platform == "win32":
            return 0
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


def _gb(number: int) -> str:
    return f"{number / 1e9:.2f} GB"
