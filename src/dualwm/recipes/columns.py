"""The paper's configuration tables as data: a task's column of Table 3 (training) and Table 4 (planning horizons).

`paper_recipe` makes a recipe of a column, with the networks of Appendix D. What the tables do not say and the authors'
release does (how long guidance lasts, deviations, padding) comes with the world's own file.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dualwm.loss.gaussian import Gaussian
from dualwm.loss.lore import Rollout
from dualwm.loss.maps import Maps
from dualwm.model.dual import HighConfig, LowConfig, ModelConfig
from dualwm.model.encoder import ViTEncoder
from dualwm.train.stage import StageSettings
from dualwm.zoo.dual_wm import HighObjective, LowObjective
from dualwm.zoo.dual_wm_method import DualWMMethod
from dualwm.zoo.recipe import Recipe

OFFSETS = ("25", "50", "75", "100")
"""Goal offsets in environment steps that every recipe has planner settings for."""


@dataclass(frozen=True, kw_only=True)
class Column:
    """One task. Pairs are (low, high)."""

    episodes: int
    frame_skip: int
    """f, environment steps per low step."""
    window: int
    """k, low steps per high step."""
    rollout_steps: tuple[int, int]
    """N and M."""
    decay: tuple[float, float]
    """alpha_L and alpha_H."""
    low_regulariser_weight: float
    learning_rate: tuple[float, float]
    batch_size: tuple[int, int]
    epochs: tuple[int, int]
    plan_steps: tuple[int, int]
    """H_L in low steps and H_H in high steps: Table 4."""


TWOROOM = Column(
    episodes=10_000,
    frame_skip=5,
    window=3,
    rollout_steps=(5, 6),
    decay=(0.5, 0.5),
    low_regulariser_weight=0.30,
    learning_rate=(5e-5, 5e-5),
    batch_size=(256, 256),
    epochs=(5, 5),
    plan_steps=(8, 6),
)
REACHER = Column(
    episodes=10_000,
    frame_skip=5,
    window=3,
    rollout_steps=(3, 6),
    decay=(0.2, 0.5),
    low_regulariser_weight=0.30,
    learning_rate=(2e-5, 5e-5),
    batch_size=(256, 256),
    epochs=(2, 5),
    plan_steps=(5, 6),
)
SOKOBAN = Column(
    episodes=2_500,
    frame_skip=1,
    window=2,
    rollout_steps=(10, 8),
    decay=(0.1, 0.5),
    low_regulariser_weight=0.25,
    learning_rate=(2.5e-5, 5e-5),
    batch_size=(512, 512),
    epochs=(5, 5),
    plan_steps=(12, 8),
)
PUSHT = Column(
    episodes=18_685,
    frame_skip=5,
    window=2,
    rollout_steps=(3, 6),
    decay=(0.2, 0.5),
    low_regulariser_weight=0.09,
    learning_rate=(1e-5, 3e-5),
    batch_size=(256, 512),
    epochs=(6, 6),
    plan_steps=(5, 6),
)
CUBE = Column(
    episodes=10_000,
    frame_skip=5,
    window=2,
    rollout_steps=(6, 6),
    decay=(0.05, 0.5),
    low_regulariser_weight=0.15,
    learning_rate=(5e-6, 5e-5),
    batch_size=(512, 256),
    epochs=(5, 5),
    plan_steps=(5, 6),
)

HIGH_REGULARISER_WEIGHT = 0.3
"""On all tasks, as beta is."""
MACRO_KL_WEIGHT = 0.01
"""beta."""


def paper_search(column: Column, **of_the_release: Any) -> dict[str, Any]:
    """The paper's search on a task: Table 4, the CEM sizes beside it, and what only the authors' release says."""
    low, high = column.plan_steps
    return {
        "low_search": "300/30/30",
        "high_search": "100/20/10",
        "low_plan_steps": low,
        "high_plan_steps": high,
        "route_every_decisions": None,
        "converge_within_high_steps": 0,
        "route_cost": "terminal",
        "final_cost": "terminal",
        "history": 1,
        "low_std": 1.0,
        "high_std": 1.0,
        "correlation": 0.0,
        "bounds": "none",
        "warm_start": True,
        "warm_start_route": False,
        **of_the_release,
    }


def paper_recipe(
    world: str,
    column: Column,
    *,
    action_dim: int,
    max_env_steps: int,
    epoch_steps: tuple[int, int],
    search: Mapping[str, Any],
) -> Recipe:
    """A task's column of Table 3 with the networks of Appendix D at 224 px. Days on a laptop, hours on a GPU."""
    quantile = Gaussian(form="quantile", projections=4096)
    (N, M), (alpha_L, alpha_H) = column.rollout_steps, column.decay
    low_stage, high_stage = (
        StageSettings(steps=epochs * steps, batch_size=batch, learning_rate=rate, precision="bfloat16")
        for epochs, steps, batch, rate in zip(
            column.epochs, epoch_steps, column.batch_size, column.learning_rate, strict=True
        )
    )
    return Recipe(
        name=f"{world}/paper",
        world=world,
        image_size=224,
        episodes=column.episodes,
        max_env_steps=max_env_steps,
        method=DualWMMethod(
            model=ModelConfig(
                frame_skip=column.frame_skip,
                window=column.window,
                action_dim=action_dim,
                low=LowConfig(encoder=ViTEncoder(cameras=(("front", 224, 224),))),
                high=HighConfig(),
            ),
            low=LowObjective(
                rollout=Rollout(steps=N, decay=alpha_L),
                regulariser=quantile,
                regulariser_weight=column.low_regulariser_weight,
            ),
            high=HighObjective(
                rollout=Rollout(steps=M, decay=alpha_H, supervision="endpoint"),
                regulariser=quantile,
                regulariser_weight=HIGH_REGULARISER_WEIGHT,
                maps=Maps(free_bits=0.05, warmup_fraction=0.2),
                maps_weight=MACRO_KL_WEIGHT,
            ),
            low_stage=low_stage,
            high_stage=high_stage,
        ),
        planner={offset: {**search, "final_cost": "soft_minimum"} for offset in OFFSETS},
        variants={"paper": search},
    )
