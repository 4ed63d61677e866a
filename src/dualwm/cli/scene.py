"""What a world lets one draw of an episode beside its pictures: a map, how far the goal truly is, maps of distance.

TwoRoom has walls, shortest paths and every place an agent can stand. Any other world is drawn as far as it goes: with
`planar` paths lie over the real picture of the moment, with `path_px` or `path_env_steps` the way left is told over
time (else the success rule's own distance), and a world with neither still has its frames, stages and latent distances.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualwm.envs import tworoom_core as rooms
from dualwm.envs.tworoom import TwoRoom
from dualwm.evaluate.needs import World
from dualwm.report.heat import Grid, HeatMap, goal_maps, latent_distance
from dualwm.report.story import Plane

Places = NDArray[np.float64]
Encode = Callable[[NDArray[Any]], tuple[NDArray[np.float32], NDArray[np.float32]]]
"""Low and high latents of the frames drawn at some states."""

GRID = Grid(left=20.0, top=20.0, step=4.0, columns=46, rows=46)
"""Covers where TwoRoom's agent can have its centre, 21 to 203."""
_SIDE = 224.0
"""Of the map over a picture."""
_MEASURES = {"path_px": "shortest path, px", "path_env_steps": "fewest environment steps"}
"""What a world may know of the way left, the first it knows counting, and what it is called."""


@dataclass(frozen=True)
class Scene:
    """Any world, under one success rule."""

    world: World
    rule: str

    @property
    def plane(self) -> Plane | None:
        """The picture itself, where states have a place on it."""
        if not hasattr(self.world, "planar"):
            return None
        return Plane(width=_SIDE, height=_SIDE, walls=(), goal_radius=0.0, backdrop=True)

    @property
    def grid(self) -> Grid | None:
        """Of the distance maps."""
        return None

    @property
    def unit(self) -> str:
        """Of the success rule's distance, as far as the world names it."""
        return str(getattr(self.world, "distance_unit", ""))

    @cached_property
    def _measure(self) -> str | None:
        return next((name for name in _MEASURES if hasattr(self.world, name)), None)

    @property
    def to_go_says(self) -> str:
        """What `to_go` counts."""
        unit = f", {self.unit}" if self.unit else ""
        return _MEASURES[self._measure] if self._measure else f"distance to the goal by rule {self.rule}{unit}"

    def where(self, states: NDArray[np.float64]) -> Places:
        """Places (n, 2) on the plane; zeros where there is none."""
        planar: Callable[[Any], Places] | None = getattr(self.world, "planar", None)
        return np.zeros((len(states), 2)) if planar is None else _SIDE * planar(states)

    def to_go(self, states: NDArray[np.float64], goal: NDArray[np.float64]) -> NDArray[np.float64]:
        """How far the goal truly is from each state."""
        goals = np.repeat(goal[None], len(states), axis=0)
        if self._measure is not None:
            return getattr(self.world, self._measure)(states, goals).astype(np.float64)
        return self.world.success(states, goals, self.rule)[1]

    def maps(self, encode: Encode, goal: NDArray[np.float64]) -> tuple[HeatMap, ...]:
        """Distance to the goal from everywhere; nothing where nobody knows where everywhere is."""
        del encode, goal
        return ()


@dataclass(frozen=True)
class Rooms(Scene):
    """TwoRoom, whose states are places in px."""

    world: TwoRoom

    @property
    def plane(self) -> Plane:
        """The line around both rooms, and the wall on either side of the door."""
        return plane()

    @property
    def grid(self) -> Grid:
        """`GRID`."""
        return GRID

    def where(self, states: NDArray[np.float64]) -> Places:
        """The states themselves."""
        return states[:, :2]

    def maps(self, encode: Encode, goal: NDArray[np.float64]) -> tuple[HeatMap, ...]:
        """True path length and the latent distances; a method of one level has one of these."""
        free, places = self._free
        (low, high), (goal_low, goal_high) = self._latents(encode), encode(goal[None])
        found = goal_maps(
            _spread(free, self.world.path_px(places, np.broadcast_to(goal, places.shape))),
            _spread(free, latent_distance(low, goal_low[0])),
            _spread(free, latent_distance(high, goal_high[0])),
        )
        return found[:2] if high is low else found

    @cached_property
    def _free(self) -> tuple[NDArray[np.bool_], Places]:
        cells = GRID.centres()
        free = ~rooms.in_wall(cells)
        return free, cells[free]

    @cached_property
    def _known(self) -> dict[str, tuple[NDArray[np.float32], NDArray[np.float32]]]:
        return {}

    def _latents(self, encode: Encode) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Of the frames drawn at every place of the grid, encoded once."""
        if "grid" not in self._known:
            self._known["grid"] = encode(self._free[1])
        return self._known["grid"]


def scene_of(world: World, rule: str) -> Scene:
    """What can be drawn of a world."""
    return Rooms(world, rule) if isinstance(world, TwoRoom) else Scene(world, rule)


def plane() -> Plane:
    """The map of TwoRoom."""
    near, line = rooms.LOW - rooms.RADIUS, 4.0
    far = rooms.CANVAS - near
    side = far - near + 2 * line
    around = [
        (near - line, near - line, side, line),
        (near - line, far, side, line),
        (near - line, near, line, far - near),
        (far, near, line, far - near),
    ]
    left, width = rooms.WALL_X - rooms.WALL_HALF, 2 * rooms.WALL_HALF
    top, bottom = rooms.DOOR_Y - rooms.DOOR_HALF, rooms.DOOR_Y + rooms.DOOR_HALF
    wall = [(left, near, width, top - near), (left, bottom, width, far - bottom)]
    return Plane(width=rooms.CANVAS, height=rooms.CANVAS, walls=(*around, *wall), goal_radius=rooms.REACH)


def _spread(free: NDArray[np.bool_], values: NDArray[np.float64]) -> NDArray[np.float64]:
    whole = np.full(len(free), np.nan)
    whole[free] = values
    return whole
