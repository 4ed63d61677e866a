"""What the recipes for two cores and no GPU have in common: a small convolutional encoder and narrow predictors."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dualwm.model.dual import HighConfig, LowConfig, ModelConfig
from dualwm.model.encoder import ConvEncoder
from dualwm.model.macro import VariationalMacro
from dualwm.model.window_encoder import TransformerWindow
from dualwm.nets.transformer import TransformerSize
from dualwm.recipes.columns import Column
from dualwm.train.stage import StageSettings
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
