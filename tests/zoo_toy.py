"""A Dual-WM small enough for tests, its System, and the data it trains on: two cameras and a column of proprio."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import torch
from toys_systems.shared import FRONT, HEIGHT, SIDE, TwoCameras

from dualwm.data.collect import collect
from dualwm.data.normalize import Normalizer, Scale
from dualwm.data.split import Split
from dualwm.data.store import Store
from dualwm.envs.base import episodes
from dualwm.loss.gaussian import Gaussian
from dualwm.loss.lore import Rollout
from dualwm.model.dual import DualWM, HighConfig, LowConfig, ModelConfig
from dualwm.model.encoder import ConvEncoder
from dualwm.model.macro import VariationalMacro
from dualwm.model.window_encoder import TransformerWindow
from dualwm.nets.batchnorm import batchnorms
from dualwm.nets.transformer import TransformerSize
from dualwm.train.stage import StageSettings
from dualwm.zoo.dual_wm import HighObjective, LowObjective
from dualwm.zoo.dual_wm_method import DualWMMethod
from dualwm.zoo.method import TrainingInputs
from dualwm.zoo.recipe import Recipe
from dualwm.zoo.system import System
from dualwm.zoo.training import inputs_of

WORLD = TwoCameras()
SIZE = TransformerSize(depth=1, heads=2, head_width=4, hidden=16, dropout=0.1)
SETTINGS = StageSettings(steps=3, batch_size=8, learning_rate=1e-2, heldout_every_steps=3, heldout_batches=1)
PLANNER = {"low_search": "6/2/3", "high_search": "6/2/3", "low_plan_steps": 4, "high_plan_steps": 2, "tile_rows": 16}
REGULARISER = Gaussian(projections=16)


def method(cameras: tuple[tuple[str, int, int], ...] = (FRONT, SIDE), proprio: bool = True) -> DualWMMethod:
    """f = 5, k = 2, N = 2, M = 2."""
    return DualWMMethod(
        model=ModelConfig(
            frame_skip=5,
            window=2,
            action_dim=2,
            low=LowConfig(
                encoder=ConvEncoder(
                    cameras=cameras,
                    proprio=(("proprio", 2),) if proprio else (),
                    channels=(4, 8),
                    projector_hidden=16,
                ),
                width=8,
                predictor=SIZE,
                history=2,
                head_hidden=16,
                action_hidden=16,
            ),
            high=HighConfig(
                width=6,
                window_encoder=TransformerWindow(size=SIZE),
                macro_encoder=VariationalMacro(macro_width=3, width=8, size=SIZE, positions=4),
                predictor=SIZE,
            ),
        ),
        low=LowObjective(rollout=Rollout(steps=2), regulariser=REGULARISER),
        high=HighObjective(rollout=Rollout(steps=2, supervision="endpoint"), regulariser=REGULARISER),
        low_stage=SETTINGS,
        high_stage=SETTINGS,
    )


def recipe(made_of: DualWMMethod) -> Recipe:
    return Recipe(name="toys/dual_wm", world="two_cameras", image_size=HEIGHT, method=made_of, planner={"25": PLANNER})


def data(folder: Path) -> Store:
    """Ten episodes of TwoRoom through two cameras."""
    return collect(WORLD, folder, record=partial(episodes, WORLD), episodes=10, seed=0, max_env_steps=80)


def inputs(store: Store, made_of: DualWMMethod) -> TrainingInputs:
    return inputs_of(recipe(made_of), store, WORLD)


def stirred(made_of: DualWMMethod, seed: int = 0) -> DualWM:
    """A model whose every weight and BatchNorm statistic matters: at initialisation many are zero."""
    with torch.random.fork_rng([]):
        torch.manual_seed(seed)
        model = made_of.build()
        with torch.no_grad():
            for p in model.parameters():
                p.add_(0.1 * torch.randn_like(p))
            for norm in batchnorms(model):
                norm.running_mean.normal_()
                norm.running_var.uniform_(0.5, 2)
    return model.eval()


def system(made_of: DualWMMethod | None = None) -> System:
    """A System of random weights that acts in plain TwoRoom."""
    made_of = made_of or method(cameras=(FRONT,), proprio=False)
    return System(
        name="toy",
        method=made_of,
        model=stirred(made_of),
        planner={"format": 1, "offsets": {"25": {**PLANNER, "guided_decisions": 2}, "100": PLANNER}},
        task={
            "recipe": "toys/dual_wm",
            "world": "tworoom",
            "rule": "reach16",
            "variant": "snap",
            "image_size": HEIGHT,
            "action_column": "action",
            "action_dim": 2,
            "action_low": -1.0,
            "action_high": 1.0,
            "discrete_values": None,
        },
        normalizer=Normalizer(scales={"action": Scale(mean=(0.1, -0.2), std=(0.5, 0.7))}),
        split=Split(rule="by hand", store_digest="none", train=(0, 1), heldout=(2,)).to_plain(),
    )


def wide_dropout_off(made_of: DualWMMethod) -> DualWMMethod:
    """The same method without dropout, for laws about exact numbers."""
    size = replace(SIZE, dropout=0.0)
    high = replace(
        made_of.model.high,
        window_encoder=TransformerWindow(size=size),
        macro_encoder=replace(made_of.model.high.macro_encoder, size=size),
        predictor=size,
    )
    model = replace(made_of.model, low=replace(made_of.model.low, predictor=size), high=high)
    return replace(made_of, model=model)
