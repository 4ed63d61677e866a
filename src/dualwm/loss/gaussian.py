"""L_reg of Eq. (7): an isotropic Gaussian regulariser that keeps latents from collapsing, in two forms.

`quantile` matches sorted one-dimensional projections to Gaussian quantiles and adds a centre and a scale term;
`epps_pulley` compares empirical characteristic functions and multiplies by the batch size (the form of LeWM). Their
weights are not transferable. Both see the GLOBAL batch through `reduce`.
"""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch.nn.functional import normalize

from dualwm.reduce import ALONE, Reduce
from dualwm.shapes import Float, Tensor


@dataclass(frozen=True, kw_only=True)
class Gaussian:
    """Which Gaussian regulariser, and how many random projections it draws at each step."""

    form: Literal["quantile", "epps_pulley"] = "quantile"
    projections: int = 1024
    knots: int = 17
    """Knots of the characteristic function on [0, 3]; epps_pulley only."""

    def __call__(
        self, z: Float[Tensor, "b t d"], generator: torch.Generator, reduce: Reduce = ALONE
    ) -> Float[Tensor, ""]:
        """L_reg of Eq. (7) for a batch of latents, averaged over time."""
        directions = random_directions(z.shape[-1], self.projections, generator).to(z.device)
        whole = reduce.gather(z.float(), 0).transpose(0, 1)
        if self.form == "quantile":
            return quantile(whole, directions)
        return epps_pulley(whole, directions, self.knots)


def random_directions(width: int, count: int, generator: torch.Generator) -> Float[Tensor, "d k"]:
    """Unit vectors, uniform on the sphere, from a generator that every process seeds alike."""
    return normalize(torch.randn(width, count, generator=generator), dim=0)


def quantile(z: Float[Tensor, "t b d"], directions: Float[Tensor, "d k"]) -> Float[Tensor, ""]:
    """Centre + scale + shape, L_reg of Eq. (7): means, deviations, and sorted projections against quantiles.

    The shape term sees data standardised by a detached deviation, so that collapse is the scale term's business.
    """
    mean = z.mean(1, keepdim=True)
    deviation = (z - mean).square().mean(1, keepdim=True).clamp_min(1e-12).sqrt() + 1e-6
    standard = (z - mean) / deviation.detach()
    projected = (standard @ directions).sort(dim=1).values
    b = z.shape[1]
    levels = torch.arange(1, b + 1, dtype=torch.float64) / (b + 1)
    grid = (math.sqrt(2) * torch.erfinv(2 * levels - 1)).float().to(z.device)
    shape = (projected - grid[:, None]).square().mean()
    return mean.square().mean() + (deviation - 1).square().mean() + shape


def epps_pulley(z: Float[Tensor, "t b d"], directions: Float[Tensor, "d k"], knots: int) -> Float[Tensor, ""]:
    """B times the weighted squared distance of characteristic functions, L_reg of Eq. (7) in the form of LeWM."""
    s = torch.linspace(0, 3, knots, device=z.device)
    window = torch.exp(-s.square() / 2)
    trapezoid = torch.full_like(s, 3 / (knots - 1))
    trapezoid[0] = trapezoid[-1] = 1.5 / (knots - 1)
    angles = (z @ directions)[..., None] * s
    real, imaginary = angles.cos().mean(1), angles.sin().mean(1)
    distance = (real - window).square() + imaginary.square()
    return z.shape[1] * 2 * (distance * window * trapezoid).sum(-1).mean()
