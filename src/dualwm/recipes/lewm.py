"""LeWM beside a Dual-WM recipe: the same data, sizes and number of gradient steps or more, planning as long."""

from dataclasses import replace
from functools import partial
from typing import Any

from dualwm.plan.costs import FinalCost
from dualwm.recipes import tworoom
from dualwm.zoo.dual_wm_method import DualWMMethod
from dualwm.zoo.lewm import ROUTE_SETTINGS, LeWMMethod, LeWMObjective
from dualwm.zoo.recipe import Recipe, recipe

REGULARISER_WEIGHTS = (0.01, 0.03, 0.09, 0.27)
"""LeWM's own, 0.09, and by factors of three around it, to be tried on dev tasks. Each is a recipe, `WORLD/lewm-WEIGHT`;
`WORLD/lewm` has LeWM's own weight and cost until one is chosen (docs/worlds/tworoom.md has what is known)."""


def lewm(
    base: Recipe, *, search: str, name: str = "lewm", regulariser_weight: float = 0.09, final_cost: FinalCost
) -> Recipe:
    """A LeWM that may learn as long from the same windows as the base, and plan as long with `search`.

    It is given the base's low windows, and the gradient steps of all its stages.
    """
    dual: DualWMMethod = base.method
    stages = [dual.low_stage] if dual.schedule == "joint" else [dual.low_stage, dual.high_stage]
    return replace(
        base,
        name=f"{base.world}/{name}",
        method=LeWMMethod(
            frame_skip=dual.model.frame_skip,
            action_dim=dual.model.action_dim,
            low=dual.model.low,
            objective=LeWMObjective(
                contexts=dual.low.rollout.steps,
                regulariser=replace(dual.low.regulariser, form="epps_pulley"),
                regulariser_weight=regulariser_weight,
            ),
            stage=replace(dual.low_stage, steps=sum(stage.steps for stage in stages)),
        ),
        planner={
            offset: {**_without_route(plain), "low_search": search, "final_cost": final_cost}
            for offset, plain in base.planner.items()
        },
        variants={},
    )


def _without_route(plain: Any) -> dict[str, Any]:
    return {name: value for name, value in plain.items() if name not in ROUTE_SETTINGS}


def _family(base: Recipe, **chosen: Any) -> None:
    """Make the chosen LeWM of a world known, and one for every regulariser weight that is tried."""
    recipe(partial(lewm, base, **chosen))
    for weight in REGULARISER_WEIGHTS:
        recipe(partial(lewm, base, **{**chosen, "name": f"lewm-{weight}", "regulariser_weight": weight}))


_family(tworoom.laptop(), search="192/8/8", regulariser_weight=0.09, final_cost="terminal")
"""Searched twice as widely as the low level alone when that plans as long as the whole system (96/8/8)."""
