"""An outside advisor without a model: it is shown the picture and the goal, and answers in text with five actions."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from torch import nn

from dualwm.records import Goal, Observation
from dualwm.registry import dataclass_from_plain, part
from dualwm.states import State
from dualwm.zoo.method import Acting, Sight
from toys_systems.shared import FRONT

FLAWED = 3
"""Every third answer is not what was asked for."""


def advise(question: Mapping[str, Any], now: NDArray[np.uint8], goal: NDArray[np.uint8]) -> str:
    """A stand-in for somebody else's service: stateless, and not always well-behaved."""
    if (int(now.sum()) + question["attempt"]) % FLAWED == 0:
        return "Sorry, what was the question?"
    towards = np.sign(dark(goal) - dark(now))
    return json.dumps([towards.tolist()] * question["actions"])


def dark(picture: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Where a picture is dark on average, (x, y)."""
    weight = 255.0 - picture.mean(-1)
    y, x = np.indices(weight.shape)
    return np.array([(weight * x).sum(), (weight * y).sum()]) / max(weight.sum(), 1.0)


@dataclass(frozen=True, kw_only=True)
class Asking:
    """How it is asked."""

    actions: int = 5
    """Environment actions per answer."""
    attempts: int = 2
    """Questions per decision; after that it stands still."""


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What is remembered: the goals' pictures."""

    goals: NDArray[np.uint8]

    def take(self, rows: NDArray[np.int64]) -> Self:
        return replace(self, goals=self.goals[rows])


@dataclass(frozen=True, kw_only=True)
class Conversations:
    """The record of a decision."""

    answers: list[list[str]]
    """Task by task, word by word."""


@dataclass(frozen=True, kw_only=True)
class Advised:
    """The controller: one conversation per task and decision."""

    asking: Asking
    acting: Acting
    cameras: tuple[str, ...] = (FRONT[0],)

    def start(self, goal: Goal, tasks: Sequence[int], seed: int) -> Shown:
        assert goal.frames is not None
        return Shown(goals=goal.frames[self.cameras[0]])

    def act(self, memory: Shown, observation: Observation) -> tuple[NDArray[np.float32], Shown, Conversations]:
        pictures = zip(observation.frames[self.cameras[0]], memory.goals, strict=True)
        told = [self._converse(now, goal) for now, goal in pictures]
        chunks, record = [actions for actions, _ in told], Conversations(answers=[answers for _, answers in told])
        return np.stack(chunks), memory, record

    def _converse(self, now: NDArray[np.uint8], goal: NDArray[np.uint8]) -> tuple[NDArray[np.float32], list[str]]:
        shape, answers = (self.asking.actions, self.acting.action_dim), list[str]()
        for attempt in range(self.asking.attempts):
            answers.append(advise({"attempt": attempt, "actions": self.asking.actions}, now, goal))
            try:
                actions = np.asarray(json.loads(answers[-1]), np.float32).reshape(shape)
            except ValueError:
                continue
            return actions.clip(np.float32(self.acting.action_low), np.float32(self.acting.action_high)), answers
        return np.zeros(shape, np.float32), answers


@part("method", "toy_external")
@dataclass(frozen=True, kw_only=True)
class External:
    """Nothing is built, nothing is learned."""

    @property
    def sees(self) -> Sight:
        return Sight(cameras=(FRONT,))

    action_dim = None

    def build(self) -> nn.Module:
        return nn.Identity()

    def stages(self, inputs) -> Sequence[Any]:
        return []

    def geometry(self) -> Sequence[tuple[str, int, int]]:
        return []

    def variants(self) -> Mapping[str, Mapping[str, Any]]:
        return {"full": {}}

    def settings(self, plain: Mapping[str, Any], where: str) -> Asking:
        return dataclass_from_plain(Asking, plain, where)

    def controller(self, model: nn.Module, settings: Asking, acting: Acting) -> Advised:
        return Advised(asking=settings, acting=acting)

    def describe(self, model, observation, normalizer) -> Mapping[str, State]:
        return {}


METHOD = External()
PLANNER = {"actions": 5}
