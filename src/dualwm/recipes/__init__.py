"""What we run: functions that return frozen recipes. `dualwm train tworoom/laptop` calls one of them by name."""

from dualwm.recipes import cube, lewm, pusht, reacher, sokoban, tworoom
from dualwm.zoo.recipe import Recipe, find_recipe, recipe_names

__all__ = ["Recipe", "cube", "find_recipe", "lewm", "pusht", "reacher", "recipe_names", "sokoban", "tworoom"]
