"""PushT: the paper's configuration, a laptop's, and a tiny one for tests. The laptop's is a first guess."""

from typing import Any

from dualwm.recipes import laptop as small
from dualwm.recipes.columns import OFFSETS, PUSHT, paper_recipe, paper_search
from dualwm.zoo.recipe import Recipe, recipe

EPOCH_STEPS = {"low": 6_634, "high": 2_003}
"""Optimiser steps of an epoch: windows of the 16,816 training episodes of `data collect pusht --episodes 18685
--max-env-steps 125`, each of 126 rows, one starting at every row that leaves room, over the batch (256 low, 512 high),
the rest dropped. Low windows span 6 low steps (history 3 and N = 3), 26 rows; high windows span 14 (k = 2 times
1 + M = 7), 66 rows."""

PAPER_SEARCH = paper_search(PUSHT, guided_decisions=2, max_routes=3, low_std=0.25, bounds="tanh")
"""How long guidance lasts (one macro-step) and the squashed search are the authors' release's. `SYSTEM:paper`."""


@recipe
def paper() -> Recipe:
    """PushT's column of Table 3, the networks of Appendix D at 224 px."""
    return paper_recipe(
        "pusht",
        PUSHT,
        action_dim=2,
        max_env_steps=125,
        epoch_steps=(EPOCH_STEPS["low"], EPOCH_STEPS["high"]),
        search=PAPER_SEARCH,
    )


LAPTOP_PLANNER: dict[str, Any] = {**small.PLANNER, "low_plan_steps": 5, "history": 3, "guided_decisions": 5}
"""TwoRoom's and Reacher's; nothing has been chosen on dev tasks of this world yet."""


@recipe
def laptop() -> Recipe:
    """For two cores and no GPU: 64-px frames, a small convolutional encoder; velocities are read off three states."""
    return small.laptop_recipe(
        "pusht",
        PUSHT,
        small.laptop_model(PUSHT, action_dim=2, history=3, width=64),
        episodes=3000,
        max_env_steps=125,
        planner=dict.fromkeys(OFFSETS, LAPTOP_PLANNER),
        paper_search=PAPER_SEARCH,
    )


@recipe
def tiny() -> Recipe:
    """Seconds of training, for tests and for trying the commands. Its results mean nothing."""
    return small.tiny(laptop(), image_size=32, planner=LAPTOP_PLANNER)
