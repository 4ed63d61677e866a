"""The three costs of section 3.4 side by side: route, refine, converge.

Each returns a function of candidates (b, s, h, a). The dynamics may stay low while the comparison goes high: that is
one changed argument. Folding candidates into rows happens here and nowhere else.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

import torch

from dualwm.plan.search import Cost, Score
from dualwm.shapes import Float, Tensor
from dualwm.states import State

Roll = Callable[[State, Tensor], State]
"""(context of rows, actions of rows) -> predicted states of rows."""


class Reduction(Protocol):
    """How distances d_1..d_n along a predicted trajectory become one cost."""

    def __call__(self, distances: Float[Tensor, "b s n"]) -> Float[Tensor, "b s"]:
        """One cost per candidate."""
        ...


@dataclass(frozen=True)
class Terminal:
    """The paper's: the distance at the end."""

    def __call__(self, distances: Float[Tensor, "b s n"]) -> Float[Tensor, "b s"]:
        """Eq. (8) and Eq. (10): d_n."""
        return distances[..., -1]


@dataclass(frozen=True)
class SoftMinimum:
    """The authors' release: a soft minimum over the trajectory plus a small share of its mean.

    It rewards touching the goal at any time; n equal distances d cost (1 + path_weight) * d.
    """

    tau: float = 0.1
    """Temperature, in the distances' own unit: the smaller, the nearer to the minimum."""
    path_weight: float = 0.01
    """Share of the mean distance added."""

    def __call__(self, distances: Float[Tensor, "b s n"]) -> Float[Tensor, "b s"]:
        """-tau * log(mean_t exp(-d_t / tau)) + path_weight * mean_t d_t."""
        n = distances.shape[-1]
        count = torch.log(torch.tensor(float(n), device=distances.device))
        soft = -self.tau * (torch.logsumexp(-distances / self.tau, -1) - count)
        return soft + self.path_weight * distances.mean(-1)


FinalCost = Literal["terminal", "soft_minimum"]


def route_cost(roll_high: Roll, z_H: State, goal_H: State, reduce: Reduction) -> Cost:
    """Eq. (8): distance between the high state predicted after the macro-actions and the goal's high state."""

    def cost(candidates: Float[Tensor, "b s h u"]) -> Score:
        predicted = _roll(roll_high, z_H, candidates)
        return Score(reduce(predicted.distance(_per_candidate(goal_H))), predicted)

    return cost


def refine_cost(
    roll_low: Roll,
    lift: Callable[[State], State],
    context: State,
    past: Tensor,
    prefix: State | None,
    subgoal: State,
    window: int,
) -> Cost:
    """Eq. (9): low dynamics, high comparison. E_H of a window of k low states against the subgoal.

    The window is the `p` states observed since the subgoal was set, then the first k - p predictions; later
    predictions never enter, so they are not computed. `prefix` is None for p = 0.
    """
    observed = 0 if prefix is None else prefix.batch_shape[1]

    def cost(candidates: Float[Tensor, "b s h a"]) -> Score:
        b, s = candidates.shape[:2]
        predicted = _roll(roll_low, context, _with_past(past, candidates[:, :, : window - observed]))
        parts = predicted
        if prefix is not None:
            seen = prefix.map(lambda x: x[:, None].expand(b, s, *x.shape[1:]))
            parts = State.join([seen, predicted], lambda xs: torch.cat(xs, 2))
        lifted = lift(parts.map(lambda x: x.flatten(0, 1))).map(lambda x: x.reshape(b, s, *x.shape[1:]))
        return Score(lifted.distance(subgoal.map(lambda x: x[:, None])), predicted)

    return cost


def converge_cost(roll_low: Roll, context: State, past: Tensor, goal_L: State, reduce: Reduction) -> Cost:
    """Eq. (10): distance between predicted low states and the goal's low state."""

    def cost(candidates: Float[Tensor, "b s h a"]) -> Score:
        predicted = _roll(roll_low, context, _with_past(past, candidates))
        return Score(reduce(predicted.distance(_per_candidate(goal_L))), predicted)

    return cost


def _per_candidate(goal: State) -> State:
    return goal.map(lambda x: x[:, None, None])


def _with_past(past: Float[Tensor, "b l a"], candidates: Float[Tensor, "b s h a"]) -> Float[Tensor, "b s lh a"]:
    """Prepend the blocks already executed between the context's states."""
    if past.shape[1] == 0:
        return candidates
    b, s = candidates.shape[:2]
    return torch.cat([past[:, None].expand(b, s, *past.shape[1:]), candidates], 2)


def _roll(roll: Roll, context: State, actions: Float[Tensor, "b s l a"]) -> State:
    """Roll every candidate from its task's context: the one place where (b s) is folded into rows."""
    b, s = actions.shape[:2]
    rows = context.map(lambda x: x[:, None].expand(b, s, *x.shape[1:]).flatten(0, 1))
    return roll(rows, actions.flatten(0, 1)).map(lambda x: x.reshape(b, s, *x.shape[1:]))
