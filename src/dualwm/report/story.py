"""What the demo's page and picture are made of: plain records of walks and of what was thought on the way.

Positions are points (n, 2) on the plane that the map shows, x to the right and y down. Frames are numbers of sprites.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualwm.report.heat import Grid, HeatMap
from dualwm.report.sprites import Sprites
from dualwm.stats import Rate

Points = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Plane:
    """What the map shows besides the walks."""

    width: float
    height: float
    walls: tuple[tuple[float, float, float, float], ...]
    """Rectangles (x, y, width, height)."""
    goal_radius: float
    """Within it a goal counts as reached; 0 where no circle says that."""
    backdrop: bool = False
    """Whether the real frame of the moment lies behind the map: positions are places on the picture."""


@dataclass(frozen=True, kw_only=True)
class Sight:
    """Real frames that were met, or that stand for something imagined: where they were taken, and their sprites."""

    points: Points
    frames: tuple[int, ...]

    def to_plain(self) -> dict[str, Any]:
        """JSON data."""
        return {"points": np.round(self.points, 1).tolist(), "frames": list(self.frames)}


@dataclass(frozen=True, kw_only=True)
class Thought:
    """One decision of one task."""

    env_step: int
    """When it was taken."""
    stage: str
    """refine, converge or reuse: what the low-level search was for."""
    routed: bool
    """Whether a route was planned first."""
    imagined: Sight
    """For each low step ahead, the bank's frame nearest to the predicted low latent."""
    gaps: tuple[float | None, ...]
    """For each of them, how far its place is from where the agent then really was; None if it never came to that."""
    subgoal: Sight
    """The bank's frame nearest to the subgoal in the high-level space; empty where none is pursued."""
    route: Sight
    """The same for every high state along the current route."""
    best_cost: tuple[float, ...]
    """Of the low-level search, by iteration."""
    mean_cost: tuple[float, ...] = ()
    """The same, over all candidates."""
    route_best_cost: tuple[float, ...] = ()
    """Of the route's search, where one was planned."""
    route_mean_cost: tuple[float, ...] = ()
    fan: tuple[Points, ...] = ()
    """Where the elites of the last iteration lead, as the places of the nearest real frames; one line each."""
    distance_low: float
    """To the goal, Euclidean over sqrt(2 D)."""
    distance_high: float

    def to_plain(self) -> dict[str, Any]:
        """JSON data."""
        return {
            "env_step": self.env_step,
            "stage": self.stage,
            "routed": self.routed,
            "imagined": self.imagined.to_plain(),
            "gaps": [None if gap is None else _short(gap) for gap in self.gaps],
            "subgoal": self.subgoal.to_plain(),
            "route": self.route.to_plain(),
            **{name: [_short(cost) for cost in getattr(self, name)] for name in _COSTS},
            "fan": [np.round(points, 1).tolist() for points in self.fan],
            "distance_low": round(self.distance_low, 4),
            "distance_high": round(self.distance_high, 4),
        }


@dataclass(frozen=True, kw_only=True)
class Walk:
    """One task under one planner. Row t of the path is where the agent was after t environment steps."""

    planner: str
    success: bool
    steps: int
    closest: float
    """Smallest distance to the goal, in the success rule's own unit."""
    path: Sight
    to_go: tuple[float, ...]
    """How far the goal truly is at each row of the path, as the story says; empty where the world cannot say."""
    thoughts: tuple[Thought, ...]

    def thought_at(self, env_step: int) -> Thought:
        """The decision that led to this step; at step 0 the one about to be carried out."""
        before = [thought for thought in self.thoughts if thought.env_step < env_step]
        return before[-1] if before else self.thoughts[0]

    def to_plain(self) -> dict[str, Any]:
        """JSON data."""
        return {
            "planner": self.planner,
            "success": self.success,
            "steps": self.steps,
            "closest": _short(self.closest),
            "path": self.path.to_plain(),
            "to_go": [_short(length) for length in self.to_go],
            "thoughts": [thought.to_plain() for thought in self.thoughts],
        }


@dataclass(frozen=True, kw_only=True)
class TaskStory:
    """One task, the walks of all planners, and the distance maps of its goal."""

    index: int
    """Position in its TaskSet."""
    path_px: float | None
    """Shortest path from start to goal."""
    start: Sight
    goal: Sight
    walks: tuple[Walk, ...]
    maps: tuple[HeatMap, ...]
    sprites: Sprites
    """Draws every frame this task refers to."""


@dataclass(frozen=True, kw_only=True)
class PlannerStory:
    """One planner over all tasks."""

    name: str
    """As the system grammar names the variant."""
    label: str
    success: Rate
    planning_ms_per_env_step: float | None


@dataclass(frozen=True, kw_only=True)
class Story:
    """Everything the demo shows. The first planner is the one the page is about."""

    planners: tuple[PlannerStory, ...]
    tasks: tuple[TaskStory, ...]
    plane: Plane | None
    """None where states have no place on a map."""
    grid: Grid | None
    """Of the heat maps; None where there are none."""
    budget_env_steps: int
    env_steps_per_prediction: int
    """Environment steps from one imagined frame to the next."""
    facts: Mapping[str, str]
    """What a reader needs to repeat and to judge it: command, versions, digests, how the tasks were chosen."""
    title: str = ""
    intro: str = ""
    """What the page is called, and what it says before anything is shown."""
    back: str = ""
    """Address of the page that this one was opened from."""
    unit: str = "px"
    """Of the success rule's distance."""
    to_go_says: str = "true path length, px"
    """What is measured at each row of a path."""
    imagined_says: str = "nearest real frame"
    """How an imagined latent became a picture."""


_COSTS = ("best_cost", "mean_cost", "route_best_cost", "route_mean_cost")


def _short(value: float) -> float:
    return float(f"{value:.4g}")
