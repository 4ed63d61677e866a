"""The paper's planning-budget sweep: every system at four sizes of search."""

from collections.abc import Mapping, Sequence
from typing import Any

from dualwm.errors import RecipeError

TIERS: dict[str, Sequence[tuple[str, str | None]]] = {
    "full": (("60/7/30", "30/7/10"), ("80/8/30", "40/8/10"), ("160/16/30", "80/16/10"), ("192/20/30", "100/20/10")),
    "low-only": (("60/7/30", None), ("96/9/30", None), ("192/20/30", None), ("256/25/30", None)),
}
"""(low search, route search) as candidates/iterations/elites; the paper's table has elites in the middle."""


def swept(settings: Mapping[str, Mapping[str, Mapping[str, Any]]], systems: Sequence[str]) -> tuple[str, ...]:
    """Every system with settings (by system and offset) at four sizes of search, from small to large; floors once."""
    found = [tiers(name, _has_route(settings[name])) if name in settings else [name] for name in systems]
    return tuple(name for names in found for name in names)


def tiers(system: str, has_route: bool) -> list[str]:
    """A system's four names, from the smallest search to the largest.

    Systems without a route, such as LeWM and the low-level-only planner, take the paper's sizes for these.
    """
    if "search=" in system:
        raise RecipeError(f"{system} names a search of its own already. Leave it out: the sweep sets it.")
    sizes = TIERS["full" if has_route else "low-only"]
    return [f"{system}:search={low}" + ("" if route is None else f":route_search={route}") for low, route in sizes]


def _has_route(by_offset: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether the high level ever guides."""
    return any("high_search" in plain and plain.get("guided_decisions", 0) for plain in by_offset.values())
