"""What a search samples from and refits: Gaussian and categorical distributions over action sequences, as values."""

from dataclasses import dataclass, replace
from typing import Protocol, Self, cast

import torch

from dualwm.plan.noise import Noise
from dualwm.shapes import Float, Int, Tensor


class Proposal(Protocol):
    """A distribution over plans of b tasks. `sample` may look at anything the value holds: context, goal, stage."""

    @property
    def plan(self) -> Float[Tensor, "b h a"]:
        """The plan the search returns if it ends here."""
        ...

    def sample(self, count: int, noise: Noise, iteration: int) -> Float[Tensor, "b s h a"]:
        """`count` candidates per task; candidate 0 is the current plan."""
        ...

    def refit(self, elites: Float[Tensor, "b e h a"]) -> Self:
        """The distribution moved to the elites."""
        ...


@dataclass(frozen=True)
class Box:
    """Bounds of a model action, elementwise over its a numbers."""

    low: Float[Tensor, " a"]
    high: Float[Tensor, " a"]


@dataclass(frozen=True)
class Gaussian:
    """Independent normals around a mean; the elites' mean and sample deviation replace both.

    `mixing` colours the noise along time (see `smooth_mixing`): a plan of uncorrelated noise barely leaves its start.
    `box` clips candidates to what the world will execute.
    """

    mean: Float[Tensor, "b h a"]
    std: Float[Tensor, "b h a"]
    mixing: Float[Tensor, "ha ha"] | None = None
    box: Box | None = None

    @property
    def plan(self) -> Float[Tensor, "b h a"]:
        """The mean, clipped where candidates are."""
        return self.mean if self.box is None else self.mean.clamp(self.box.low, self.box.high)

    def sample(self, count: int, noise: Noise, iteration: int) -> Float[Tensor, "b s h a"]:
        """Section 3.4's candidates: mean plus deviation times (coloured) noise; candidate 0 is the mean."""
        eps = noise.normal(iteration, (count, *self.mean.shape[1:]))
        eps[:, 0] = 0
        if self.mixing is not None:
            # A product of fixed shape per task: one task's bits must not depend on how many others there are.
            eps = torch.stack([row.flatten(1) @ self.mixing for row in eps]).view_as(eps)
        candidates = self.mean[:, None] + self.std[:, None] * eps
        return candidates if self.box is None else candidates.clamp(self.box.low, self.box.high)

    def refit(self, elites: Float[Tensor, "b e h a"]) -> Self:
        """Section 3.4's update: the elites' mean and their sample deviation (ddof 1)."""
        return replace(self, mean=elites.mean(1), std=elites.std(1))


def smooth_mixing(blocks: int, frame_skip: int, action_dim: int, correlation: float) -> Float[Tensor, "ha ha"]:
    """A matrix that turns white noise of a flattened plan into unit-variance noise with AR(1) correlation over
    environment steps, `correlation` from one step to the next, independent between action dimensions."""
    steps = blocks * frame_skip
    time = torch.arange(steps, dtype=torch.float64)
    factor = cast(Tensor, torch.linalg.cholesky(correlation ** (time[:, None] - time[None, :]).abs()))
    return torch.kron(factor.T.contiguous(), torch.eye(action_dim, dtype=torch.float64)).float()


@dataclass(frozen=True)
class Squashed:
    """Gaussian search in an unbounded space whose tanh fills the box of actions (PushT in the authors' release)."""

    inner: Gaussian
    box: Box

    @property
    def plan(self) -> Float[Tensor, "b h a"]:
        """The squashed mean."""
        return self._squash(self.inner.mean)

    def sample(self, count: int, noise: Noise, iteration: int) -> Float[Tensor, "b s h a"]:
        """The inner distribution's candidates, squashed."""
        return self._squash(self.inner.sample(count, noise, iteration))

    def refit(self, elites: Float[Tensor, "b e h a"]) -> Self:
        """Unsquash the elites and refit the inner distribution."""
        return replace(self, inner=self.inner.refit(unsquash(elites, self.box)))

    def _squash(self, v: Tensor) -> Tensor:
        inside = self.box.low + (v.tanh() + 1) / 2 * (self.box.high - self.box.low)
        return inside.clamp(self.box.low, self.box.high)  # rounding may step over a wall


def unsquash(actions: Tensor, box: Box) -> Tensor:
    """The inverse of the squashing, kept away from the infinite ends."""
    unit = (actions - box.low) / (box.high - box.low) * 2 - 1
    unit = unit.clamp(-0.999, 0.999)
    # Not `atanh`: its last bit depends on where in the tensor an element stands, and so on a task's batch mates.
    return (unit.log1p() - (-unit).log1p()) / 2


@dataclass(frozen=True)
class Categorical:
    """Per-step distributions over one-hot actions: Gumbel-max samples, Laplace smoothing, moving average."""

    probabilities: Float[Tensor, "b h g v"]
    """g sub-actions per block, v values each; a block is g * v wide."""
    smoothing: float = 0.025
    momentum: float = 0.5

    @staticmethod
    def start(
        warm: Int[Tensor, "b h g"], values: int, escape: float = 0.1, smoothing: float = 0.025, momentum: float = 0.5
    ) -> "Categorical":
        """From known action indices; -1 marks a missing row, which stays uniform (Appendix I): 0 would be the no-op."""
        known = torch.nn.functional.one_hot(warm.clamp_min(0), values).float() + escape
        uniform = torch.full_like(known, 1 / values)
        rows = torch.where((warm >= 0)[..., None], known / known.sum(-1, keepdim=True), uniform)
        return Categorical(rows, smoothing, momentum)

    @property
    def indices(self) -> Int[Tensor, "b h g"]:
        """Most probable action per step."""
        return self.probabilities.argmax(-1)

    @property
    def plan(self) -> Float[Tensor, "b h a"]:
        """The most probable action of every step, one-hot (Appendix I)."""
        return self._one_hot(self.indices)

    def sample(self, count: int, noise: Noise, iteration: int) -> Float[Tensor, "b s h a"]:
        """Gumbel-max (Appendix I): independent draws per step; candidate 0 is the most probable plan."""
        gumbel = noise.gumbel(iteration, (count, *self.probabilities.shape[1:]))
        chosen = (self.probabilities.clamp_min(1e-12).log()[:, None] + gumbel).argmax(-1)
        chosen[:, 0] = self.indices
        return self._one_hot(chosen)

    def refit(self, elites: Float[Tensor, "b e h a"]) -> Self:
        """Appendix I: the elites' frequencies, Laplace-smoothed, then a moving average with the old distribution."""
        values = self.probabilities.shape[-1]
        frequency = elites.reshape(*elites.shape[:-1], -1, values).mean(1)
        smoothed = (frequency + self.smoothing) / (1 + values * self.smoothing)
        return replace(self, probabilities=self.momentum * self.probabilities + (1 - self.momentum) * smoothed)

    def _one_hot(self, chosen: Tensor) -> Tensor:
        values = self.probabilities.shape[-1]
        return torch.nn.functional.one_hot(chosen, values).float().flatten(-2)
