"""What a method is to the rest of the package: a named configuration that builds a model, its training and its controller.

A new system is one file with one frozen dataclass registered under the kind "method". Nothing else asks which one it is.
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
from dualwm.reduce import ALONE, Reduce
from dualwm.states import State
from dualwm.train.stage import Stage

Draw = Callable[[NDArray[Any], int], NDArray[np.uint8]]


@dataclass(frozen=True, kw_only=True)
class TrainingInputs:
    """What a method's stages read from."""

    store: Store
    split: Split
    normalizer: Normalizer
    draw: Mapping[str, Draw]
    """By camera: pictures (n, size, size, 3) from states (n, w), for columns that are drawn when read."""
    image_size: int
    """Side of a drawn picture in pixels."""
    reduce: Reduce = ALONE


@dataclass(frozen=True, kw_only=True)
class Acting:
    """What a controller needs besides the model."""

    action_dim: int
    action_low: float
    action_high: float
    discrete_values: int | None
    normalizer: Normalizer
    action_column: str = "action"
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))


class Method(Protocol):
    """A system's configuration. It is plain data: fields, no code."""

    def build(self) -> nn.Module:
        """The model at random weights."""
        ...

    def stages(self, inputs: TrainingInputs) -> Sequence[Stage[Any]]:
        """How it is trained, stage after stage."""
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

    def describe(self, model: nn.Module, frames: Mapping[str, NDArray[np.uint8]]) -> Mapping[str, State]:
        """Named latents of frames, such as "low" and "high", for banks, heat maps and diagnostics."""
        ...
