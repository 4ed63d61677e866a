"""Cube-Single: the paper's configuration, a laptop's, and a tiny one for tests. The laptop's is a first guess."""

from typing import Any

from dualwm.recipes import laptop as small
from dualwm.recipes.columns import CUBE, OFFSETS, paper_recipe, paper_search
from dualwm.zoo.recipe import Recipe, recipe

EPOCH_STEPS = {"low": 2_830, "high": 4_781}
"""Optimiser steps of an epoch: windows of the 9,000 training episodes of `data collect cube --episodes 10000`, each of
201 rows, one starting at every row that leaves room, over the batch (512 low, 256 high), the rest dropped. Low windows
span 9 low steps (history 3 and N = 6), 41 rows; high windows span 14 (k = 2 times 1 + M = 7), 66 rows."""

PAPER_SEARCH = paper_search(CUBE, guided_decisions=1, max_routes=3, low_std=1.25)
"""How long guidance lasts and the deviation are the authors' release's. One flag away: `SYSTEM:paper`."""


@recipe
def paper() -> Recipe:
    """Cube-Single's column of Table 3, the networks of Appendix D at 224 px."""
    return paper_recipe(
        "cube",
        CUBE,
        action_dim=5,
        max_env_steps=200,
        epoch_steps=(EPOCH_STEPS["low"], EPOCH_STEPS["high"]),
        search=PAPER_SEARCH,
    )


LAPTOP_PLANNER: dict[str, Any] = {**small.PLANNER, "low_plan_steps": 5, "history": 3, "guided_decisions": 5}
"""TwoRoom's and Reacher's; nothing has been chosen on dev tasks of this world yet."""


@recipe
def laptop() -> Recipe:
    """For two cores and no GPU: 64-px frames, a small convolutional encoder; velocities are read off three states."""
    return small.laptop_recipe(
        "cube",
        CUBE,
        small.laptop_model(CUBE, action_dim=5, history=3, width=64),
        episodes=1000,
        planner=dict.fromkeys(OFFSETS, LAPTOP_PLANNER),
        paper_search=PAPER_SEARCH,
    )


@recipe
def tiny() -> Recipe:
    """Seconds of training, for tests and for trying the commands. Its results mean nothing."""
    return small.tiny(laptop(), image_size=32, planner=LAPTOP_PLANNER)
