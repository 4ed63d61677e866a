"""From what a stage shows (`Watch`) to the numbers people and alarms read (`Vitals`), over the global batch."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dualwm.shapes import Float, Tensor
from dualwm.train.distributed import Processes
from dualwm.train.stage import Watch


@dataclass(frozen=True, kw_only=True)
class Spread:
    """How a level's latents fill their space."""

    std_min: float
    """Smallest standard deviation of any dimension."""
    std_mean: float
    effective_rank: float
    """exp of the entropy of the normalised singular values of the centred latents: 1 (a line) to `width` (a ball)."""
    width: int


@dataclass(frozen=True, kw_only=True)
class Vitals:
    """One look at held-out data."""

    loss: float
    terms: Mapping[str, float]
    rollout_error: Mapping[str, tuple[float, ...]] = field(default_factory=dict[str, tuple[float, ...]])
    spread: Mapping[str, Spread] = field(default_factory=dict[str, Spread])
    kl_per_dim: tuple[float, ...] | None = None
    values: Mapping[str, tuple[float, ...]] = field(default_factory=dict[str, tuple[float, ...]])

    def to_plain(self) -> dict[str, Any]:
        """JSON data."""
        spread = {level: vars(s) for level, s in self.spread.items()}
        return {**vars(self), "spread": spread}

    @staticmethod
    def from_plain(data: Mapping[str, Any]) -> "Vitals":
        """What `to_plain` wrote, JSON's lists and nulls understood; unknown keys are ignored."""
        kl = data["kl_per_dim"]
        return Vitals(
            loss=_number(data["loss"]),
            terms={name: _number(x) for name, x in data["terms"].items()},
            rollout_error={level: _numbers(errors) for level, errors in data["rollout_error"].items()},
            spread={
                level: Spread(width=s["width"], **{k: _number(s[k]) for k in ("std_min", "std_mean", "effective_rank")})
                for level, s in data["spread"].items()
            },
            kl_per_dim=None if kl is None else _numbers(kl),
            values={name: _numbers(x) for name, x in data["values"].items()},
        )


def spread(latents: Float[Tensor, "rows width"]) -> Spread:
    """Standard deviations and effective rank of latents."""
    rows = latents.float().cpu().double().numpy()
    covariance = np.atleast_2d(np.cov(rows, rowvar=False, bias=True))
    std = np.sqrt(covariance.diagonal().clip(0))
    if not np.isfinite(covariance).all():
        return Spread(std_min=math.nan, std_mean=math.nan, effective_rank=math.nan, width=latents.shape[1])
    singular = np.sqrt(np.linalg.eigvalsh(covariance).clip(0))
    share = singular / max(float(singular.sum()), 1e-30)
    entropy = -float((share * np.log(share.clip(1e-30))).sum())
    return Spread(
        std_min=float(std.min()),
        std_mean=float(std.mean()),
        effective_rank=math.exp(entropy),
        width=latents.shape[1],
    )


def measure(watch: Watch, loss: Tensor, terms: Mapping[str, Tensor], processes: Processes) -> Vitals:
    """The vitals of the global batch: means over processes, spreads over all their latents."""
    named = {("loss", ""): loss, **{("term", name): term for name, term in terms.items()}}
    named |= {("rollout", level): error for level, error in watch.rollout_error.items()}
    named |= {("value", name): value for name, value in watch.values.items()}
    if watch.kl_per_dim is not None:
        named["kl", ""] = watch.kl_per_dim
    means = {key: tensor.detach().float().reshape(-1).clone() for key, tensor in named.items()}
    processes.average(list(means.values()))
    lists = {key: tuple(float(mean[i]) for i in range(len(mean))) for key, mean in means.items()}

    def of(kind: str) -> dict[str, tuple[float, ...]]:
        return {name: values for (k, name), values in lists.items() if k == kind}

    return Vitals(
        loss=lists["loss", ""][0],
        terms={name: values[0] for name, values in of("term").items()},
        rollout_error=of("rollout"),
        spread={level: spread(processes.gather(z.detach(), 0)) for level, z in watch.latents.items()},
        kl_per_dim=lists.get(("kl", "")),
        values=of("value"),
    )


def _number(x: float | None) -> float:
    return math.nan if x is None else float(x)


def _numbers(values: list[float | None]) -> tuple[float, ...]:
    return tuple(_number(x) for x in values)
