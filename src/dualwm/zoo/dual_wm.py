"""Dual-WM on one page: the objective of Eq. (7), term by term, and the stages that minimise it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from torch import nn

from dualwm.errors import RecipeError
from dualwm.loss.gaussian import Gaussian
from dualwm.loss.lore import Rollout, horizon_errors, horizon_weights, lore
from dualwm.loss.maps import Maps, kl_per_dimension, maps
from dualwm.model.dual import DualWM, High, Low, ModelConfig
from dualwm.model.dynamics import supervised_targets
from dualwm.model.macro import Posterior
from dualwm.model.window_encoder import repeated_window, segments, windows
from dualwm.nets.batchnorm import reestimating
from dualwm.nets.dropout import DropoutKey, keyed, of_samples
from dualwm.reduce import Reduce
from dualwm.registry import nested
from dualwm.shapes import Float, Tensor
from dualwm.states import State
from dualwm.train.stage import Batch, Rehearsal, Source, StageSettings, StepKey, Watch
from dualwm.zoo.latents import LatentCache
from dualwm.zoo.method import TrainingInputs
from dualwm.zoo.sources import encode_windows
from dualwm.zoo.stages import WindowStage, horizon

Terms = dict[str, Tensor]

_FINISH_BATCHES = 16
"""Training batches behind the final BatchNorm statistics."""


def _recursive(rollout: Rollout) -> None:
    """Refuse the one rollout mode that Dual-WM's dynamics do not have."""
    if rollout.mode == "direct":
        raise RecipeError(
            "Dual-WM's dynamics are recursive, one step a call, and rollout.mode='direct' is for dynamics that predict "
            "every horizon in one. Choose free_running (the paper's), teacher_forced or truncated."
        )


@dataclass(frozen=True, kw_only=True)
class LowObjective:
    """lambda_L L_LoRe^L and the low part of L_reg."""

    rollout: Rollout = nested(Rollout, Rollout(steps=5))
    """LoRe at the low level: N, alpha_L and its relatives."""
    regulariser: Gaussian = nested(Gaussian, Gaussian())
    """Which Gaussian regulariser."""
    lore_weight: float = 1.0
    """lambda_L."""
    regulariser_weight: float = 0.3
    """Weight of the low-level regulariser."""

    def __post_init__(self) -> None:
        _recursive(self.rollout)


@dataclass(frozen=True, kw_only=True)
class HighObjective:
    """lambda_H L_LoRe^H, beta L_MAPS and the high part of L_reg."""

    rollout: Rollout = nested(Rollout, Rollout(steps=6, supervision="endpoint"))
    """LoRe at the high level: M, alpha_H and its relatives."""
    regulariser: Gaussian = nested(Gaussian, Gaussian())
    """Which Gaussian regulariser."""
    maps: Maps = nested(Maps, Maps())
    """Options of macro-action prior shaping."""
    lore_weight: float = 1.0
    """lambda_H."""
    regulariser_weight: float = 0.3
    """Weight of the high-level regulariser."""
    maps_weight: float = 0.01
    """beta."""
    repeated_share: float = 0.0
    """Share of samples whose first window, or whose target windows, repeat a single frame, as goals and starts do
    while planning. The paper trains on none."""

    def __post_init__(self) -> None:
        _recursive(self.rollout)


def low_terms(
    low: Low,
    z_L: Float[Tensor, "b t d"],
    a: Float[Tensor, "b t a"],
    c: LowObjective,
    step: StepKey,
    reduce: Reduce,
) -> Terms:
    """The low terms of Eq. (7): LoRe over N self-generated steps, and the Gaussian regulariser of the latents."""
    N = horizon(c.rollout, step)
    z_hat, z = _low_rollout(low, z_L, a, c.rollout, N)
    w = horizon_weights(c.rollout.profile, N, c.rollout.decay)
    target = z if c.rollout.target_gradient else z.detach()
    return {
        "lore_low": lore(z_hat, target, w, c.rollout.norm),
        "gauss_low": c.regulariser(z_L, step.generator("gauss_low"), reduce),
    }


def _low_rollout(low: Low, z_L: Tensor, a: Tensor, c: Rollout, steps: int) -> tuple[Tensor, Tensor]:
    """Eq. (4) for s = L: predictions and the encoded states they should meet, (b, n, positions, d)."""
    h = low.P_L.history
    z_hat = low.P_L.supervised(
        z_L, low.embed_action(a), steps, free=c.mode != "teacher_forced", truncate=c.mode == "truncated"
    )
    z = supervised_targets(z_L, steps, h)
    return (z_hat, z) if c.supervision == "all_positions" else (z_hat[:, :, -1:], z[:, :, -1:])


def high_terms(
    high: High,
    z_L: Float[Tensor, "b t d"],
    a: Float[Tensor, "b t a"],
    k: int,
    c: HighObjective,
    step: StepKey,
    reduce: Reduce,
) -> Terms:
    """The high terms of Eq. (7). `z_L` comes without a graph: E_H(sg(W)), the branch boundary of section 3.2."""
    M = horizon(c.rollout, step)
    z_H, z_hat, target, q = _high_rollout(high, z_L, a, k, c, step, M)
    w = horizon_weights(c.rollout.profile, M, c.rollout.decay)
    target = target if c.rollout.target_gradient else target.detach()
    return {
        "lore_high": lore(z_hat, target, w, c.rollout.norm),
        "gauss_high": c.regulariser(z_H, step.generator("gauss_high"), reduce),
        "maps": c.maps.warmup(step.progress) * maps(q.mean, q.log_variance, c.maps.free_bits, reduce),
    }


def _high_rollout(
    high: High, z_L: Tensor, a: Tensor, k: int, c: HighObjective, step: StepKey, steps: int
) -> tuple[Tensor, Tensor, Tensor, Posterior]:
    """Eq. (4) for s = H: all high states, predictions, targets, and the macro-action posterior."""
    z_L = z_L.detach()[:, : k * (1 + steps)]
    b = len(z_L)
    W = windows(z_L, k)
    z_H = high.E_H(W.flatten(0, 1)).unflatten(0, (b, -1))
    q = high.E_A(segments(a, k, steps).flatten(0, 1))
    u = q.mean
    if high.E_A.training and high.E_A.stochastic:
        u = q.sample(step.sample_normal((steps, u.shape[-1]), "macro").to(u).flatten(0, 1))
    start, target = with_repeated_frames(high, W, z_H, c.repeated_share, step)
    condition = high.E_A.lift(u).unflatten(0, (b, steps))
    if c.rollout.mode == "teacher_forced":
        z_hat = high.P_H(z_H[:, :-1].flatten(0, 1)[:, None], condition.flatten(0, 1)[:, None])[:, 0].unflatten(
            0, (b, -1)
        )
    else:
        z_hat = high.P_H.supervised(start, condition, steps, free=True, truncate=c.rollout.mode == "truncated")[
            :, :, -1
        ]
    return z_H, z_hat, target, q


def with_repeated_frames(high: High, W: Tensor, z_H: Tensor, share: float, step: StepKey) -> tuple[Tensor, Tensor]:
    """Start and target states of the rollout. For a share of the samples, windows of one repeated frame stand for the
    observed ones: half of them at the start (how planning begins), half as targets (how goals are given).

    Which samples is drawn from their own keys, so it does not depend on how a batch is spread over processes.
    """
    start, target = z_H[:, :1], z_H[:, 1:]
    if share == 0:
        return start, target
    drawn = step.sample_uniform((), "repeated").to(W.device)
    starting, arriving = drawn < share / 2, (drawn >= share / 2) & (drawn < share)
    return _still(high, W[:, :1], start, starting), _still(high, W[:, 1:], target, arriving)


def _still(high: High, W: Tensor, z_H: Tensor, chosen: Tensor) -> Tensor:
    """`z_H` (b, n, e) of the windows W, with the chosen samples' windows replaced by their repeated last frames."""
    rows = chosen.nonzero()[:, 0]
    last = W[rows, :, -1]
    with of_samples(high.E_H, rows):
        z = high.E_H(repeated_window(last, W.shape[2]).flatten(0, 1))
    return z_H.index_copy(0, rows, z.reshape(len(rows), *z_H.shape[1:]).to(z_H.dtype))


def objective(
    model: DualWM,
    z_L: Float[Tensor, "b t d"],
    a: Float[Tensor, "b t a"],
    low: LowObjective,
    high: HighObjective,
    step: StepKey,
    reduce: Reduce,
) -> Terms:
    """Eq. (7): every term by name. The recipe holds one weight per name, and the two sets must be equal.

    The high terms see the low latents without their graph, so they leave E_L and P_L without gradient.
    """
    n = model.low.P_L.history + low.rollout.steps
    return low_terms(model.low, z_L[:, :n], a[:, :n], low, step, reduce) | high_terms(
        model.high, z_L.detach(), a, model.config.window, high, step, reduce
    )


def weights(low: LowObjective | None, high: HighObjective | None) -> dict[str, float]:
    """The weights of Eq. (7) by term."""
    named: dict[str, float] = {}
    if low is not None:
        named |= {"lore_low": low.lore_weight, "gauss_low": low.regulariser_weight}
    if high is not None:
        named |= {
            "lore_high": high.lore_weight,
            "gauss_high": high.regulariser_weight,
            "maps": high.maps_weight,
        }
    return named


def encode_clip(model: DualWM, batch: Batch) -> Float[Tensor, "b t d"]:
    """z^L of every frame of a batch of clips, Eq. (1)."""
    sees = model.config.low.encoder
    return encode_windows(lambda frames, proprio: State(model.encode(frames, proprio)), batch, sees).latent


Kind = Literal["low", "high", "joint"]


def low_steps_needed(kind: Kind, model: ModelConfig, low: LowObjective, high: HighObjective) -> int:
    """Frames of one training window, in low steps."""
    n_low = model.low.history + low.rollout.steps
    n_high = model.window * (1 + high.rollout.steps)
    return {"low": n_low, "high": n_high, "joint": max(n_low, n_high)}[kind]


class _Stage(WindowStage):
    """What the three stages share: the objective of Eq. (7), and windows long enough for it."""

    name: Kind

    def __init__(
        self,
        config: ModelConfig,
        settings: StageSettings,
        low: LowObjective,
        high: HighObjective,
        inputs: TrainingInputs,
    ) -> None:
        low_steps = low_steps_needed(self.name, config, low, high)
        super().__init__(settings, inputs, config.low.encoder, frame_skip=config.frame_skip, low_steps=low_steps)
        self.config, self.low, self.high = config, low, high


class LowStage(_Stage):
    """Trains E_L, the action embedding and P_L on frames."""

    name = "low"

    @property
    def weights(self) -> Mapping[str, float]:
        """Eq. (7)'s weights of this stage's terms."""
        return weights(self.low, None)

    def trained(self, model: DualWM) -> list[nn.Module]:
        """The low level."""
        return [model.low]

    def terms(self, model: DualWM, batch: Batch, step: StepKey) -> Terms:
        """The low terms of Eq. (7)."""
        with keyed(model, DropoutKey(step.seed, step.step, step.sample_ids)):
            z_L = encode_clip(model, batch)
            return low_terms(model.low, z_L, batch["actions"], self.low, step, self.inputs.reduce)

    def watch(self, model: DualWM, batch: Batch, step: StepKey) -> Watch:
        """Rollout error by horizon and latent statistics."""
        z_L = encode_clip(model, batch)
        z_hat, z = _low_rollout(model.low, z_L, batch["actions"], self.low.rollout, self.low.rollout.steps)
        return Watch(rollout_error={"low": horizon_errors(z_hat, z)}, latents={"low": z_L.flatten(0, 1)})

    def finish(self, model: DualWM, batches: Iterator[tuple[Batch, StepKey]]) -> None:
        """Re-estimate BatchNorm statistics at the final weights."""
        with reestimating(model.low):
            for batch, _step in islice(batches, _FINISH_BATCHES):
                z_L = encode_clip(model, batch)
                _low_rollout(model.low, z_L, batch["actions"], self.low.rollout, self.low.rollout.steps)


class HighStage(_Stage):
    """Trains E_H, P_H and E_A on cached latents of the frozen low level."""

    name = "high"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.cache: LatentCache | None = None

    @property
    def weights(self) -> Mapping[str, float]:
        """Eq. (7)'s weights of this stage's terms."""
        return weights(None, self.high)

    def trained(self, model: DualWM) -> list[nn.Module]:
        """The high level."""
        return [model.high]

    def prepare(self, model: DualWM, out: Path) -> None:
        """Encode every frame once with the frozen low level."""
        self.cache = LatentCache.make(out / "latents", model, self.inputs)

    def sources(self) -> tuple[Source, Source]:
        """Windows of cached latents."""
        assert self.cache is not None, "prepare comes before sources"
        return self.cache.sources(frame_skip=self.frame_skip, low_steps=self.low_steps)

    def terms(self, model: DualWM, batch: Batch, step: StepKey) -> Terms:
        """The high terms of Eq. (7)."""
        with keyed(model, DropoutKey(step.seed, step.step, step.sample_ids)):
            k = self.config.window
            return high_terms(model.high, batch["latents"], batch["actions"], k, self.high, step, self.inputs.reduce)

    def watch(self, model: DualWM, batch: Batch, step: StepKey) -> Watch:
        """Rollout error by horizon, latent statistics, KL per macro dimension."""
        return _watch_high(model, batch["latents"], batch["actions"], self.high, step)

    def finish(self, model: DualWM, batches: Iterator[tuple[Batch, StepKey]]) -> None:
        """Nothing to do: the high level has no BatchNorm."""

    def rehearsal(self, model: DualWM) -> Rehearsal:
        """Made-up latents of the right shape, and what encoding the data set will cost."""
        return LatentCache.rehearsal(model, self.inputs, frame_skip=self.frame_skip, low_steps=self.low_steps)


class JointStage(_Stage):
    """Eq. (7) as the paper writes it: both levels at once, with the stop-gradient between them."""

    name = "joint"

    @property
    def weights(self) -> Mapping[str, float]:
        """Eq. (7)'s weights of this stage's terms."""
        return weights(self.low, self.high)

    def trained(self, model: DualWM) -> list[nn.Module]:
        """Everything."""
        return [model]

    def terms(self, model: DualWM, batch: Batch, step: StepKey) -> Terms:
        """All terms of Eq. (7)."""
        with keyed(model, DropoutKey(step.seed, step.step, step.sample_ids)):
            z_L = encode_clip(model, batch)
            return objective(model, z_L, batch["actions"], self.low, self.high, step, self.inputs.reduce)

    def watch(self, model: DualWM, batch: Batch, step: StepKey) -> Watch:
        """Both levels' rollout errors and statistics."""
        z_L = encode_clip(model, batch)
        high = _watch_high(model, z_L, batch["actions"], self.high, step)
        z_hat, z = _low_rollout(model.low, z_L, batch["actions"], self.low.rollout, self.low.rollout.steps)
        return Watch(
            rollout_error={"low": horizon_errors(z_hat, z), **high.rollout_error},
            latents={"low": z_L.flatten(0, 1), **high.latents},
            kl_per_dim=high.kl_per_dim,
        )

    def finish(self, model: DualWM, batches: Iterator[tuple[Batch, StepKey]]) -> None:
        """Re-estimate BatchNorm statistics at the final weights."""
        LowStage(self.config, self.settings, self.low, self.high, self.inputs).finish(model, batches)


def _watch_high(model: DualWM, z_L: Tensor, a: Tensor, c: HighObjective, step: StepKey) -> Watch:
    z_H, z_hat, target, q = _high_rollout(model.high, z_L, a, model.config.window, c, step, c.rollout.steps)
    return Watch(
        rollout_error={"high": horizon_errors(z_hat, target)},
        latents={"high": z_H.flatten(0, 1)},
        kl_per_dim=kl_per_dimension(q.mean, q.log_variance),
    )
