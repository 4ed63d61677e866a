"""One step of all terms of Eq. (7), on made-up clips, for as many processes as are asked for: see train_toy."""

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
import zoo_toy
from train_toy import one_step

from dualwm.loss.maps import Maps
from dualwm.train.distributed import Processes
from dualwm.train.noise import normals, uniforms
from dualwm.zoo.dual_wm import JointStage, low_steps_needed

BASE = zoo_toy.method()
METHOD = replace(
    BASE,
    schedule="joint",
    high=replace(BASE.high, repeated_share=0.6, maps=Maps(free_bits=0.3)),
    low_stage=replace(BASE.low_stage, batch_size=16),
)
"""Dropout, frames repeated at starts and as targets, BatchNorm, two cameras; free bits that half a batch would meet and
the whole does not, or the other way about."""


@dataclass(frozen=True)
class Clips:
    """Pictures of noise, actions and proprio, made from their numbers."""

    low_steps: int

    def __len__(self) -> int:
        return 40

    def read(self, indices: np.ndarray) -> dict[str, torch.Tensor]:
        t, sees = self.low_steps, METHOD.sees
        batch = {
            f"frames/{name}": torch.from_numpy(256 * uniforms(i, indices, (t, height, width, 3))).to(torch.uint8)
            for i, (name, height, width) in enumerate(sees.cameras)
        }
        batch["actions"] = torch.from_numpy(normals(7, indices, (t, METHOD.model.block_width))).float()
        for name, width in sees.proprio:
            batch[f"proprio/{name}"] = torch.from_numpy(normals(8, indices, (t, width))).float()
        return batch


def gradients(out: Any, processes: Processes) -> None:
    """One joint step."""
    inputs: Any = SimpleNamespace(reduce=processes)
    stage = JointStage(METHOD.model, METHOD.low_stage, METHOD.low, METHOD.high, inputs)
    clips = Clips(low_steps_needed("joint", METHOD.model, METHOD.low, METHOD.high))
    one_step(out, processes, stage, zoo_toy.stirred(METHOD), clips)
