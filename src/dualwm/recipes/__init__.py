"""What we run: functions that return frozen recipes. `dualwm train tworoom/laptop` calls one of them by name."""

from dualwm.recipes import reacher, sokoban, tworoom
from dualwm.zoo.recipe import Recipe, find_recipe, recipe_names

__all__ = ["Recipe", "find_recipe", "reacher", "recipe_names", "sokoban", "tworoom"]
