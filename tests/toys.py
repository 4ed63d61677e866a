"""Worlds and models that can be solved by hand: the integrator z' = z + a, a linear world, a bowl.

`IntegratorModel` and `PlainActions` or `KeyActions` are what the three-stage controller plans with; `drive` closes the
loop through the integrator itself, so that every prediction of the model comes true.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from dualwm.model.dynamics import Predictor
from dualwm.plan.controller import ThreeStage
from dualwm.plan.memory import Memory
from dualwm.plan.proposals import Box
from dualwm.plan.search import Score
from dualwm.plan.trace import Decision
from dualwm.records import Goal, Observation
from dualwm.shapes import Tensor
from dualwm.states import State


class IntegratorWorld:
    """z' = z + a: the future is a running sum of the actions."""

    def futures(self, z: Tensor, actions: Tensor) -> Tensor:
        """(b, d) and (b, n, d) -> the n states that follow, (b, n, d)."""
        return z[:, None] + actions.cumsum(1)

    def episode(self, b: int, steps: int, width: int = 2, seed: int = 0) -> tuple[Tensor, Tensor]:
        """States z_0..z_{T-1} and actions a_0..a_{T-1}, each taken from the state of its own row; (b, T, d) both.

        Whole numbers, so that sums in any order are exact.
        """
        actions = torch.randint(-4, 5, (b, steps, width), generator=torch.Generator().manual_seed(seed)).float()
        start = torch.arange(b * width, dtype=torch.float32).view(b, width)
        return torch.cat([start[:, None], self.futures(start, actions)[:, :-1]], 1), actions


class IntegratorDynamics(Predictor):
    """The true model of the integrator, and a referee: a context whose actions do not lead from state to state fails.

    Output i is what follows input i. With `drift` every prediction is off by it, so an h-step prediction by h drifts.
    """

    def __init__(self, history: int, drift: float = 0.0) -> None:
        nn.Module.__init__(self)
        self.history, self.drift = history, drift
        self.contexts: list[Tensor] = []

    def forward(self, z: Tensor, c: Tensor) -> Tensor:
        assert z.shape == c.shape, (z.shape, c.shape)
        self.contexts.append(z)
        if self.drift == 0.0:
            torch.testing.assert_close(z[:, 1:], z[:, :-1] + c[:, :-1])
        return z + c + self.drift


@dataclass(frozen=True)
class LinearWorld:
    """x' = L x + eps e with a unit vector e; the model of it, F(x) = L x, misses eps at every step.

    Its rollout error grows as fast as Eq. (6) allows: e_h = eps S_h(L).
    """

    L: float
    eps: float
    width: int = 3

    def model(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.L * x

    def rollouts(self, steps: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """True and predicted states x_0..x_n, (n + 1, width) both, from one start."""
        true = [np.linspace(-1.0, 1.0, self.width)]
        predicted = [true[0]]
        for _ in range(steps):
            true.append(self.model(true[-1]) + self.eps * np.eye(self.width)[0])
            predicted.append(self.model(predicted[-1]))
        return np.array(true), np.array(predicted)


@dataclass(frozen=True)
class BowlCost:
    """The squared distance of a plan from the bottom of a bowl, (b, h, a); `ignored` last dimensions cost nothing."""

    bottom: Tensor
    ignored: int = 0

    def __call__(self, candidates: Tensor) -> Score:
        miss = (candidates - self.bottom[:, None]).square()
        return Score(miss[..., : miss.shape[-1] - self.ignored].sum((-2, -1)))


@dataclass(frozen=True)
class IntegratorModel:
    """What the controller plans with: z' = z + a @ moves, z^H = weighted mean of a window, z^H' = z^H + u.

    With the default weights a high state is its window's last frame.
    """

    moves: Tensor = field(default_factory=lambda: torch.eye(2))
    """(block width, d): where a block leads."""
    window: int = 3
    low_history: int = 3
    weights: tuple[float, ...] = ()
    """E_H's weights of the window's frames, oldest first."""
    device: torch.device = torch.device("cpu")
    calls: list[tuple[str, int, int]] = field(default_factory=list)
    """(verb, rows, steps) of every call."""

    @property
    def macro_width(self) -> int:
        return self.moves.shape[1]

    @property
    def singly(self) -> "IntegratorModel":
        return self

    def encode(self, observation: Observation) -> State:
        return State(torch.from_numpy(observation.proprio["z"]))

    def encode_goal(self, goal: Goal) -> State:
        assert goal.latent is not None
        return State(torch.from_numpy(goal.latent))

    def lift(self, window: State) -> State:
        assert window.latent.shape[1] == self.window, window.latent.shape
        w = torch.tensor(self.weights or (0.0,) * (self.window - 1) + (1.0,))
        return State((w[:, None] * window.latent).sum(1))

    def roll_low(self, context: State, actions: Tensor) -> State:
        """Referees its context: the blocks it is given must lead from one observed state to the next."""
        z, steps = context.latent, actions @ self.moves
        t = z.shape[1]
        torch.testing.assert_close(z[:, 1:], z[:, :-1] + steps[:, : t - 1], rtol=0, atol=1e-4)
        self.calls.append(("low", len(z), actions.shape[1] - t + 1))
        return State(z[:, -1:] + steps[:, t - 1 :].cumsum(1))

    def roll_high(self, z_H: State, macros: Tensor) -> State:
        self.calls.append(("high", len(macros), macros.shape[1]))
        return State(z_H.latent[:, None] + macros.cumsum(1))


@dataclass(frozen=True)
class PlainActions:
    """Environment actions in a box; a block is `frame_skip` of them divided by `scale`."""

    frame_skip: int = 1
    action_dim: int = 2
    scale: float = 1.0
    reach: float = 1.0
    discrete_values: int | None = None

    def to_model(self, executed: NDArray[np.float32]) -> Tensor:
        return torch.from_numpy(executed).flatten(1) / self.scale

    def to_env(self, block: Tensor) -> NDArray[np.float32]:
        env = block.view(len(block), self.frame_skip, self.action_dim) * self.scale
        return env.clamp(-self.reach, self.reach).numpy()

    def box(self) -> Box:
        end = torch.full((self.frame_skip * self.action_dim,), self.reach / self.scale)
        return Box(-end, end)


KEYS = torch.tensor([[0.0, 0.0], [0.0, 1.0], [0.0, -1.0], [-1.0, 0.0], [1.0, 0.0]])
"""Where each of five keys moves: stay, up, down, left, right."""


@dataclass(frozen=True)
class KeyActions:
    """Five keys: an environment action is a key's number, a model's block the one-hot rows of `frame_skip` keys."""

    frame_skip: int = 1
    action_dim: int = 1
    discrete_values: int | None = 5

    def to_model(self, executed: NDArray[np.float32]) -> Tensor:
        return torch.nn.functional.one_hot(torch.from_numpy(executed[..., 0]).long(), 5).float().flatten(1)

    def to_env(self, block: Tensor) -> NDArray[np.float32]:
        return block.view(len(block), self.frame_skip, 5).argmax(-1, keepdim=True).float().numpy()

    def box(self) -> Box:
        raise AssertionError("keys have no box")


@dataclass(frozen=True)
class Step:
    """One decision of a closed loop: where the tasks stood, what was executed, what was thought and remembered."""

    z: NDArray[np.float32]
    chunk: NDArray[np.float32]
    decision: Decision
    memory: Memory


def see(z: NDArray[np.float32], executed: NDArray[np.float32] | None = None) -> Observation:
    """An observation whose latent is z."""
    frames = {"front": np.zeros((len(z), 1, 1, 3), np.uint8)}
    return Observation(frames=frames, proprio={"z": z}, executed=executed)


def drive(
    controller: ThreeStage,
    starts: Any,
    goals: Any,
    decisions: int,
    tasks: Sequence[int] | None = None,
    seed: int = 0,
) -> list[Step]:
    """Close the loop through the integrator for some decisions."""
    model, actions = controller.model, controller.actions
    assert isinstance(model, IntegratorModel)
    z = np.asarray(starts, np.float32)
    memory = controller.start(Goal(latent=np.asarray(goals, np.float32)), tasks or range(len(z)), seed)
    steps: list[Step] = []
    chunk = None
    for _ in range(decisions):
        before = z
        chunk, memory, decision = controller.act(memory, see(z, chunk))
        z = (torch.from_numpy(z) + actions.to_model(chunk) @ model.moves).numpy()
        steps.append(Step(before, chunk, decision, memory))
    return steps
