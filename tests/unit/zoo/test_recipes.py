"""Recipes are found by name or in a user's own file, and are plain data."""

import json
from pathlib import Path

import pytest

from dualwm.errors import RecipeError
from dualwm.recipes import find_recipe, recipe_names
from dualwm.registry import to_plain
from dualwm.zoo.parts import method_from_plain
from dualwm.zoo.recipe import Recipe


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
    with pytest.raises(RecipeError, match=r"'number' .* has one that returns int"):
        find_recipe(f"{file}:number")
    with pytest.raises(RecipeError, match=r"is not a Python file"):
        find_recipe(f"{tmp_path / 'nowhere.py'}:mine")


def test_a_recipe_needs_settings_for_at_least_one_offset():
    with pytest.raises(RecipeError, match="at least one goal offset"):
        Recipe(name="x", world="", method=find_recipe("tworoom/tiny").method, planner={})
    with pytest.raises(RecipeError, match="at least one goal offset"):
        Recipe(name="x", world="", method=find_recipe("tworoom/tiny").method, planner={"far": {}})
