"""What stages that read windows share. A method's own stage adds name, weights, trained modules, terms and watch."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from dualwm.loss.lore import Rollout
from dualwm.train.stage import Batch, Rehearsal, Source, StageSettings, StepKey
from dualwm.zoo.method import Sees, TrainingInputs
from dualwm.zoo.sources import window_sources


def horizon(rollout: Rollout, step: StepKey) -> int:
    """How many steps this training step rolls out: the same on every process."""
    uniform = float(torch.rand((), generator=step.generator("horizon")))
    return rollout.horizon_at(step.progress, uniform)


class WindowStage:
    """Windows of one length, nothing to prepare and nothing to finish."""

    def __init__(
        self, settings: StageSettings, inputs: TrainingInputs, sees: Sees, *, frame_skip: int, low_steps: int
    ) -> None:
        self.settings, self.inputs, self.sees = settings, inputs, sees
        self.frame_skip, self.low_steps = frame_skip, low_steps

    def prepare(self, model: Any, out: Path) -> None:
        """Nothing to prepare."""

    def sources(self) -> tuple[Source, Source]:
        """Windows of the training and of the held-out episodes, actions and proprio normalised."""
        return window_sources(self.inputs, self.sees, frame_skip=self.frame_skip, low_steps=self.low_steps)

    def finish(self, model: Any, batches: Iterator[tuple[Batch, StepKey]]) -> None:
        """Nothing to finish."""

    def rehearsal(self, model: Any) -> Rehearsal:
        """Training windows as they are."""
        return Rehearsal(source=self.sources()[0])
