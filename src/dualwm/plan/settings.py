"""What a planner may be told: `planner.json` holds one of these per goal offset."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Literal

from dualwm.errors import RecipeError
from dualwm.plan.costs import FinalCost, Reduction, SoftMinimum, Terminal
from dualwm.plan.search import Budget
from dualwm.registry import nested

_RANGES: Mapping[str, tuple[Callable[[float], bool], Sequence[str]]] = {
    "at least 1": (
        lambda value: value >= 1,
        ("low_plan_steps", "high_plan_steps", "history", "final_reuse_decisions", "tile_rows"),
    ),
    "at least 0": (
        lambda value: value >= 0,
        (
            "guided_decisions",
            "max_routes",
            "converge_within_high_steps",
            "soft_minimum_path_weight",
            "discrete_smoothing",
            "discrete_escape",
        ),
    ),
    "above 0": (lambda value: value > 0, ("low_std", "high_std", "soft_minimum_tau")),
    "in [0, 1)": (lambda value: 0 <= value < 1, ("correlation", "discrete_momentum")),
}
"""What each number may be: in words, as a test, and of which settings. None may be NaN or infinite."""


@dataclass(frozen=True, kw_only=True)
class PlannerSettings:
    """The three-stage planner. The defaults are the paper's numbers where it gives them."""

    low_search: Budget = nested(Budget, Budget(candidates=300, iterations=30, elites=30))
    """CEM over low-level action blocks (refinement and convergence)."""
    high_search: Budget = nested(Budget, Budget(candidates=100, iterations=20, elites=10))
    """CEM over macro-actions (route)."""
    low_plan_steps: int = 8
    """H_L, in low steps."""
    high_plan_steps: int = 6
    """H_H, in high steps."""
    guided_decisions: int = 6
    """Decisions guided by the high level before direct convergence; 0 is the low-level-only planner."""
    max_routes: int = 4
    """Routes planned per task at most."""
    route_every_decisions: int | None = None
    """Decisions a subgoal lasts before the route is planned anew; None means `window` (the subgoal's own span)."""
    converge_within_high_steps: int = 0
    """Switch to convergence as soon as the new route meets the goal within this many high steps; 0 never does."""
    route_cost: FinalCost = "terminal"
    """Eq. (8)'s distance at the end of the route, or the soft minimum along it."""
    final_cost: FinalCost = "terminal"
    """Eq. (10)'s distance at the end of the plan, or the soft minimum along it."""
    soft_minimum_tau: float = 0.1
    """Temperature of soft minima, in squared latent distance."""
    soft_minimum_path_weight: float = 0.01
    """Share of the mean distance along the way that soft minima add."""
    history: int = 1
    """Observed states given to P_L, at most its own history; the rest of its context is imagined."""
    low_std: float = 1.0
    """Initial deviation of low-level candidates, in normalised actions."""
    high_std: float = 1.0
    """Initial deviation of macro-action candidates."""
    correlation: float = 0.0
    """AR(1) correlation of candidate noise from one environment step to the next."""
    bounds: Literal["none", "clip", "tanh"] = "none"
    """Whether candidates may leave the environment's action box: freely, clipped, or squashed into it."""
    warm_start: bool = True
    """Start a low search from the previous plan shifted by one block, while the objective stays the same."""
    warm_start_route: bool = False
    """Start a route search from the previous route's remaining macro-actions."""
    final_reuse_decisions: int = 1
    """Decisions one converging plan is executed for before it is searched again (Sokoban: 4)."""
    padded_start: bool = True
    """Whether the first windows may be padded with the oldest frame; otherwise guidance waits for k frames."""
    discrete_smoothing: float = 0.025
    """Laplace smoothing of the categorical search."""
    discrete_momentum: float = 0.5
    """Share of the old distribution kept at each categorical refit."""
    discrete_escape: float = 0.1
    """Mass added to every action of a warm-started categorical row."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Arithmetic of model calls while planning."""
    tile_rows: int = 512
    """Rows of one model call at most, which bounds memory. Results depend on it only below the number of candidates."""

    def __post_init__(self) -> None:
        for words, (holds, names) in _RANGES.items():
            for name in names:
                value: float = getattr(self, name)
                if not (isfinite(value) and holds(value)):
                    raise RecipeError(f"The planner setting {name} must be {words}, found {value}. Change it.")
        if self.final_reuse_decisions > self.low_plan_steps:
            raise RecipeError(
                f"A plan of low_plan_steps={self.low_plan_steps} blocks cannot serve "
                f"final_reuse_decisions={self.final_reuse_decisions} decisions, one block each."
            )

    def reduction(self, cost: FinalCost) -> Reduction:
        """What `route_cost` or `final_cost` names."""
        if cost == "terminal":
            return Terminal()
        return SoftMinimum(tau=self.soft_minimum_tau, path_weight=self.soft_minimum_path_weight)
