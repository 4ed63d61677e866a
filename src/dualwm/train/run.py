"""A run across its stages: where it stands, what a checkpoint holds, and how it is found again."""

import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch
from torch import nn

from dualwm.errors import RecipeError, SystemFolderError
from dualwm.registry import to_plain
from dualwm.shapes import Tensor
from dualwm.train.checkpoint import Checkpoints, Position, Saved
from dualwm.train.distributed import Processes
from dualwm.train.feed import Iterate
from dualwm.train.folder import claim, locked
from dualwm.train.metrics import Metrics
from dualwm.train.progress import Progress
from dualwm.train.stage import Stage, StageSettings

Model = TypeVar("Model", bound=nn.Module)

CADENCE = ("checkpoint_every_s", "checkpoint_every_steps")
"""Settings that may change between two commands: they touch neither weights nor metrics."""


@dataclass
class StageClock:
    """Work done in one stage over all commands that worked on it."""

    steps: int = 0
    windows: int = 0
    seconds: float = 0.0
    waited_s: float = 0.0


@dataclass
class Run(Generic[Model]):
    """What the stages of a run share."""

    model: Model
    stages: Sequence[Stage[Model]]
    out: Path
    seed: int
    processes: Processes
    iterate: Iterate
    progress: Progress
    checkpoints: Checkpoints
    stop_at: float
    """`time.monotonic()` at which to stop after a checkpoint."""
    start: Position = field(default_factory=lambda: Position(0, 0))
    """Where this command begins, and with what the checkpoint there said."""
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    optimiser: dict[str, Tensor] = field(default_factory=dict[str, Tensor])
    metrics: Metrics | None = None
    """None on all processes but the first, and where nothing is left to do."""
    clocks: dict[str, StageClock] = field(default_factory=dict[str, StageClock])
    saved_at: float = field(default_factory=time.monotonic)

    @property
    def finished(self) -> bool:
        """Whether there was nothing left to do when this command began."""
        return self.start.stage >= len(self.stages)

    def load(self, saved: Saved) -> None:
        """Begin where a checkpoint ended."""
        load_model(self.model, _with_prefix("model/", saved.tensors))
        self.start, self.facts, self.optimiser = saved.position, saved.facts, _with_prefix("optimiser/", saved.tensors)
        self.clocks = {name: StageClock(**clock) for name, clock in saved.facts["clocks"].items()}

    def save(self, position: Position, facts: Mapping[str, Any], optimiser: Mapping[str, Tensor]) -> None:
        """Write a checkpoint, its metrics lines first."""
        if self.metrics is not None:
            self.metrics.sync()
            tensors = {f"model/{name}": tensor for name, tensor in model_tensors(self.model).items()}
            tensors |= {f"optimiser/{name}": tensor for name, tensor in optimiser.items()}
            clocks = {name: vars(clock) for name, clock in self.clocks.items()}
            self.checkpoints.save(position, tensors, {**facts, "clocks": clocks})
        self.saved_at = time.monotonic()


@contextmanager
def opened(run: Run[Model], settings: Mapping[str, Any], tensorboard: bool) -> Generator[Run[Model], None, None]:
    """The run with its folder claimed and locked, its newest checkpoint loaded and its metrics cut to it."""
    with ExitStack() as stack:
        first = run.processes.first
        if first:
            stack.enter_context(locked(run.out))
            claim(run.out, describe(run.stages, run.seed, settings))
        saved = _same_everywhere(run.checkpoints.newest(run.progress.warn) if first else None, run)
        if saved is not None:
            run.load(saved)
        run.processes.share(list(model_tensors(run.model).values()))
        if first and not run.finished:
            steps = {stage.name: stage.settings.steps for stage in run.stages}
            run.metrics = Metrics(run.out, steps, run.start, tensorboard)
            stack.callback(run.metrics.close)
        stack.callback(run.progress.close)
        yield run


def describe(stages: Iterable[Stage[Model]], seed: int, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that decides the weights, as plain data: what `run.json` holds and a later command must repeat."""
    described: dict[str, Any] = {}
    for stage in stages:
        if stage.name in described:
            raise RecipeError(f"Two stages are named {stage.name!r}; a stage's name keys its order and noise.")
        described[stage.name] = {"settings": _lasting(stage.settings), "weights": dict(stage.weights)}
    return {"seed": seed, "stages": described, "order": list(described), "recipe": to_plain(settings)}


def model_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Parameters and persistent buffers by name, tied ones once."""
    tensors: dict[str, Tensor] = {}
    seen: set[int] = set()
    for name, tensor in model.state_dict(keep_vars=True).items():
        if id(tensor) not in seen:
            seen.add(id(tensor))
            tensors[name] = tensor.detach()
    return tensors


def load_model(model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Copy checkpointed tensors into the model's own memory."""
    own = model_tensors(model)
    wrong = sorted(own.keys() ^ tensors.keys()) or [n for n in own if own[n].shape != tensors[n].shape]
    if wrong:
        raise SystemFolderError(
            f"The checkpoint does not fit the model: {', '.join(wrong[:8])} {'...' if len(wrong) > 8 else ''} "
            "exist on one side only or have another shape. Was the model's code changed since the run began? "
            "Continue with the version that began it, or give another --out."
        )
    with torch.no_grad():
        for name, tensor in own.items():
            tensor.copy_(tensors[name])


def _lasting(settings: StageSettings) -> dict[str, Any]:
    return {key: value for key, value in vars(settings).items() if key not in CADENCE}


def _with_prefix(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _same_everywhere(saved: Saved | None, run: Run[Model]) -> Saved | None:
    """The first process chooses the checkpoint; the others read the same one (from a file system they share)."""
    mine = saved.position if saved else Position(0, 0)
    found, stage, step = run.processes.tell([int(saved is not None), mine.stage, mine.step])
    if run.processes.first or not found:
        return saved
    return run.checkpoints.load(Position(stage, step).name)
