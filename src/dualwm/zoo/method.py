"""What a method is to the rest of the package: a named configuration that builds model, training and controller.

A new system is one file with one frozen dataclass registered under the kind "method". Nothing else asks which it is.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from dualwm.data.normalize import Normalizer
from dualwm.data.split import Split
from dualwm.data.store import Store
from dualwm.evaluate.needs import Controller
from dualwm.records import Observation
from dualwm.reduce import ALONE, Reduce
from dualwm.states import State
from dualwm.train.stage import Stage

Draw = Callable[[NDArray[Any], int], NDArray[np.uint8]]


class Sees(Protocol):
    """What a model is shown, and nothing else. Encoder configurations are such values."""

    @property
    def cameras(self) -> tuple[tuple[str, int, int], ...]:
        """(name, height, width) in pixels of every camera."""
        ...

    @property
    def proprio(self) -> tuple[tuple[str, int], ...]:
        """(column, width) of every proprioceptive column."""
        ...


@dataclass(frozen=True, kw_only=True)
class Sight:
    """`Sees` as a plain value."""

    cameras: tuple[tuple[str, int, int], ...] = ()
    proprio: tuple[tuple[str, int], ...] = ()


BLIND = Sight()
"""Nothing is shown: actions alone."""


@dataclass(frozen=True, kw_only=True)
class TrainingInputs:
    """What a method's stages read from."""

    store: Store
    split: Split
    normalizer: Normalizer
    draw: Mapping[str, Draw]
    """By camera: pictures (n, height, width, 3) from states (n, w) and a height, for columns drawn when read."""
    image_size: int
    """Height of a drawn picture in pixels."""
    reduce: Reduce = ALONE


@dataclass(frozen=True, kw_only=True)
class Acting:
    """What a controller needs besides the model."""

    action_dim: int
    action_low: tuple[float, ...]
    """Per action component, or one number for all."""
    action_high: tuple[float, ...]
    discrete_values: int | None
    """Of one-hot actions: how many; None for continuous ones."""
    normalizer: Normalizer
    action_column: str = "action"
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    observe: Callable[[NDArray[Any]], Observation] | None = None
    """What the model is shown of simulator states (b, w), where there is a world: goals may then be states."""


class Method(Protocol):
    """A system's configuration. It is plain data: fields, no code."""

    @property
    def sees(self) -> Sees:
        """What its model is shown."""
        ...

    @property
    def action_dim(self) -> int | None:
        """Width of the environment actions its model was sized for; None where any will do."""
        ...

    def build(self) -> nn.Module:
        """The model at random weights."""
        ...

    def stages(self, inputs: TrainingInputs) -> Sequence[Stage[Any]]:
        """How it is trained, stage after stage; nothing for a method that learns nothing."""
        ...

    def geometry(self) -> Sequence[tuple[str, int, int]]:
        """(stage, frame_skip, low steps) of the windows each stage reads, for `data check`."""
        ...

    def variants(self) -> Mapping[str, Mapping[str, Any]]:
        """Named planner variants: what each changes in the planner settings. "full" changes nothing."""
        ...

    def settings(self, plain: Mapping[str, Any], where: str) -> Any:
        """Planner settings from plain data; unknown keys are refused."""
        ...

    def controller(self, model: nn.Module, settings: Any, acting: Acting) -> Controller:
        """A controller over the model."""
        ...

    def describe(self, model: nn.Module, observation: Observation, normalizer: Normalizer) -> Mapping[str, State]:
        """Named latents of what is seen, such as "low" and "high", for banks, heat maps and diagnostics."""
        ...
