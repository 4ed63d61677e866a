"""E_A: a segment of action blocks -> a Gaussian over the macro-action u, and u's lift to P_H's condition."""

from dataclasses import dataclass
from typing import NamedTuple

from torch import nn

from dualwm.nets.transformer import Transformer, TransformerSize
from dualwm.registry import nested, part
from dualwm.shapes import Float, Tensor


class Posterior(NamedTuple):
    """q(u | A) = N(mean, exp(log_variance)), shapes (..., u)."""

    mean: Tensor
    log_variance: Tensor

    def sample(self, noise: Float[Tensor, "*rows u"]) -> Float[Tensor, "*rows u"]:
        """u = mean + sigma * noise, drawn from q(u | A) of section 3.2; its gradient reaches E_A."""
        return self.mean + (0.5 * self.log_variance).exp() * noise


@part("macro_encoder", "variational")
@dataclass(frozen=True, kw_only=True)
class VariationalMacro:
    """The paper's E_A."""

    macro_width: int = 16
    """d_u, dimensions of the macro-action."""
    width: int = 192
    """Width of its transformer."""
    size: TransformerSize = nested(TransformerSize, TransformerSize(depth=4, heads=8, hidden=768))
    """Sizes of the transformer."""
    positions: int = 64
    """Rows of the position table."""
    stochastic: bool = True
    """Sample in training; False always uses the mean (the deterministic ablation)."""

    def build(self, block_width: int, condition_width: int) -> "MacroEncoder":
        """The module."""
        return MacroEncoder(self, block_width, condition_width)


class MacroEncoder(nn.Module):
    """E_A: posterior of the macro-action given its segment, and the lift that P_H is conditioned by."""

    def __init__(self, config: VariationalMacro, block_width: int, condition_width: int) -> None:
        super().__init__()
        self.stochastic = config.stochastic
        self.embed = nn.Linear(block_width, config.width)
        self.core = Transformer(config.width, config.size, positions=config.positions, causal=False, conditioned=False)
        self.norm = nn.LayerNorm(config.width)
        self.mean = nn.Linear(config.width, config.macro_width)
        self.log_variance = nn.Linear(config.width, config.macro_width)
        self.lift = nn.Linear(config.macro_width, condition_width)

    def forward(self, segment: Float[Tensor, "b k a"]) -> Posterior:
        """q_phi(u | A) of section 3.2; log-variances are clamped to [-10, 5]."""
        pooled = self.norm(self.core(self.embed(segment)).mean(1))
        return Posterior(self.mean(pooled), self.log_variance(pooled).clamp(-10, 5))
