"""From closed-loop runs in TwoRoom to the records that the demo's page and picture are made of.

Latents become pictures by looking for the nearest one in the system's bank of training frames; what the model imagined
is therefore always shown as something that was really seen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dualwm.envs import tworoom_core as rooms
from dualwm.envs.tworoom import TwoRoom
from dualwm.evaluate.closed_loop import DecisionTrace, Run
from dualwm.evaluate.needs import Controller, World
from dualwm.evaluate.pool import PairPool
from dualwm.plan.trace import STAGES
from dualwm.records import Task, TaskSet
from dualwm.report.heat import Grid, HeatMap, goal_maps, latent_distance
from dualwm.report.nearest import nearest
from dualwm.report.sprites import Sprites
from dualwm.report.story import Plane, PlannerStory, Sight, Story, TaskStory, Thought, Walk
from dualwm.stats import Rate

PLANNERS = {"full": "dual-latent planner", "low-only": "low level only"}
"""The planner variants that are shown, and what they are called."""
FRAME_SIDE = 64
"""Pixels of the frames shown, whatever size the model sees."""
GRID = Grid(left=20.0, top=20.0, step=4.0, columns=46, rows=46)
"""Covers where the agent's centre can be, 21 to 203."""

_NOTHING = Sight(points=np.zeros((0, 2)), frames=())


@runtime_checkable
class Bank(Protocol):
    """Training frames by their states, with their latents."""

    @property
    def states(self) -> NDArray[np.float32]:
        """(n, state_width)."""
        ...

    @property
    def low(self) -> NDArray[np.float32]:
        """(n, d)."""
        ...

    @property
    def high(self) -> NDArray[np.float32]:
        """(n, e), of the frame repeated to a window."""
        ...


@runtime_checkable
class Encoder(Protocol):
    """What pictures of thoughts ask of a system."""

    @property
    def bank(self) -> Bank:
        """Real frames to show imagined latents by."""
        ...

    def encode_states(self, states: NDArray[Any]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Low and high latents of the frames drawn at some states."""
        ...


@runtime_checkable
class System(Encoder, Protocol):
    """What the demo asks of a system."""

    @property
    def name(self) -> str:
        """What outcomes call it."""
        ...

    @property
    def weights_digest(self) -> str:
        """SHA-256 of its weights."""
        ...

    @property
    def image_size(self) -> int:
        """Side of the frames it sees."""
        ...

    @property
    def world(self) -> World:
        """Where it acts."""
        ...

    def pool(self, collection: str = ...) -> PairPool:
        """Start and goal pairs of a collection."""
        ...

    def controller(self, variant: str = ..., goal_offset_env_steps: int = ...) -> Controller:
        """A planner variant."""
        ...


def tell(
    system: Encoder,
    world: TwoRoom,
    taskset: TaskSet,
    runs: Mapping[str, Run],
    *,
    env_steps_per_prediction: int,
    facts: Mapping[str, str],
) -> Story:
    """The story of the tasks that were run, by the planners that ran them; the runs kept traces and paths."""
    field = _Field.of(system, world)
    outcomes = next(iter(runs.values())).outcomes
    tasks: list[TaskStory] = []
    for task in (taskset.tasks[outcome.task] for outcome in outcomes):
        sprites = Sprites(lambda states: world.draw(states, FRAME_SIDE))
        teller = _Teller(system.bank, world, taskset.rule, task, sprites, env_steps_per_prediction)
        tasks.append(
            TaskStory(
                index=task.index,
                path_px=task.facts.get("path_px"),
                start=teller.sight(np.array([task.start])),
                goal=teller.sight(np.array([task.goal])),
                walks=tuple(teller.walk(name, run) for name, run in runs.items()),
                maps=field.maps(system, np.array(task.goal)),
                sprites=sprites,
            )
        )
    return Story(
        planners=tuple(_planner(name, run) for name, run in runs.items()),
        tasks=tuple(tasks),
        plane=plane(),
        grid=GRID,
        budget_env_steps=taskset.budget_env_steps,
        env_steps_per_prediction=env_steps_per_prediction,
        facts=facts,
    )


def plane() -> Plane:
    """The map of TwoRoom: the line around both rooms, and the wall on either side of the door."""
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


def bank_spacing(bank: Bank) -> float:
    """Median distance in px from a place in the rooms to the nearest frame of the bank: how coarse the pictures are."""
    cells = GRID.centres()
    places = cells[~rooms.in_wall(cells)]
    found = nearest(places.astype(np.float32), bank.states)
    return float(np.median(rooms.distance(places, bank.states[found].astype(np.float64))))


def _planner(name: str, run: Run) -> PlannerStory:
    return PlannerStory(
        name=name,
        label=PLANNERS[name],
        success=Rate.of(outcome.success for outcome in run.outcomes),
        planning_ms_per_env_step=run.timings.planning_ms_per_env_step,
    )


@dataclass(frozen=True)
class _Field:
    """The grid's cells in which an agent can stand, and the latents of the frames drawn there."""

    world: TwoRoom
    free: NDArray[np.bool_]
    places: NDArray[np.float64]
    low: NDArray[np.float32]
    high: NDArray[np.float32]

    @staticmethod
    def of(system: Encoder, world: TwoRoom) -> "_Field":
        cells = GRID.centres()
        free = ~rooms.in_wall(cells)
        return _Field(world, free, cells[free], *system.encode_states(cells[free]))

    def maps(self, system: Encoder, goal: NDArray[np.float64]) -> tuple[HeatMap, HeatMap, HeatMap]:
        goal_low, goal_high = system.encode_states(goal[None])
        return goal_maps(
            self._spread(self.world.path_px(self.places, np.broadcast_to(goal, self.places.shape))),
            self._spread(latent_distance(self.low, goal_low[0])),
            self._spread(latent_distance(self.high, goal_high[0])),
        )

    def _spread(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        whole = np.full(len(self.free), np.nan)
        whole[self.free] = values
        return whole


@dataclass(frozen=True)
class _Teller:
    """Tells one task's walks, numbering frames in the task's sprites."""

    bank: Bank
    world: TwoRoom
    rule: str
    task: Task
    sprites: Sprites
    ahead: int

    def sight(self, states: NDArray[np.float64]) -> Sight:
        return Sight(points=states[:, :2], frames=self.sprites.add(states)) if len(states) else _NOTHING

    def walk(self, planner: str, run: Run) -> Walk:
        outcome = next(o for o in run.outcomes if o.task == self.task.index)
        states = run.paths[self.task.index].states
        goal = np.broadcast_to(np.array(self.task.goal), states.shape)
        traces = [trace for trace in run.traces if self.task.index in trace.tasks]
        return Walk(
            planner=planner,
            success=outcome.success,
            steps=outcome.steps,
            closest=outcome.distance,
            path=self.sight(states),
            to_go=tuple(self.world.path_px(states, goal).tolist()),
            thoughts=self._thoughts(traces, states),
        )

    def _thoughts(self, traces: Sequence[DecisionTrace], states: NDArray[np.float64]) -> tuple[Thought, ...]:
        rows = [(trace.env_step, trace.decision, trace.tasks.index(self.task.index)) for trace in traces]
        imagined = self._seen(np.stack([decision.predicted[row] for _, decision, row in rows]), self.bank.low)
        routes = self._seen(np.stack([decision.route[row] for _, decision, row in rows]), self.bank.high)
        subgoals = self._seen(np.stack([decision.subgoal[row, None] for _, decision, row in rows]), self.bank.high)
        thoughts: list[Thought] = []
        for i, (env_step, decision, row) in enumerate(rows):
            stage = STAGES[int(decision.stage[row])]
            if stage == "reuse" and i:
                imagined[i] = imagined[i - 1][1:]  # what the plan found before had imagined from here on
            guided = stage == "refine"
            thoughts.append(
                Thought(
                    env_step=env_step,
                    stage=stage,
                    routed=bool(decision.routed[row]),
                    imagined=self.sight(imagined[i]),
                    gaps=self._gaps(imagined[i], states, env_step),
                    subgoal=self.sight(subgoals[i]) if guided else _NOTHING,
                    route=self.sight(routes[i]) if guided else _NOTHING,
                    best_cost=tuple(float(cost) for cost in decision.best_cost[row] if np.isfinite(cost)),
                    distance_low=_normalised(decision.distance_low[row], decision.latent.shape[1]),
                    distance_high=_normalised(decision.distance_high[row], decision.subgoal.shape[1]),
                )
            )
        return tuple(thoughts)

    def _seen(self, latents: NDArray[np.float32], bank: NDArray[np.float32]) -> list[NDArray[np.float64]]:
        """For latents (t, n, d) the states of the bank's nearest frames, without what was not predicted."""
        found = nearest(latents.reshape(-1, latents.shape[-1]), bank).reshape(latents.shape[:2])
        return [self.bank.states[row[row >= 0]].astype(np.float64) for row in found]

    def _gaps(
        self, imagined: NDArray[np.float64], states: NDArray[np.float64], env_step: int
    ) -> tuple[float | None, ...]:
        steps = [env_step + self.ahead * (i + 1) for i in range(len(imagined))]
        real = [states[min(step, len(states) - 1)] for step in steps]
        if not real:
            return ()
        _, apart = self.world.success(imagined, np.array(real), self.rule)
        return tuple(float(gap) if step < len(states) else None for gap, step in zip(apart, steps, strict=True))


def _normalised(squared: np.floating[Any], width: int) -> float:
    """A squared latent distance, Euclidean over sqrt(2 D)."""
    return float(np.sqrt(squared / (2 * width)))
