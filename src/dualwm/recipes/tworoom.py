"""TwoRoom: the paper's configuration, a laptop's, and a tiny one for tests."""

from dataclasses import replace
from typing import Any

from dualwm.loss.gaussian import Gaussian
from dualwm.loss.lore import Rollout
from dualwm.loss.maps import Maps
from dualwm.model.dual import HighConfig, LowConfig, ModelConfig
from dualwm.model.encoder import ConvEncoder, ViTEncoder
from dualwm.model.macro import VariationalMacro
from dualwm.model.window_encoder import TransformerWindow
from dualwm.nets.transformer import TransformerSize
from dualwm.train.stage import StageSettings
from dualwm.zoo.dual_wm import HighObjective, LowObjective
from dualwm.zoo.dual_wm_method import PAPER_PLANNER, DualWMMethod
from dualwm.zoo.recipe import Recipe, recipe

F, K = 5, 3
"""f, environment steps per low step, and k, low steps per high step: the paper's TwoRoom column."""

OFFSETS = ("25", "50", "75", "100")

EPOCHS = 5
"""Of either stage, in the paper's TwoRoom column."""

EPOCH_STEPS = {"low": 2_019, "high": 21}
"""Optimiser steps of an epoch: windows of the 9,000 training episodes of `data collect tworoom --episodes 10000
--max-env-steps 100`, one starting at every environment row that leaves room, over the batch of 256, the rest dropped.
Low windows span 8 low steps (history 3 and N = 5), 36 rows: 516,893 of them. High windows span 21 (k = 3 times
1 + M = 7), 101 rows, which is a whole episode that never reached its target: 5,591 of them."""


@recipe
def paper() -> Recipe:
    """TwoRoom's column of Table 3, the networks of Appendix D at 224 px. Days on a laptop, hours on a GPU."""
    model = ModelConfig(
        frame_skip=F,
        window=K,
        action_dim=2,
        low=LowConfig(encoder=ViTEncoder(cameras=(("front", 224, 224),))),
        high=HighConfig(),
    )
    quantile = Gaussian(form="quantile", projections=4096)
    return Recipe(
        name="tworoom/paper",
        world="tworoom",
        image_size=224,
        episodes=10_000,
        max_env_steps=100,
        method=DualWMMethod(
            model=model,
            low=LowObjective(rollout=Rollout(steps=5, decay=0.5), regulariser=quantile, regulariser_weight=0.3),
            high=HighObjective(
                rollout=Rollout(steps=6, decay=0.5, supervision="endpoint"),
                regulariser=quantile,
                regulariser_weight=0.3,
                maps=Maps(free_bits=0.05, warmup_fraction=0.2),
                maps_weight=0.01,
            ),
            low_stage=StageSettings(
                steps=EPOCHS * EPOCH_STEPS["low"], batch_size=256, learning_rate=5e-5, precision="bfloat16"
            ),
            high_stage=StageSettings(
                steps=EPOCHS * EPOCH_STEPS["high"], batch_size=256, learning_rate=5e-5, precision="bfloat16"
            ),
        ),
        planner={offset: {**PAPER_PLANNER, "final_cost": "soft_minimum"} for offset in OFFSETS},
    )


LAPTOP_PLANNER: dict[str, Any] = {
    "low_search": "64/8/8",
    "high_search": "64/8/8",
    "low_plan_steps": 8,
    "high_plan_steps": 6,
    "max_routes": 1000,
    "route_every_decisions": 1,
    "route_cost": "soft_minimum",
    "final_cost": "soft_minimum",
    "low_std": 1.0,
    "correlation": 0.7,
    "bounds": "clip",
    "warm_start_route": True,
    "tile_rows": 256,
}
"""Chosen on dev tasks; the comparisons are in docs/decisions. The route is planned anew at every decision."""

GUIDED_DECISIONS = {"25": 3, "50": 5, "75": 7, "100": 9}
"""Guidance lasts longer for goals that are farther: a near goal is the low level's business."""


@recipe
def laptop() -> Recipe:
    """For two cores and no GPU: 64-px frames, a small convolutional encoder, a Markov predictor."""
    model = ModelConfig(
        frame_skip=F,
        window=K,
        action_dim=2,
        low=LowConfig(
            encoder=ConvEncoder(cameras=(("front", 64, 64),), projector_hidden=512),
            width=32,
            predictor=TransformerSize(depth=3, heads=4, head_width=32, hidden=384),
            history=1,
            head_hidden=512,
            action_hidden=256,
        ),
        high=HighConfig(
            width=32,
            window_encoder=TransformerWindow(size=TransformerSize(depth=2, heads=4, head_width=32, hidden=256)),
            macro_encoder=VariationalMacro(
                width=96, size=TransformerSize(depth=2, heads=4, head_width=24, hidden=192), positions=16
            ),
            predictor=TransformerSize(depth=3, heads=4, head_width=32, hidden=384),
        ),
    )
    regulariser = Gaussian(form="quantile", projections=256)
    return Recipe(
        name="tworoom/laptop",
        world="tworoom",
        image_size=64,
        episodes=3000,
        max_env_steps=200,
        method=DualWMMethod(
            model=model,
            low=LowObjective(rollout=Rollout(steps=5, decay=0.5), regulariser=regulariser, regulariser_weight=0.3),
            high=HighObjective(
                rollout=Rollout(steps=6, decay=0.5, supervision="endpoint"),
                regulariser=regulariser,
                regulariser_weight=0.3,
                maps=Maps(free_bits=0.1, warmup_fraction=0.3),
                maps_weight=0.1,
                repeated_share=0.5,
            ),
            low_stage=StageSettings(steps=8000, batch_size=128, learning_rate=1e-3, precision="bfloat16"),
            high_stage=StageSettings(steps=4000, batch_size=256, learning_rate=1e-3, precision="bfloat16"),
        ),
        planner={key: {**LAPTOP_PLANNER, "guided_decisions": n} for key, n in GUIDED_DECISIONS.items()},
    )


@recipe
def tiny() -> Recipe:
    """Seconds of training, for tests and for trying the commands. Its results mean nothing."""
    base = laptop()
    method: DualWMMethod = base.method
    size = TransformerSize(depth=1, heads=2, head_width=8, hidden=32)
    model = replace(
        method.model,
        low=LowConfig(
            encoder=ConvEncoder(cameras=(("front", 32, 32),), channels=(8, 16), projector_hidden=32),
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
        name="tworoom/tiny",
        image_size=32,
        episodes=60,
        method=replace(
            method,
            model=model,
            low_stage=StageSettings(steps=20, batch_size=16, learning_rate=1e-3, heldout_every_steps=10),
            high_stage=StageSettings(steps=20, batch_size=16, learning_rate=1e-3, heldout_every_steps=10),
        ),
        planner={
            offset: {**LAPTOP_PLANNER, "low_search": "16/2/4", "high_search": "16/2/4", "tile_rows": 64}
            for offset in OFFSETS
        },
    )
