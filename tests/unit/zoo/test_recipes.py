"""Recipes are found by name or in a user's own file, and are plain data; the paper's are the paper's."""

import json
from pathlib import Path

import pytest

from dualwm.errors import RecipeError
from dualwm.plan.search import Budget
from dualwm.recipes import find_recipe, recipe_names, tworoom
from dualwm.registry import to_plain
from dualwm.zoo.parts import method_from_plain
from dualwm.zoo.recipe import Recipe


def test_the_paper_recipe_trains_as_table_3_says_of_tworoom():
    recipe = tworoom.paper()
    method = recipe.method
    low, high = method.low, method.high
    assert recipe.episodes == 10_000
    assert (method.model.frame_skip, method.model.window) == (5, 3)
    assert (low.rollout.steps, high.rollout.steps) == (5, 6)
    assert (low.rollout.decay, high.rollout.decay) == (0.5, 0.5)
    assert (low.regulariser_weight, high.regulariser_weight) == (0.3, 0.3)
    assert (low.lore_weight, high.lore_weight, high.maps_weight) == (1.0, 1.0, 0.01)
    for stage, name in ((method.low_stage, "low"), (method.high_stage, "high")):
        assert (stage.learning_rate, stage.batch_size, stage.weight_decay) == (5e-5, 256, 1e-3)
        assert stage.steps == 5 * tworoom.EPOCH_STEPS[name], "five epochs"


def test_the_paper_recipe_has_the_sizes_of_appendix_d():
    recipe = tworoom.paper()
    low, high = recipe.method.model.low, recipe.method.model.high
    vit = low.encoder
    assert (vit.cameras, vit.patch, vit.depth, vit.width) == ((("front", 224, 224),), 14, 12, 192)
    assert (low.width, low.history, low.predictor.depth, low.predictor.heads) == (192, 3, 6, 16)
    assert (high.width, high.predictor.depth, high.predictor.heads) == (192, 6, 16)
    assert (high.window_encoder.size.depth, high.window_encoder.size.heads) == (4, 8)
    assert (high.macro_encoder.size.depth, high.macro_encoder.size.heads) == (4, 8)
    assert high.macro_encoder.macro_width == 16


def test_the_paper_variant_searches_as_table_4_says_of_tworoom():
    method = tworoom.paper().method
    settings = method.settings(method.variants()["paper"], "the paper's variant")
    assert (settings.low_plan_steps, settings.high_plan_steps) == (8, 6)
    assert settings.low_search == Budget(candidates=300, iterations=30, elites=30)
    assert settings.high_search == Budget(candidates=100, iterations=20, elites=10)
    assert (settings.route_cost, settings.final_cost) == ("terminal", "terminal")


@pytest.mark.parametrize("name", recipe_names())
def test_every_recipe_is_plain_data_whose_planner_its_method_knows(name: str):
    recipe = find_recipe(name)
    assert recipe.name == name
    plain = json.loads(json.dumps(to_plain(recipe.method)))
    assert method_from_plain(plain, "method") == recipe.method
    for offset, settings in recipe.planner.items():
        recipe.method.settings(settings, offset)
        for variant, changes in recipe.method.variants().items():
            recipe.method.settings({**settings, **changes}, f"{offset} {variant}")


def test_an_unknown_name_suggests_the_near_one():
    with pytest.raises(RecipeError, match=r"no recipe 'tworoom/laptap'.*'tworoom/laptop'"):
        find_recipe("tworoom/laptap")


OWN = """
from dataclasses import replace
from dualwm.recipes import find_recipe

def mine():
    return replace(find_recipe("tworoom/tiny"), name="mine", episodes=7)

def number():
    return 3
"""


def test_a_recipe_of_ones_own_is_named_by_file_and_function(tmp_path: Path):
    file = tmp_path / "own.py"
    file.write_text(OWN)
    assert find_recipe(f"{file}:mine").episodes == 7
    with pytest.raises(RecipeError, match=r"should have a function 'mime' .* has none\..*'mine'"):
        find_recipe(f"{file}:mime")
    with pytest.raises(RecipeError, match=r"'number' .* returned 3 of type int\.") as refused:
        find_recipe(f"{file}:number")
    assert "Did you mean" not in str(refused.value)
    with pytest.raises(RecipeError, match=r"is not a Python file"):
        find_recipe(f"{tmp_path / 'nowhere.py'}:mine")


def test_a_recipe_needs_settings_for_at_least_one_offset():
    with pytest.raises(RecipeError, match="at least one goal offset"):
        Recipe(name="x", world="", method=find_recipe("tworoom/tiny").method, planner={})
    with pytest.raises(RecipeError, match="at least one goal offset"):
        Recipe(name="x", world="", method=find_recipe("tworoom/tiny").method, planner={"far": {}})
