"""The paper's four sizes of search, as names of systems."""

import pytest

from dualwm.errors import RecipeError
from dualwm.plan.search import Budget
from dualwm.recipes.budget_sweep import TIERS, swept, tiers
from dualwm.zoo.evaluation import Spec

GUIDED = {"low_search": {}, "high_search": {}, "guided_decisions": 6}
SETTINGS = {"tworoom": {"100": GUIDED}, "tworoom:low-only": {"100": {**GUIDED, "guided_decisions": 0}}}


def test_systems_that_plan_are_swept_from_small_to_large_and_floors_stay():
    names = swept(SETTINGS, ["tworoom", "tworoom:low-only", "random"])
    assert len(names) == 9
    assert names[0] == "tworoom:search=60/7/30:route_search=30/7/10"
    assert names[4] == "tworoom:low-only:search=60/7/30"
    assert names[8] == "random"


def test_every_size_is_one_the_planner_takes_and_grows():
    for sizes in TIERS.values():
        work = [Budget.parse(low).candidates * Budget.parse(low).iterations for low, _ in sizes]
        assert work == sorted(set(work))
        assert all(Budget.parse(route).elites == 10 for _, route in sizes if route)
        assert {Budget.parse(low).elites for low, _ in sizes} == {30}


def test_a_tier_is_a_system_by_its_name():
    spec = Spec.parse(tiers("runs/a:low-only", has_route=False)[3])
    assert (spec.base, spec.variant, spec.overrides) == ("runs/a", "low-only", {"low_search": "256/25/30"})
    with pytest.raises(RecipeError, match="names a search of its own"):
        tiers("tworoom:search=1/1/1", has_route=True)
