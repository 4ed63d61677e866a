"""Reacher: the paper's configuration, a laptop's, and a tiny one for tests."""

from typing import Any

from dualwm.recipes import laptop as small
from dualwm.recipes.columns import REACHER, paper_recipe, paper_search
from dualwm.zoo.recipe import Recipe, recipe

EPOCH_STEPS = {"low": 6_187, "high": 3_550}
"""Optimiser steps of an epoch: windows of the 9,000 training episodes of `data collect reacher --episodes 10000`, each
of 201 rows, one starting at every row that leaves room, over the batch of 256, the rest dropped. Low windows span 6
low steps (history 3 and N = 3), 26 rows; high windows span 21 (k = 3 times 1 + M = 7), 101 rows."""

PAPER_SEARCH = paper_search(REACHER, guided_decisions=2, max_routes=3)
"""How long guidance lasts is the authors' release's. One flag away: `SYSTEM:paper`."""


@recipe
def paper() -> Recipe:
    """Reacher's column of Table 3, the networks of Appendix D at 224 px."""
    return paper_recipe(
        "reacher",
        REACHER,
        action_dim=2,
        max_env_steps=200,
        epoch_steps=(EPOCH_STEPS["low"], EPOCH_STEPS["high"]),
        search=PAPER_SEARCH,
    )


LAPTOP_PLANNER: dict[str, Any] = {**small.PLANNER, "low_plan_steps": 5, "history": 3}
GUIDED_DECISIONS = {"25": 2, "50": 2, "75": 3, "100": 5}
"""Chosen on dev tasks; the comparisons are in docs/worlds/reacher.md."""


@recipe
def laptop() -> Recipe:
    """For two cores and no GPU: 64-px frames, a small convolutional encoder; velocities are read off three states."""
    return small.laptop_recipe(
        "reacher",
        REACHER,
        small.laptop_model(REACHER, action_dim=2, history=3),
        episodes=1500,
        planner={key: {**LAPTOP_PLANNER, "guided_decisions": n} for key, n in GUIDED_DECISIONS.items()},
        paper_search=PAPER_SEARCH,
    )


@recipe
def tiny() -> Recipe:
    """Seconds of training, for tests and for trying the commands. Its results mean nothing."""
    return small.tiny(laptop(), image_size=32, planner=LAPTOP_PLANNER)
