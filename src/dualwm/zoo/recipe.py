"""A recipe: everything a training command needs to know, as one frozen value."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dualwm.errors import RecipeError, did_you_mean
from dualwm.registry import sub


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What we run. A recipe is the return value of a Python function; a variant is `dataclasses.replace`."""

    name: str
    """`world/size`, as typed on the command line."""
    world: str
    """World whose behaviour is recorded and in which the system acts."""
    variant: str = ""
    """Dynamics variant of the world; empty means its first."""
    rule: str = ""
    """Success rule; empty means the world's first."""
    image_size: int = 64
    """Side of the frames the model sees, in pixels."""
    episodes: int = 3000
    """Episodes of behaviour recorded for training (and held-out losses)."""
    max_env_steps: int = 200
    """Cap on environment steps of a recorded episode."""
    method: Any = sub("method")
    """The system: sizes, objective, optimisation."""
    planner: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    """Planner settings by goal offset in environment steps."""


_RECIPES: dict[str, Callable[[], Recipe]] = {}


def recipe(function: Callable[[], Recipe]) -> Callable[[], Recipe]:
    """Decorator: make a recipe function known by the name of what it returns."""
    _RECIPES[function().name] = function
    return function


def find_recipe(name: str) -> Recipe:
    """The recipe of that name."""
    import dualwm.zoo.parts  # noqa: F401

    if name not in _RECIPES:
        raise RecipeError(f"There is no recipe {name!r}. {did_you_mean(name, _RECIPES)}")
    return _RECIPES[name]()


def recipe_names() -> list[str]:
    """Every known recipe."""
    return sorted(_RECIPES)
