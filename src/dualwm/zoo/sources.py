"""Windows as a method reads them: the model's cameras drawn at its size, actions as normalised blocks."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from dualwm.data.normalize import Normalizer
from dualwm.data.windows import Windows
from dualwm.model.dual import ModelConfig
from dualwm.shapes import Tensor
from dualwm.train.stage import Source
from dualwm.zoo.method import TrainingInputs


@dataclass(frozen=True)
class Normalised:
    """A source of windows with normalised actions and proprio."""

    windows: Windows
    normalizer: Normalizer
    action_column: str

    def __len__(self) -> int:
        return len(self.windows)

    def read(self, indices: NDArray[np.int64]) -> dict[str, Tensor]:
        """The windows of these numbers; blocks never taken become the mean action."""
        batch = self.windows.read(indices)
        batch["actions"] = self.normalizer.normalize_blocks(self.action_column, batch["actions"])
        for name in self.windows.proprio:
            batch[f"proprio/{name}"] = self.normalizer.normalize(name, batch[f"proprio/{name}"])
        return batch


def low_steps_source(
    inputs: TrainingInputs, config: ModelConfig, low_steps: int, stage: str, pixels: bool = True
) -> tuple[Source, Source]:
    """Training and held-out windows of `low_steps` frames."""
    del stage
    return tuple(  # pyright: ignore[reportReturnType]
        Normalised(
            windows_of(inputs, config, low_steps, episodes, pixels), inputs.normalizer, inputs.store.action().name
        )
        for episodes in (inputs.split.train, inputs.split.heldout)
    )


def windows_of(
    inputs: TrainingInputs, config: ModelConfig, low_steps: int, episodes: Sequence[int], pixels: bool
) -> Windows:
    """Windows over some episodes, with the pictures the model sees or without any."""
    encoder = config.low.encoder
    return Windows(
        inputs.store,
        episodes,
        frame_skip=config.frame_skip,
        low_steps=low_steps,
        cameras=[name for name, _, _ in encoder.cameras] if pixels else (),
        size=inputs.image_size,
        draw=inputs.draw,
        proprio=[name for name, _ in encoder.proprio] if pixels else (),
    )


def pin(batch: dict[str, Tensor]) -> dict[str, Tensor]:
    """Page-locked copies where a GPU will read them."""
    return {name: x.pin_memory() for name, x in batch.items()} if torch.cuda.is_available() else batch
