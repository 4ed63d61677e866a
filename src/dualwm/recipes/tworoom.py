"""TwoRoom: the paper's configuration, a laptop's, and a tiny one for tests."""

from typing import Any

from dualwm.recipes import laptop as small
from dualwm.recipes.columns import TWOROOM, paper_recipe, paper_search
from dualwm.zoo.recipe import Recipe, recipe

EPOCH_STEPS = {"low": 2_019, "high": 21}
"""Optimiser steps of an epoch: windows of the 9,000 training episodes of `data collect tworoom --episodes 10000
--max-env-steps 100`, one starting at every environment row that leaves room, over the batch of 256, the rest dropped.
Low windows span 8 low steps (history 3 and N = 5), 36 rows: 516,893 of them. High windows span 21 (k = 3 times
1 + M = 7), 101 rows, which is a whole episode that never reached its target: 5,591 of them."""

PAPER_SEARCH = paper_search(TWOROOM, guided_decisions=6, max_routes=4)
"""How long guidance lasts is the authors' release's. One flag away: `SYSTEM:paper`."""


@recipe
def paper() -> Recipe:
    """TwoRoom's column of Table 3, the networks of Appendix D at 224 px. Days on a laptop, hours on a GPU."""
    return paper_recipe(
        "tworoom",
        TWOROOM,
        action_dim=2,
        max_env_steps=100,
        epoch_steps=(EPOCH_STEPS["low"], EPOCH_STEPS["high"]),
        search=PAPER_SEARCH,
    )


LAPTOP_PLANNER: dict[str, Any] = {**small.PLANNER, "low_plan_steps": 8}
GUIDED_DECISIONS = {"25": 3, "50": 5, "75": 7, "100": 9}
"""Guidance lasts longer for goals that are farther: a near goal is the low level's business."""


@recipe
def laptop() -> Recipe:
    """For two cores and no GPU: 64-px frames, a small convolutional encoder, a Markov predictor."""
    return small.laptop_recipe(
        "tworoom",
        TWOROOM,
        small.laptop_model(TWOROOM, action_dim=2),
        episodes=3000,
        planner={key: {**LAPTOP_PLANNER, "guided_decisions": n} for key, n in GUIDED_DECISIONS.items()},
        paper_search=PAPER_SEARCH,
    )


@recipe
def tiny() -> Recipe:
    """Seconds of training, for tests and for trying the commands. Its results mean nothing."""
    return small.tiny(laptop(), image_size=32, planner=LAPTOP_PLANNER)
