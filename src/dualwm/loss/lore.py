"""LoRe: horizon-weighted supervision of self-generated rollouts, Eq. (5), and its relatives as data."""

from dataclasses import dataclass
from typing import Literal

import torch

from dualwm.errors import RecipeError
from dualwm.shapes import Float, Tensor

Profile = Literal["exponential", "linear", "uniform", "one_step", "increasing"]
Mode = Literal["free_running", "teacher_forced", "direct", "truncated"]
Supervision = Literal["all_positions", "endpoint"]
HorizonLaw = Literal["fixed", "sampled", "curriculum"]


@dataclass(frozen=True, kw_only=True)
class Rollout:
    """How a dynamics model is supervised over several steps."""

    steps: int
    """N at the low level, M at the high level: rollout length in steps of the level's own clock."""
    decay: float = 0.5
    """alpha_s of Eq. (5), per step."""
    profile: Profile = "exponential"
    """Weights over horizons; `one_step` keeps only h = 1."""
    mode: Mode = "free_running"
    """free_running feeds predictions back (Eq. 4); teacher_forced feeds encoded states; direct means the dynamics
    predicts every horizon in one call; truncated feeds predictions back but stops their gradient."""
    supervision: Supervision = "all_positions"
    """all_positions compares every output of the causal context, endpoint (the paper's formula) only the newest."""
    norm: Literal[1, 2] = 2
    """Squared error (2) or absolute error (1), averaged over the latent's own axes."""
    horizon: HorizonLaw = "fixed"
    """fixed trains all `steps` horizons; sampled draws 1..steps each training step; curriculum grows 1..steps."""
    target_gradient: bool = True
    """Whether the encoded targets receive gradient (the paper: yes)."""

    def __post_init__(self) -> None:
        if self.steps < 1 or self.decay < 0:
            raise RecipeError(f"A rollout needs steps >= 1 and decay >= 0, got {self.steps} and {self.decay}.")

    def horizon_at(self, progress: float, uniform: float) -> int:
        """Rollout length of one training step, from training progress in [0, 1] and one shared uniform number."""
        if self.horizon == "fixed":
            return self.steps
        position = uniform if self.horizon == "sampled" else progress
        return min(self.steps, 1 + int(position * self.steps))


def horizon_weights(profile: Profile, steps: int, decay: float) -> Float[Tensor, " n"]:
    """Normalised weights w_h for h = 1..steps, Eq. (5): exponential decay; linear and uniform as in Appendix H."""
    h = torch.arange(1, steps + 1, dtype=torch.float64)
    raw = {
        "exponential": torch.exp(-decay * (h - 1)),
        "linear": steps - h + 1,
        "uniform": torch.ones_like(h),
        "one_step": (h == 1).double(),
        "increasing": h,
    }[profile]
    return (raw / raw.sum()).float()


def lore(
    z_hat: Float[Tensor, "b n *z"], z: Float[Tensor, "b n *z"], weights: Float[Tensor, " n"], norm: int = 2
) -> Float[Tensor, ""]:
    """Eq. (5): sum over h of w_h times the error of the h-step prediction.

    The error is averaged over the latent's axes (and context positions, where z carries them): the paper writes a
    norm, which only rescales the other weights by the width.
    """
    return (weights.to(z.device) * horizon_errors(z_hat, z, norm)).sum()


def horizon_errors(z_hat: Float[Tensor, "b n *z"], z: Float[Tensor, "b n *z"], norm: int = 2) -> Float[Tensor, " n"]:
    """Mean error at each horizon: what LoRe weighs and what progress displays."""
    difference = z_hat.float() - z.float()
    error = difference.abs() if norm == 1 else difference.square()
    return error.transpose(0, 1).flatten(1).mean(1)
