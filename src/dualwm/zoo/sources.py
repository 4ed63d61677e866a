"""Windows as a method reads them: what its model sees, actions as normalised blocks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dualwm.data.normalize import Normalizer
from dualwm.data.windows import Windows
from dualwm.shapes import Tensor
from dualwm.states import State
from dualwm.train.stage import Batch
from dualwm.zoo.method import Sees, TrainingInputs

Encode = Callable[[dict[str, Tensor], dict[str, Tensor]], State]
"""(frames by camera, normalised proprio by column), rows first -> the states of the rows."""


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


def window_sources(
    inputs: TrainingInputs, sees: Sees, *, frame_skip: int, low_steps: int
) -> tuple[Normalised, Normalised]:
    """Training and held-out windows of `low_steps` frames."""

    def windows(episodes: Sequence[int]) -> Normalised:
        found = Windows(
            inputs.store,
            episodes,
            frame_skip=frame_skip,
            low_steps=low_steps,
            cameras=[name for name, _, _ in sees.cameras],
            size=inputs.image_size,
            draw=inputs.draw,
            proprio=[name for name, _ in sees.proprio],
        )
        return Normalised(found, inputs.normalizer, inputs.store.action().name)

    return windows(inputs.split.train), windows(inputs.split.heldout)


def encode_windows(encode: Encode, batch: Batch, sees: Sees) -> State:
    """The states (b, t) of every frame of a batch of windows, in float32."""
    b, t = batch["actions"].shape[:2]
    frames = {name: batch[f"frames/{name}"].flatten(0, 1) for name, _, _ in sees.cameras}
    proprio = {name: batch[f"proprio/{name}"].flatten(0, 1) for name, _ in sees.proprio}
    return encode(frames, proprio).map(lambda x: x.float().reshape(b, t, *x.shape[1:]))
