"""LeWM: saved and loaded like any system; it has no high level and says so."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dualwm.errors import RecipeError
from dualwm.recipes import find_recipe, lewm
from dualwm.records import Goal
from dualwm.zoo.lewm import LeWMMethod
from dualwm.zoo.recipe import Recipe
from dualwm.zoo.system import System, load
from dualwm.zoo.training import build, resolved_planner


@pytest.fixture(scope="module")
def recipe() -> Recipe:
    return lewm.lewm(find_recipe("tworoom/tiny"), search="16/2/4", final_cost="terminal")


@pytest.fixture(scope="module")
def saved(recipe: Recipe, tmp_path_factory: pytest.TempPathFactory) -> tuple[System, Path]:
    folder = tmp_path_factory.mktemp("lewm")
    shipped = load("tworoom")
    planner = {"format": 1, "offsets": resolved_planner(recipe), "variants": {}}
    task = {**shipped.task, "recipe": recipe.name, "image_size": recipe.image_size}
    system = replace(shipped, name=str(folder), method=recipe.method, model=build(recipe, 0).eval(), planner=planner)
    system = replace(system, task=task, folder=folder)
    system.save(folder)
    return system, folder


def test_it_has_as_many_gradient_steps_as_all_stages_of_its_base_and_the_same_windows(recipe: Recipe):
    base, method = find_recipe("tworoom/tiny").method, recipe.method
    assert isinstance(method, LeWMMethod)
    assert method.stage.steps == base.low_stage.steps + base.high_stage.steps
    assert method.geometry()[0] == base.geometry()[0]


def test_a_saved_one_is_loaded_again_and_acts_the_same(saved: tuple[System, Path]):
    system, folder = saved
    chunks: list[np.ndarray] = []
    for each in (system, load(folder)):
        controller = each.controller("full", 100)
        states = np.array([[60.0, 60.0], [150.0, 90.0]])
        memory = controller.start(Goal(state=states[::-1].copy()), [0, 1], 0)
        chunks.append(controller.act(memory, each.observe(states))[0])
    np.testing.assert_array_equal(chunks[0], chunks[1])


def test_settings_of_a_route_are_refused_where_they_would_mean_something(recipe: Recipe):
    method = recipe.method
    with pytest.raises(RecipeError, match="no high level, so it has no planner setting 'max_routes'"):
        method.settings({"max_routes": 7}, "here")
    assert method.settings({"guided_decisions": 0}, "here").guided_decisions == 0


def test_its_own_search_is_a_variant_in_every_world(saved: tuple[System, Path]):
    settings = saved[0].settings("paper", 100)
    assert (settings.low_plan_steps, settings.final_reuse_decisions, settings.final_cost) == (5, 5, "terminal")
    assert (settings.low_search.candidates, settings.low_search.iterations) == (300, 30)


def test_it_is_trained_by_name_with_every_weight_that_is_tried():
    for weight in lewm.REGULARISER_WEIGHTS:
        assert find_recipe(f"tworoom/lewm-{weight}").method.objective.regulariser_weight == weight
    assert find_recipe("tworoom/lewm").method.objective.regulariser_weight == 0.09
