"""A recipe: everything a training command needs to know, as one frozen value."""

import importlib.util
import reprlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dualwm.errors import RecipeError, did_you_mean
from dualwm.registry import known, sub


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What we run. A recipe is the return value of a Python function; a variant is `dataclasses.replace`."""

    name: str
    """`world/size`, as typed on the command line."""
    world: str
    """World whose behaviour is recorded and in which the system acts; empty for recordings of your own."""
    variant: str = ""
    """Dynamics variant of the world; empty means its first."""
    rule: str = ""
    """Success rule; empty means the world's first."""
    image_size: int = 64
    """Height in pixels of frames that a world draws; stored frames come as they were stored."""
    episodes: int = 3000
    """Episodes of behaviour recorded for training (and held-out losses)."""
    max_env_steps: int = 200
    """Cap on environment steps of a recorded episode."""
    method: Any = sub("method")
    """The system: sizes, objective, optimisation."""
    planner: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    """Planner settings by goal offset in environment steps."""
    variants: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    """Planner variants by name beside the method's own, such as `paper`: what each changes at any offset."""

    def __post_init__(self) -> None:
        if not self.planner or not all(offset.isdigit() for offset in self.planner):
            raise RecipeError(
                f"The recipe {self.name!r} needs planner settings for at least one goal offset in environment steps, "
                f'such as planner={{"100": {{}}}}; found {dict(self.planner)!r}.'
            )


_RECIPES: dict[str, Callable[[], Recipe]] = {}


def recipe(function: Callable[[], Recipe]) -> Callable[[], Recipe]:
    """Decorator: make a recipe function known by the name of what it returns."""
    _RECIPES[function().name] = function
    return function


def find_recipe(name: str) -> Recipe:
    """The recipe of that name, or the one that FILE.py:FUNCTION returns: your own file, which is then executed."""
    path, colon, function = name.rpartition(":")
    if colon and path.endswith(".py"):
        return _recipe_in(Path(path), function)
    known("method")  # other packages' modules of parts may hold recipes
    if name not in _RECIPES:
        raise RecipeError(
            f"There is no recipe {name!r}. {did_you_mean(name, _RECIPES)} One of your own is named FILE.py:FUNCTION."
        )
    return _RECIPES[name]()


def recipe_names() -> list[str]:
    """Every known recipe."""
    return sorted(_RECIPES)


def _recipe_in(file: Path, function: str) -> Recipe:
    spec = importlib.util.spec_from_file_location(f"_recipes_in_{file.stem}", file)
    if spec is None or spec.loader is None or not file.is_file():
        raise RecipeError(f"{file} is not a Python file, so it holds no recipe {function!r}. Check the path.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for the module they are defined in
    spec.loader.exec_module(module)
    made = getattr(module, function, None)
    if not callable(made):
        raise RecipeError(
            f"{file} should have a function {function!r} that takes nothing and returns a Recipe, and has none. "
            f"{did_you_mean(function, [name for name in vars(module) if not name.startswith('_')])}"
        )
    found = made()
    if not isinstance(found, Recipe):
        raise RecipeError(
            f"The function {function!r} in {file} should return a Recipe, and returned {_in_short(found)}. Does it "
            "lack a `return`? `dualwm.recipes.find_recipe` gives one to begin with."
        )
    return found


def _in_short(value: Any) -> str:
    return "None" if value is None else f"{reprlib.repr(value)} of type {type(value).__name__}"
