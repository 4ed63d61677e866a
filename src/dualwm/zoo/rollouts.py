"""Multi-step supervision of any dynamics over any state: what `Rollout` says, with vectors, patch grids or proprio."""

import torch

from dualwm.loss.lore import Mode, Rollout, horizon_errors, horizon_weights
from dualwm.model.dynamics import Dynamics, chained
from dualwm.shapes import Float, Tensor
from dualwm.states import State


def roll_out(
    dynamics: Dynamics, z: State, a: Float[Tensor, "b l a"], steps: int, mode: Mode = "free_running"
) -> tuple[State, State]:
    """Predictions from the first `history` encoded states, and the encoded states they should meet; (b, n) both."""
    h = dynamics.history
    context, actions, target = z[:, :h], a[:, : h - 1 + steps], z[:, h : h + steps]
    if mode == "direct":
        return dynamics.rollout(context, actions), target
    if mode == "teacher_forced":
        each = [dynamics.rollout(z[:, j : j + h], a[:, j : j + h]) for j in range(steps)]
        return State.join(each, lambda parts: torch.cat(parts, 1)), target
    predicted = chained(dynamics.rollout, context, actions, history=h, span=1, truncate=mode == "truncated")
    return predicted, target


def state_errors(z_hat: State, z: State, norm: int = 2) -> Float[Tensor, " n"]:
    """Mean error at each horizon, of the part that carries the distance and, weighted, of proprio."""
    error = horizon_errors(z_hat.body, z.body, norm)
    if z_hat.proprio is None or z.proprio is None:
        return error
    return error + z.proprio_weight * horizon_errors(z_hat.proprio, z.proprio, norm)


def state_lore(z_hat: State, z: State, c: Rollout) -> Float[Tensor, ""]:
    """Eq. (5) over states: horizon-weighted errors of predictions (b, n)."""
    target = z if c.target_gradient else z.map(torch.detach)
    errors = state_errors(z_hat, target, c.norm)
    return (horizon_weights(c.profile, len(errors), c.decay).to(errors.device) * errors).sum()
