"""Ground the toy systems stand on: the world they act in, and what methods of one level have in common.

The world is TwoRoom seen through two cameras, one of them not square.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from dualwm.data.normalize import Normalizer
from dualwm.envs.tworoom import TwoRoom
from dualwm.loss.lore import Rollout
from dualwm.model.encoder import ConvEncoder, Encoder
from dualwm.plan.controller import ThreeStage
from dualwm.plan.settings import PlannerSettings
from dualwm.registry import nested
from dualwm.states import State
from dualwm.train.stage import StageSettings, Watch
from dualwm.zoo.method import Acting, Sight, TrainingInputs
from dualwm.zoo.planning import PlanningModel, frozen_copy, planner_settings, three_stage
from dualwm.zoo.recipe import Recipe
from dualwm.zoo.rollouts import roll_out, state_errors, state_lore
from dualwm.zoo.sources import encode_windows
from dualwm.zoo.stages import WindowStage, horizon

FRAME_SKIP = 5
BLOCK = 2 * FRAME_SKIP
"""Width of an action block."""
WIDTH = 8
"""Width of a toy latent."""
HEIGHT = 16
FRONT = ("front", HEIGHT, HEIGHT)
SIDE = ("side", HEIGHT, HEIGHT // 2)
EPISODES = 24
ONE_STEP = StageSettings(steps=1, batch_size=8, learning_rate=1e-2, heldout_every_steps=1, heldout_batches=1)
PLANNER: Mapping[str, Any] = {
    "low_search": "6/2/3",
    "high_search": "6/2/3",
    "low_plan_steps": 5,
    "high_plan_steps": 2,
    "guided_decisions": 0,
    "tile_rows": 16,
    "bounds": "clip",
}


@dataclass(frozen=True, kw_only=True)
class TwoCameras(TwoRoom):
    """TwoRoom whose second camera sees the left half only: pictures half as wide as high."""

    name = "two_cameras"
    cameras = ("front", "side")
    columns = (
        *(spec for spec in TwoRoom.columns if spec.kind == "array"),
        *(
            replace(spec, name=camera, camera=camera, drawer="two_cameras")
            for spec in TwoRoom.columns
            if spec.kind == "drawn"
            for camera in ("front", "side")
        ),
    )

    def draw(self, states, size, camera="front"):
        front = super().draw(states, size)
        return front if camera == "front" else front[:, :, : size // 2]


def announce(folder: Path) -> Path:
    """Make of a folder what an installed package is to Python, with the toys' world and methods as its entry points."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in ("__init__", "shared"))
    parts = "\n".join(f"{name} = toys_systems.{name}" for name in names)
    info = folder / "toys_systems-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toys-systems\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        f"[dualwm.worlds]\ntwo_cameras = toys_systems.shared:TwoCameras\n\n[dualwm.parts]\n{parts}\n"
    )
    return folder


def recipe_of(toy: Any) -> Recipe:
    """The recipe of a toy's file."""
    return Recipe(
        name=f"toys/{toy.__name__.rpartition('.')[2]}",
        world="two_cameras",
        image_size=HEIGHT,
        episodes=EPISODES,
        method=toy.METHOD,
        planner={"25": toy.PLANNER},
    )


@dataclass(frozen=True, kw_only=True)
class OneLevel:
    """What toys of one state space answer alike.

    A toy adds `build`. Its model has `encode`, `dynamics` and `learned`, the modules that are trained.
    """

    cameras: tuple[tuple[str, int, int], ...] = (FRONT,)
    proprio: tuple[tuple[str, int], ...] = ()
    rollout: Rollout = nested(Rollout, Rollout(steps=3))
    stage: StageSettings = nested(StageSettings, ONE_STEP)

    @property
    def sees(self) -> Sight:
        return Sight(cameras=self.cameras, proprio=self.proprio)

    @property
    def action_dim(self) -> int:
        return BLOCK // FRAME_SKIP

    def stages(self, inputs: TrainingInputs) -> Sequence[Any]:
        return [RolloutStage(self, inputs)]

    def low_steps(self) -> int:
        return self.rollout.steps + 2

    def geometry(self):
        return [("low", FRAME_SKIP, self.low_steps())]

    def variants(self) -> Mapping[str, Mapping[str, Any]]:
        return {"full": {}}

    def settings(self, plain: Mapping[str, Any], where: str) -> PlannerSettings:
        return planner_settings(plain, where)

    def callables(self, model: Any, normalizer: Normalizer) -> PlanningModel:
        return PlanningModel(
            sees=self.sees,
            normalizer=normalizer,
            encoder=model.encode,
            low=model.dynamics.rollout,
            low_history=model.dynamics.history,
        )

    def controller(self, model: nn.Module, settings: PlannerSettings, acting: Acting) -> ThreeStage:
        frozen = frozen_copy(model, acting, settings.precision)
        return three_stage(self.callables(frozen, acting.normalizer), settings, acting, frame_skip=FRAME_SKIP)

    def describe(self, model, observation, normalizer) -> Mapping[str, State]:
        return {"low": self.callables(model, normalizer).encode(observation)}


class RolloutStage(WindowStage):
    """LoRe over whatever state the toy has."""

    name = "low"
    weights: Mapping[str, float] = {"lore": 1.0}

    def __init__(self, method: OneLevel, inputs: TrainingInputs) -> None:
        super().__init__(method.stage, inputs, method.sees, frame_skip=FRAME_SKIP, low_steps=method.low_steps())
        self.rollout = method.rollout

    def trained(self, model) -> list[nn.Module]:
        return model.learned()

    def terms(self, model, batch, step) -> dict[str, torch.Tensor]:
        z, steps = self.encoded(model, batch), horizon(self.rollout, step)
        predicted, target = roll_out(model.dynamics, z, batch["actions"], steps, self.rollout.mode)
        return {"lore": state_lore(predicted, target, self.rollout)}

    def watch(self, model, batch, step) -> Watch:
        z = self.encoded(model, batch)
        predicted, target = roll_out(model.dynamics, z, batch["actions"], self.rollout.steps, self.rollout.mode)
        return Watch(rollout_error={"low": state_errors(predicted, target)}, latents={"low": z.latent.flatten(0, 1)})

    def encoded(self, model, batch) -> State:
        return encode_windows(model.encode, batch, self.sees)


def small_encoder(*cameras: tuple[str, int, int]) -> Encoder:
    return Encoder(ConvEncoder(cameras=cameras, channels=(4, 8), projector_hidden=16), WIDTH)


def mlp(width_in: int, width_out: int, hidden: int = 16) -> nn.Sequential:
    return nn.Sequential(nn.Linear(width_in, hidden), nn.SiLU(), nn.Linear(hidden, width_out))
