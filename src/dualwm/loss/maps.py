"""MAPS: the macro-action posterior is pulled towards the standard normal prior, Eq. (3)."""

from dataclasses import dataclass

from dualwm.reduce import ALONE, Reduce
from dualwm.shapes import Float, Tensor


@dataclass(frozen=True, kw_only=True)
class Maps:
    """Options of macro-action prior shaping. The library's defaults are the paper's plain KL."""

    free_bits: float = 0.0
    """Nats per dimension below which the batch-mean KL is not reduced further."""
    warmup_fraction: float = 0.0
    """Share of training over which beta grows linearly from half its value to all of it."""

    def warmup(self, progress: float) -> float:
        """Factor on beta at training progress in [0, 1]."""
        if self.warmup_fraction <= 0:
            return 1.0
        return min(1.0, 0.5 + 0.5 * progress / self.warmup_fraction)


def kl_per_dimension(mean: Float[Tensor, "*rows u"], log_variance: Float[Tensor, "*rows u"]) -> Float[Tensor, " u"]:
    """Mean over rows of KL(N(mean, exp(log_variance)) || N(0, 1)), one number per macro dimension; Eq. (3)."""
    kl = 0.5 * (mean.float().square() + log_variance.float().exp() - 1 - log_variance.float())
    return kl.flatten(0, -2).mean(0)


def maps(
    mean: Float[Tensor, "*rows u"],
    log_variance: Float[Tensor, "*rows u"],
    free_bits: float = 0.0,
    reduce: Reduce = ALONE,
) -> Float[Tensor, ""]:
    """Eq. (3): KL of q(u | A) to N(0, I), summed over dimensions, each at least `free_bits` on the batch mean."""
    kl = reduce.sum(kl_per_dimension(mean, log_variance)) / reduce.world
    return kl.clamp_min(free_bits).sum()
