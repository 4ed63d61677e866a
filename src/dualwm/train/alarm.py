"""Collapse alarms: each names what collapsed, by which number, and what usually helps. They never change a run."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from dualwm.train.vitals import Spread, Vitals


@dataclass(frozen=True, kw_only=True)
class Limits:
    """When an alarm goes off."""

    latent_std: float = 0.05
    """Mean standard deviation under which a level's latents have collapsed to a point."""
    rank_share: float = 0.03
    """Effective rank, as a share of the width, under which they have collapsed to a few directions."""
    rank: float = 2.0
    """An effective rank above this is never called a collapse to a line by narrow latents."""
    dead_kl: float = 0.01
    """KL in nats under which a macro dimension carries nothing."""
    dead_share: float = 0.5
    """Share of dead macro dimensions above which the alarm goes off."""
    rollout_growth: float = 10.0
    """Rollout error over its best so far at which it explodes."""
    waiting_share: float = 0.4
    """Share of time spent waiting for data above which the run is bound by its data."""


@dataclass
class Alarms:
    """What has been seen so far, and what to say about it. `best` is the smallest rollout error by level."""

    limits: Limits = field(default_factory=Limits)
    best: dict[str, float] = field(default_factory=dict[str, float])

    def look(self, vitals: Vitals) -> list[str]:
        """The alarms one look at held-out data sets off."""
        found = [text for level, spread in vitals.spread.items() for text in self._spread(level, spread)]
        if vitals.kl_per_dim is not None:
            found += self._macro(vitals.kl_per_dim)
        return found + self._rollout(vitals.rollout_error)

    def waiting(self, share: float) -> list[str]:
        """The alarm of a run whose data do not come in fast enough."""
        if share <= self.limits.waiting_share:
            return []
        return [
            f"Waiting for data {share:.0%} of the time: reading is slower than training. "
            "A faster disk, smaller frames, a larger model or more reading threads would use the machine better."
        ]

    def _spread(self, level: str, spread: Spread) -> list[str]:
        if not spread.std_mean >= self.limits.latent_std:
            return [
                f"The {level} latents have collapsed to a point: mean standard deviation {spread.std_mean:.2g} "
                f"(below {self.limits.latent_std:g}). Raise the weight of the {level} Gaussian regulariser."
            ]
        floor = max(self.limits.rank, self.limits.rank_share * spread.width)
        if spread.width > self.limits.rank and not spread.effective_rank >= floor:
            return [
                f"The {level} latents have collapsed to few directions: effective rank {spread.effective_rank:.1f} of "
                f"{spread.width} (below {floor:.1f}). Raise the weight of the {level} Gaussian regulariser, or use "
                "more projections."
            ]
        return []

    def _macro(self, kl: tuple[float, ...]) -> list[str]:
        dead = [i for i, nats in enumerate(kl) if not nats >= self.limits.dead_kl]
        if len(dead) <= self.limits.dead_share * len(kl):
            return []
        which = "all of them" if len(dead) == len(kl) else ", ".join(map(str, dead))
        return [
            f"{len(dead)} of {len(kl)} macro dimensions are dead ({which}): their KL is below "
            f"{self.limits.dead_kl:g} nats, so they carry nothing about the actions. "
            "Lower the MAPS weight, give it a longer warm-up or free bits, or use fewer macro dimensions."
        ]

    def _rollout(self, errors: Mapping[str, tuple[float, ...]]) -> list[str]:
        found: list[str] = []
        for level, by_horizon in errors.items():
            mean = sum(by_horizon) / max(1, len(by_horizon))
            best = self.best.get(level, math.inf)
            if not mean <= self.limits.rollout_growth * best:
                found.append(
                    f"The {level} rollout error explodes: {mean:.3g} on average over {len(by_horizon)} steps, "
                    f"{mean / max(best, 1e-12):.0f} times its best so far. Lower the learning rate."
                )
            if mean < best:
                self.best[level] = mean
        return found
