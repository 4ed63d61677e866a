"""A system for the demo that is solved by hand: TwoRoom whose latents are functions of position, and the real planner.

Low latents are waves over the plane, so that their distance tells near places apart and all far ones look alike. High
latents are path lengths to landmarks, so that their distance leads around the wall. The low level alone therefore gets
stuck where the two levels together do not.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from dualwm.envs.tworoom import TwoRoom
from dualwm.envs.tworoom_core import HIGH, LOW, TwoRoomSimulation, in_wall
from dualwm.evaluate.pool import PairPool, Pairs
from dualwm.plan.controller import ThreeStage
from dualwm.plan.proposals import Box
from dualwm.plan.search import Budget
from dualwm.plan.settings import PlannerSettings
from dualwm.records import Goal, Observation
from dualwm.states import State

FRAME_SKIP = 5
_WAVES = np.random.default_rng(7).normal(0, 1 / 40, (2, 30))
_PHASES = np.random.default_rng(8).uniform(0, 2 * np.pi, 30)
_LANDMARKS = np.array([(x, y) for x in (30.0, 90.0, 134.0, 194.0) for y in (30.0, 110.0, 194.0)])
_SCALE = 1000.0
"""Both latents begin with the position over this, far too small to be felt in a distance."""

WORLD = TwoRoom()


def low_latents(places: NDArray[Any]) -> NDArray[np.float32]:
    places = places.astype(np.float64)
    return np.concatenate([places / _SCALE, np.cos(places @ _WAVES + _PHASES)], axis=1).astype(np.float32)


def high_latents(places: NDArray[Any]) -> NDArray[np.float32]:
    places = places.astype(np.float64)
    lengths = [WORLD.path_px(places, np.broadcast_to(mark, places.shape)) / 60 for mark in _LANDMARKS]
    return np.concatenate([places / _SCALE, np.stack(lengths, axis=1)], axis=1).astype(np.float32)


def places_of(latents: torch.Tensor) -> NDArray[np.float64]:
    return latents[..., :2].double().numpy() * _SCALE


def walk(places: NDArray[np.float64], moves: NDArray[Any]) -> NDArray[np.float64]:
    """Where moves (b, steps, 2) lead, a hundredth too fast: a model is never quite right."""
    room = TwoRoomSimulation(np.where(in_wall(places)[:, None], [60.0, 60.0], places.clip(LOW, HIGH)))
    for i in range(moves.shape[1]):
        room.step(np.clip(moves[:, i], -1, 1) * 1.01)
    return room.states


@dataclass(frozen=True)
class ToyModel:
    window: int = 5
    low_history: int = 1
    macro_width: int = 2
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    @property
    def singly(self) -> "ToyModel":
        return self

    def encode(self, observation: Observation) -> State:
        return State(torch.from_numpy(low_latents(observation.proprio["proprio"])))

    def encode_goal(self, goal: Goal) -> State:
        return State(torch.from_numpy(low_latents(goal.proprio["proprio"])))

    def lift(self, window: State) -> State:
        return State(torch.from_numpy(high_latents(places_of(window.latent[:, -1]))))

    def roll_low(self, context: State, actions: torch.Tensor) -> State:
        places, found = places_of(context.latent[:, -1]), []
        for block in actions.numpy().swapaxes(0, 1):
            places = walk(places, block.reshape(len(block), FRAME_SKIP, 2))
            found.append(torch.from_numpy(low_latents(places)))
        return State(torch.stack(found, 1))

    def roll_high(self, z_H: State, macros: torch.Tensor) -> State:
        places, found = places_of(z_H.latent), []
        for macro in macros.numpy().swapaxes(0, 1):
            places = walk(places, np.repeat(np.tanh(macro)[:, None], FRAME_SKIP * self.window, axis=1))
            found.append(torch.from_numpy(high_latents(places)))
        return State(torch.stack(found, 1))


@dataclass(frozen=True)
class ToyActions:
    frame_skip: int = FRAME_SKIP
    action_dim: int = 2
    discrete_values: int | None = None

    def to_model(self, executed: NDArray[np.float32]) -> torch.Tensor:
        return torch.from_numpy(executed).flatten(1)

    def to_env(self, block: torch.Tensor) -> NDArray[np.float32]:
        return block.clamp(-1, 1).unflatten(1, (FRAME_SKIP, 2)).numpy()

    def box(self) -> Box:
        return Box(-torch.ones(2 * FRAME_SKIP), torch.ones(2 * FRAME_SKIP))


@dataclass(frozen=True)
class ToyBank:
    states: NDArray[np.float32]
    low: NDArray[np.float32]
    high: NDArray[np.float32]


SETTINGS = PlannerSettings(
    low_search=Budget(candidates=24, iterations=3, elites=6),
    high_search=Budget(candidates=32, iterations=3, elites=6),
    low_plan_steps=5,
    high_plan_steps=4,
    guided_decisions=15,
    bounds="clip",
    correlation=0.8,
)


@dataclass(frozen=True)
class ToySystem:
    name: str = "toy"
    weights_digest: str = "0123456789abcdef" * 4
    image_size: int = 16
    world: Any = WORLD
    settings: PlannerSettings = SETTINGS
    bank_size: int = 400

    def controller(self, variant: str = "full", goal_offset_env_steps: int = 100, **overrides: Any) -> ThreeStage:
        assert goal_offset_env_steps == 100, goal_offset_env_steps
        settings = replace(self.settings, **{"full": {}, "low-only": {"guided_decisions": 0}}[variant], **overrides)
        return ThreeStage(ToyModel(), ToyActions(), settings)

    def encode_states(self, states: NDArray[Any]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        return low_latents(states), high_latents(states)

    @cached_property
    def bank(self) -> ToyBank:
        states = free_places(np.random.default_rng(3), self.bank_size).astype(np.float32)
        return ToyBank(states, low_latents(states), high_latents(states))

    def pool(self, collection: str = "test") -> PairPool:
        assert collection == "test", collection
        starts, goals = free_places(np.random.default_rng(1), 260), free_places(np.random.default_rng(2), 260)
        facts = [WORLD.facts(start, goal) for start, goal in zip(starts, goals, strict=True)]
        pairs = Pairs(
            starts=starts,
            goals=goals,
            episode=np.arange(260),
            start_row=np.zeros(260, np.int64),
            env_seed=np.arange(260),
            solved={"reach16": WORLD.success(starts, goals)[0]},
            facts={name: np.array([fact[name] for fact in facts]) for name in facts[0]},
        )
        return PairPool(
            world="tworoom", collection="test", rules=WORLD.rules, episodes=260, pairs={100: pairs}, paper={}
        )


def free_places(generator: np.random.Generator, count: int) -> NDArray[np.float64]:
    places = generator.uniform(LOW, HIGH, (2 * count, 2)).astype(np.float32).astype(np.float64)
    return places[~in_wall(places)][:count]
