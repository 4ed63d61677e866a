"""A story for the tests of pages and pictures, written down by hand: no model, no simulator."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualwm.report.heat import Grid, goal_maps
from dualwm.report.sprites import Sprites
from dualwm.report.story import Plane, PlannerStory, Sight, Story, TaskStory, Thought, Walk
from dualwm.stats import Rate

GRID = Grid(left=0.0, top=0.0, step=10.0, columns=3, rows=2)
PLANE = Plane(width=100.0, height=80.0, walls=((0.0, 0.0, 100.0, 4.0), (48.0, 4.0, 4.0, 30.0)), goal_radius=8.0)


def draw(states: NDArray[np.float64]) -> NDArray[np.uint8]:
    """One colour per state: red is x, green is y."""
    frames = np.zeros((len(states), 8, 8, 3), np.uint8)
    frames[..., :2] = states[:, None, None, :]
    return frames


def sight(sprites: Sprites, points: Any) -> Sight:
    states = np.array(points, dtype=np.float64).reshape(-1, 2)
    return Sight(points=states, frames=sprites.add(states))


def thought(sprites: Sprites, env_step: int, **given: Any) -> Thought:
    """Five steps per decision; imagines two places to the right of where it stands."""
    ahead = [(10 + env_step + 5 * i, 41) for i in (1, 2)]
    plain: dict[str, Any] = {
        "stage": "refine",
        "routed": env_step == 0,
        "imagined": sight(sprites, ahead),
        "gaps": (1.0, None),
        "subgoal": sight(sprites, [(30, 44)]),
        "route": sight(sprites, [(30, 44), (60, 44)]),
        "best_cost": (2.0, 1.0, 0.5),
        "distance_low": 0.75,
        "distance_high": 0.5,
    }
    return Thought(env_step=env_step, **{**plain, **given})


def walk(sprites: Sprites, planner: str = "full", *, steps: int = 12, success: bool = True) -> Walk:
    """A straight walk to the right."""
    return Walk(
        planner=planner,
        success=success,
        steps=steps,
        closest=3.25,
        path=sight(sprites, [(10 + i, 40) for i in range(steps + 1)]),
        to_go=tuple(float(steps - i) for i in range(steps + 1)),
        thoughts=tuple(thought(sprites, step) for step in range(0, steps, 5)),
    )


def task(index: int = 3, *, full: bool = True, flat: bool = False) -> TaskStory:
    sprites = Sprites(draw)
    lengths = np.array([30.0, 20.0, 10.0, np.nan, 5.0, 0.0])
    return TaskStory(
        index=index,
        path_px=12.0,
        start=sight(sprites, [(10, 40)]),
        goal=sight(sprites, [(22, 40)]),
        walks=(walk(sprites, success=full), walk(sprites, "low-only", steps=20, success=flat)),
        maps=goal_maps(lengths, lengths / 10, lengths[::-1] / 20),
        sprites=sprites,
    )


def story(*tasks: TaskStory, **changed: Any) -> Story:
    chosen = tasks or (task(),)

    def planner(number: int, name: str, label: str) -> PlannerStory:
        success = Rate.of(one.walks[number].success for one in chosen)
        return PlannerStory(name=name, label=label, success=success, planning_ms_per_env_step=2.0)

    plain = Story(
        planners=(planner(0, "full", "dual-latent planner"), planner(1, "low-only", "low level only")),
        tasks=chosen,
        plane=PLANE,
        grid=GRID,
        budget_env_steps=20,
        env_steps_per_prediction=5,
        facts={"command": "dualwm demo"},
    )
    return replace(plain, **changed)
