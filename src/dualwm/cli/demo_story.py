"""From closed-loop runs to the records that the demo's page and picture and the viewer's pages are made of.

Latents become pictures by looking for the nearest one in the system's bank of training frames; what the model imagined
is then always shown as something that was really seen. Where a decoder is given it draws them instead; on maps they
still stand where the nearest real frame was taken.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from dualwm.cli.scene import GRID, Scene
from dualwm.envs import tworoom_core as rooms
from dualwm.evaluate.closed_loop import DecisionTrace, Run
from dualwm.evaluate.needs import Controller, World
from dualwm.evaluate.pool import PairPool
from dualwm.plan.trace import STAGES, Decision
from dualwm.records import Task, TaskSet
from dualwm.report.nearest import nearest
from dualwm.report.sprites import Sprites
from dualwm.report.story import PlannerStory, Points, Sight, Story, TaskStory, Thought, Walk
from dualwm.stats import Rate

PLANNERS = {"full": "dual-latent planner", "low-only": "low level only"}
"""The planner variants that are shown, and what they are called."""
FRAME_SIDE = 64
"""Pixels of the frames shown, whatever size the model sees."""

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


class Draws(Protocol):
    """A decoder: pictures of latents."""

    def draw(self, name: str, latents: NDArray[np.float32]) -> NDArray[np.uint8]:
        """Pictures (n, side, side, 3) of "low" or "high" latents (n, d)."""
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
    scene: Scene,
    taskset: TaskSet,
    runs: Mapping[str, Run],
    *,
    env_steps_per_prediction: int,
    facts: Mapping[str, str],
    labels: Mapping[str, str] = PLANNERS,
    side: int = FRAME_SIDE,
    decoder: Draws | None = None,
    **words: str,
) -> Story:
    """The story of the tasks that were run, by the planners that ran them; the runs kept traces and paths.

    `words` are what a `Story` says about itself: title, intro, back.
    """
    outcomes = next(iter(runs.values())).outcomes
    tasks: list[TaskStory] = []
    for task in (taskset.tasks[outcome.task] for outcome in outcomes):
        sprites = Sprites(lambda states: scene.world.draw(states, side, scene.world.cameras[0]))
        teller = _Teller(system.bank, scene, task, sprites, env_steps_per_prediction, side, decoder)
        tasks.append(
            TaskStory(
                index=task.index,
                path_px=task.facts.get("path_px"),
                start=teller.sight(np.array([task.start])),
                goal=teller.sight(np.array([task.goal])),
                walks=tuple(teller.walk(name, run) for name, run in runs.items()),
                maps=scene.maps(system.encode_states, np.array(task.goal)),
                sprites=sprites,
            )
        )
    return Story(
        planners=tuple(_planner(name, labels[name], run) for name, run in runs.items()),
        tasks=tuple(tasks),
        plane=scene.plane,
        grid=scene.grid,
        budget_env_steps=taskset.budget_env_steps,
        env_steps_per_prediction=env_steps_per_prediction,
        facts=facts,
        unit=scene.unit,
        to_go_says=scene.to_go_says,
        imagined_says="nearest real frame" if decoder is None else "drawn by the decoder",
        **words,
    )


def bank_spacing(bank: Bank) -> float:
    """Median distance in px from a place in the rooms to the nearest frame of the bank: how coarse the pictures are."""
    cells = GRID.centres()
    places = cells[~rooms.in_wall(cells)]
    found = nearest(places.astype(np.float32), bank.states)
    return float(np.median(rooms.distance(places, bank.states[found].astype(np.float64))))


def _planner(name: str, label: str, run: Run) -> PlannerStory:
    return PlannerStory(
        name=name,
        label=label,
        success=Rate.of(outcome.success for outcome in run.outcomes),
        planning_ms_per_env_step=run.timings.planning_ms_per_env_step,
    )


@dataclass(frozen=True)
class _Seen:
    """What latents were read as: the states of the nearest real frames, and the latents where a decoder draws them."""

    states: NDArray[np.float64]
    latents: NDArray[np.float32]

    def after(self, first: int) -> "_Seen":
        return _Seen(self.states[first:], self.latents[first:])


@dataclass(frozen=True)
class _Teller:
    """Tells one task's walks, numbering frames in the task's sprites."""

    bank: Bank
    scene: Scene
    task: Task
    sprites: Sprites
    ahead: int
    side: int
    decoder: Draws | None

    def sight(self, states: NDArray[np.float64]) -> Sight:
        return Sight(points=self.scene.where(states), frames=self.sprites.add(states)) if len(states) else _NOTHING

    def walk(self, planner: str, run: Run) -> Walk:
        outcome = next(o for o in run.outcomes if o.task == self.task.index)
        states = run.paths[self.task.index].states
        traces = [trace for trace in run.traces if self.task.index in trace.tasks]
        return Walk(
            planner=planner,
            success=outcome.success,
            steps=outcome.steps,
            closest=outcome.distance,
            path=self.sight(states),
            to_go=tuple(self.scene.to_go(states, np.array(self.task.goal)).tolist()),
            thoughts=self._thoughts(traces, states),
        )

    def _thoughts(self, traces: Sequence[DecisionTrace], states: NDArray[np.float64]) -> tuple[Thought, ...]:
        rows = [(trace.env_step, trace.decision, trace.tasks.index(self.task.index)) for trace in traces]
        imagined = [self._read("low", decision.predicted[row]) for _, decision, row in rows]
        thoughts: list[Thought] = []
        for i, (env_step, decision, row) in enumerate(rows):
            stage = STAGES[int(decision.stage[row])]
            if stage == "reuse" and i:
                imagined[i] = imagined[i - 1].after(1)  # what the plan found before had imagined from here on
            guided = stage == "refine"
            thoughts.append(
                Thought(
                    env_step=env_step,
                    stage=stage,
                    routed=bool(decision.routed[row]),
                    imagined=self._imagined("low", imagined[i]),
                    gaps=self._gaps(imagined[i].states, states, env_step),
                    subgoal=self._imagined("high", self._read("high", decision.subgoal[row, None]), guided),
                    route=self._imagined("high", self._read("high", decision.route[row]), guided),
                    best_cost=_finite(decision.best_cost[row]),
                    mean_cost=_finite(decision.mean_cost[row]),
                    route_best_cost=_finite(decision.route_best_cost[row]),
                    route_mean_cost=_finite(decision.route_mean_cost[row]),
                    fan=self._fan(decision, row),
                    distance_low=_normalised(decision.distance_low[row], decision.latent.shape[1]),
                    distance_high=_normalised(decision.distance_high[row], decision.subgoal.shape[1]),
                )
            )
        return tuple(thoughts)

    def _read(self, name: str, latents: NDArray[np.float32]) -> _Seen:
        """Latents (n, d) as the bank's nearest frames, without what was not predicted."""
        known = latents[np.isfinite(latents).all(axis=1)]
        if not len(known):
            return _Seen(np.zeros((0, len(self.task.start))), known)
        found = nearest(known, self.bank.low if name == "low" else self.bank.high)
        return _Seen(self.bank.states[found].astype(np.float64), known)

    def _imagined(self, name: str, seen: _Seen, shown: bool = True) -> Sight:
        if not shown or self.decoder is None or not len(seen.states):
            return self.sight(seen.states) if shown else _NOTHING
        frames = self.sprites.add_pictures(resized(self.decoder.draw(name, seen.latents), self.side))
        return Sight(points=self.scene.where(seen.states), frames=frames)

    def _fan(self, decision: Decision, row: int) -> tuple[Points, ...]:
        if not decision.fan.size or self.scene.plane is None:
            return ()
        lines = [self._read("low", elite).states for elite in decision.fan[row]]
        return tuple(self.scene.where(line) for line in lines if len(line))

    def _gaps(
        self, imagined: NDArray[np.float64], states: NDArray[np.float64], env_step: int
    ) -> tuple[float | None, ...]:
        steps = [env_step + self.ahead * (i + 1) for i in range(len(imagined))]
        real = [states[min(step, len(states) - 1)] for step in steps]
        if not real:
            return ()
        _, apart = self.scene.world.success(imagined, np.array(real), self.scene.rule)
        return tuple(float(gap) if step < len(states) else None for gap, step in zip(apart, steps, strict=True))


def resized(pictures: NDArray[np.uint8], side: int) -> NDArray[np.uint8]:
    """Pictures (n, h, w, 3) as squares of another side."""
    if pictures.shape[1:3] == (side, side):
        return pictures
    square = (side, side)
    return np.stack([np.asarray(Image.fromarray(one).resize(square, Image.Resampling.BICUBIC)) for one in pictures])


def _finite(costs: NDArray[np.float32]) -> tuple[float, ...]:
    return tuple(float(cost) for cost in costs if np.isfinite(cost))


def _normalised(squared: np.floating[Any], width: int) -> float:
    """A squared latent distance, Euclidean over sqrt(2 D)."""
    return float(np.sqrt(squared / (2 * width)))
