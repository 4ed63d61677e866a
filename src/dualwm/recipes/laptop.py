"""What the recipes for two cores and no GPU have in common: a small convolutional encoder and narrow predictors."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dualwm.loss.gaussian import Gaussian
from dualwm.loss.lore import Rollout
from dualwm.loss.maps import Maps
from dualwm.model.dual import HighConfig, LowConfig, ModelConfig
from dualwm.model.encoder import ConvEncoder
from dualwm.model.macro import VariationalMacro
from dualwm.model.window_encoder import TransformerWindow
from dualwm.nets.transformer import TransformerSize
from dualwm.recipes.columns import HIGH_REGULARISER_WEIGHT, Column
from dualwm.train.stage import StageSettings
from dualwm.zoo.dual_wm import HighObjective, LowObjective
from dualwm.zoo.dual_wm_method import DualWMMethod
from dualwm.zoo.recipe import Recipe


def laptop_model(
    column: Column,
    *,
    action_dim: int,
    image_size: int = 64,
    patch: int = 4,
    channels: tuple[int, ...] = (32, 64, 128, 128),
    width: int = 32,
    history: int = 1,
    hidden: int = 384,
    high_width: int = 32,
) -> ModelConfig:
    """About a million parameters. The clocks are the paper's."""
    predictor = TransformerSize(depth=3, heads=4, head_width=32, hidden=hidden)
    return ModelConfig(
        frame_skip=column.frame_skip,
        window=column.window,
        action_dim=action_dim,
        low=LowConfig(
            encoder=ConvEncoder(
                cameras=(("front", image_size, image_size),), patch=patch, channels=channels, projector_hidden=512
            ),
            width=width,
            predictor=predictor,
            history=history,
            head_hidden=512,
            action_hidden=256,
        ),
        high=HighConfig(
            width=high_width,
            window_encoder=TransformerWindow(size=TransformerSize(depth=2, heads=4, head_width=32, hidden=256)),
            macro_encoder=VariationalMacro(
                width=96, size=TransformerSize(depth=2, heads=4, head_width=24, hidden=192), positions=16
            ),
            predictor=TransformerSize(depth=3, heads=4, head_width=32, hidden=384),
        ),
    )


PLANNER: Mapping[str, Any] = {
    "low_search": "64/8/8",
    "high_search": "64/8/8",
    "high_plan_steps": 6,
    "max_routes": 1000,
    "route_every_decisions": 1,
    "route_cost": "soft_minimum",
    "final_cost": "soft_minimum",
    "low_std": 1.0,
    "correlation": 0.7,
    "bounds": "clip",
    "warm_start_route": True,
    "tile_rows": 1024,
}
"""Chosen on TwoRoom's dev tasks (docs/decisions). The route is planned anew at every decision."""


def laptop_recipe(
    world: str,
    column: Column,
    model: ModelConfig,
    *,
    episodes: int,
    max_env_steps: int = 200,
    low_regulariser_weight: float = 0.3,
    low_steps: int = 8000,
    planner: Mapping[str, Mapping[str, Any]],
    paper_search: Mapping[str, Any],
) -> Recipe:
    """Rollouts as in the paper's column; fewer, larger steps and a MAPS that shapes more than the paper's."""
    regulariser = Gaussian(form="quantile", projections=256)
    (N, M), (alpha_L, alpha_H) = column.rollout_steps, column.decay
    (camera,) = model.low.encoder.cameras
    return Recipe(
        name=f"{world}/laptop",
        world=world,
        image_size=camera[1],
        episodes=episodes,
        max_env_steps=max_env_steps,
        method=DualWMMethod(
            model=model,
            low=LowObjective(
                rollout=Rollout(steps=N, decay=alpha_L),
                regulariser=regulariser,
                regulariser_weight=low_regulariser_weight,
            ),
            high=HighObjective(
                rollout=Rollout(steps=M, decay=alpha_H, supervision="endpoint"),
                regulariser=regulariser,
                regulariser_weight=HIGH_REGULARISER_WEIGHT,
                maps=Maps(free_bits=0.1, warmup_fraction=0.3),
                maps_weight=0.1,
                repeated_share=0.5,
            ),
            low_stage=StageSettings(steps=low_steps, batch_size=128, learning_rate=1e-3, precision="bfloat16"),
            high_stage=StageSettings(steps=4000, batch_size=256, learning_rate=1e-3, precision="bfloat16"),
        ),
        planner=planner,
        variants={"paper": paper_search},
    )


def tiny(base: Recipe, *, image_size: int, patch: int = 4, planner: Mapping[str, Any]) -> Recipe:
    """A laptop's recipe shrunk to seconds of training, for tests and for trying the commands. Results mean nothing."""
    method: DualWMMethod = base.method
    size = TransformerSize(depth=1, heads=2, head_width=8, hidden=32)
    stage = StageSettings(steps=20, batch_size=16, learning_rate=1e-3, heldout_every_steps=10)
    model = replace(
        method.model,
        low=LowConfig(
            encoder=ConvEncoder(
                cameras=(("front", image_size, image_size),), patch=patch, channels=(8, 16), projector_hidden=32
            ),
            width=16,
            predictor=size,
            history=3,
            head_hidden=32,
            action_hidden=32,
        ),
        high=HighConfig(
            width=16,
            window_encoder=TransformerWindow(size=size),
            macro_encoder=VariationalMacro(macro_width=4, width=16, size=size, positions=8),
            predictor=size,
        ),
    )
    return replace(
        base,
        name=f"{base.world}/tiny",
        image_size=image_size,
        episodes=60,
        method=replace(method, model=model, low_stage=stage, high_stage=stage),
        planner={
            offset: {**planner, "low_search": "16/2/4", "high_search": "16/2/4", "tile_rows": 64}
            for offset in base.planner
        },
    )
