"""What training needs to know of a method: a list of `Stage`s that read from `Source`s.

A stage says which modules it trains, where its samples come from and what its named loss terms are. It never sees the
optimiser, the other processes, the order of the samples or the checkpoint: those belong to `dualwm.train.fit`.

Three rules make a run repeatable, resumable and independent of the number of processes:

- `Source.read` is a pure function of the indices;
- all randomness comes from the `StepKey`, so it is a function of (seed, step, position in the global batch);
- `terms` are means over the samples of the batch it is given; whatever needs statistics of the whole batch (BatchNorm,
  the Gaussian regulariser) takes them through the `Reduce` object the stage or its model was built with. Then the
  global loss is the mean over processes of their losses (see `dualwm.train.distributed`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, TypeVar, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from dualwm.errors import RecipeError
from dualwm.shapes import Float, Int, Tensor
from dualwm.train.noise import hash64, normals, uniforms

Batch = Mapping[str, Tensor]
"""Named tensors whose first axis is the sample."""


@dataclass(frozen=True, kw_only=True)
class StageSettings:
    """How one stage is optimised. AdamW, linear warm-up, half-cosine to zero, clipping by global norm."""

    steps: int
    """Optimiser steps of the whole stage."""
    batch_size: int
    """Samples per optimiser step over ALL processes."""
    learning_rate: float
    """Peak learning rate, reached at the end of the warm-up."""
    weight_decay: float = 1e-3
    warmup_fraction: float = 0.01
    """Share of `steps` over which the learning rate rises linearly."""
    clip: float = 1.0
    """Largest global gradient norm."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """bfloat16 means autocast; weights and optimiser stay float32."""
    heldout_every_steps: int = 500
    heldout_batches: int = 4
    """Held-out batches of `batch_size` samples per look, the same ones every time."""
    checkpoint_every_s: float = 120.0
    """Seconds between checkpoints. It never changes the result."""
    checkpoint_every_steps: int | None = None
    """Also write a checkpoint whenever this many steps are done."""
    log_every_steps: int = 20

    def __post_init__(self) -> None:
        for name in ("batch_size", "heldout_every_steps", "heldout_batches", "log_every_steps", "learning_rate"):
            if not getattr(self, name) > 0:
                raise RecipeError(f"StageSettings.{name} must be above zero, found {getattr(self, name)!r}.")
        if self.steps < 0 or self.clip <= 0 or not 0 <= self.warmup_fraction < 1:
            raise RecipeError(
                "StageSettings needs steps >= 0, clip > 0 and 0 <= warmup_fraction < 1, found "
                f"steps={self.steps}, clip={self.clip}, warmup_fraction={self.warmup_fraction}."
            )
        if self.precision not in ("float32", "bfloat16"):
            raise RecipeError(f"StageSettings.precision is 'float32' or 'bfloat16', found {self.precision!r}.")


@dataclass(frozen=True)
class StepKey:
    """All the randomness a stage may use: a function of (seed, step, position in the global batch) and of words.

    The words say what the number is for: `key.sample_normal((6, 16), "macro")`. `seed` already differs between stages
    and between training and held-out batches.
    """

    seed: int
    step: int
    """Optimiser steps of this stage done before this one: 0 at the first. For held-out data, the batch's number."""
    sample_ids: Int[Tensor, " b"]
    """Positions of these samples in the global batch (int64, CPU): this process holds a slice of them."""
    progress: float = 1.0
    """Share of the stage's steps done, for warm-ups and curricula. Held-out samples always meet the full objective, so
    that their losses can be compared over the whole run."""

    def generator(self, *words: str | int) -> torch.Generator:
        """A CPU generator for noise that all samples share, such as random projections: the same on every process."""
        return torch.Generator().manual_seed(hash64(self.seed, self.step, *words) >> 1)

    def sample_normal(self, shape: tuple[int, ...], *words: str | int) -> Float[Tensor, "b ..."]:
        """Standard normals (b, *shape), float32, on the CPU. Row i depends on (seed, step, sample_ids[i], words)."""
        rows = normals(hash64(self.seed, self.step, *words), self._ids(), shape)
        return torch.from_numpy(rows).to(torch.float32)

    def sample_uniform(self, shape: tuple[int, ...], *words: str | int) -> Float[Tensor, "b ..."]:
        """Uniform numbers in [0, 1), keyed like `sample_normal`."""
        rows = uniforms(hash64(self.seed, self.step, *words), self._ids(), shape)
        # float64 just below 1 would round up to 1.0
        return torch.from_numpy(rows).to(torch.float32).clamp_(max=1.0 - 2.0**-24)

    def _ids(self) -> NDArray[np.int64]:
        return self.sample_ids.cpu().numpy()


@dataclass(frozen=True, kw_only=True)
class Watch:
    """What a stage shows of its model's health on one held-out batch. Levels are named: "low", "high".

    Hand out this process's raw numbers; means over processes, standard deviations and effective ranks are taken in
    `dualwm.train.vitals`. Nothing here needs a gradient.
    """

    rollout_error: Mapping[str, Float[Tensor, " _"]] = field(default_factory=dict[str, Tensor])
    """Level -> mean squared error per predicted step, per latent dimension, averaged over the batch."""
    latents: Mapping[str, Float[Tensor, "_ _"]] = field(default_factory=dict[str, Tensor])
    """Level -> latents as (rows, width), from which collapse is told."""
    kl_per_dim: Float[Tensor, " _"] | None = None
    """Macro-action KL per dimension (MAPS, Eq. (3)) before free bits, averaged over the batch."""
    values: Mapping[str, Float[Tensor, "..."]] = field(default_factory=dict[str, Tensor])
    """Any other named scalar or vector worth a look, averaged over the batch."""


@runtime_checkable
class Source(Protocol):
    """Samples by number: windows of a data set, or a cache of latents."""

    def __len__(self) -> int:
        """How many samples there are."""
        ...

    def read(self, indices: NDArray[np.int64]) -> dict[str, Tensor]:
        """The samples of these numbers as CPU tensors, in this order. A pure function of the indices; thread-safe."""
        ...


M = TypeVar("M", bound=nn.Module, contravariant=True)


@dataclass(frozen=True, kw_only=True)
class Rehearsal:
    """What `dualwm train --estimate` needs of a stage before anything is prepared."""

    source: Source
    """Samples shaped like the real ones; few suffice, made-up numbers too."""
    prepare_s: float = 0.0
    """Seconds `prepare` is expected to take on this machine."""
    disk_bytes: int = 0
    """Bytes `prepare` will leave on disk."""


@runtime_checkable
class Stage(Protocol[M]):
    """One training stage of a method. `M` is the method's model, an `nn.Module`."""

    @property
    def name(self) -> str:
        """Short and unique in the run: "low", "high", "joint". It keys order and noise."""
        ...

    @property
    def settings(self) -> StageSettings:
        """How it is optimised."""
        ...

    @property
    def weights(self) -> Mapping[str, float]:
        """Loss weight by term. Its keys must equal the keys of `terms`."""
        ...

    def trained(self, model: M) -> list[nn.Module]:
        """The modules this stage trains. All else is frozen, in eval mode, and must stay bit-identical with buffers."""
        ...

    def prepare(self, model: M, out: Path) -> None:
        """Whatever must be on disk before the first step, such as cached latents, written below `out`.

        Called at the stage's start and again whenever the run is continued; it should then find its work done (or
        continue it). With several processes the first one runs it alone, then the others, who find it done.
        """
        ...

    def sources(self) -> tuple[Source, Source]:
        """Training and held-out samples. Called after `prepare`."""
        ...

    def terms(self, model: M, batch: Batch, step: StepKey) -> dict[str, Tensor]:
        """Scalar loss terms by name, means over `batch` (this process's slice); on held-out data too, in eval mode."""
        ...

    def watch(self, model: M, batch: Batch, step: StepKey) -> Watch:
        """The model's health on a held-out batch, in eval mode and without gradients."""
        ...

    def finish(self, model: M, batches: Iterator[tuple[Batch, StepKey]]) -> None:
        """Last touches after the last step, such as re-estimating BatchNorm statistics of the trained modules.

        The model comes in evaluation mode and gradients are not wanted.
        `batches` never ends: take as many as needed. They are training batches (this process's slices) in an order of
        their own, on the model's device. Must be deterministic: a run killed here repeats it.
        """
        ...

    def rehearsal(self, model: M) -> Rehearsal:
        """For estimates: samples to time a few steps on without preparing anything, and what `prepare` will cost."""
        ...


def check_terms(terms: Mapping[str, object], weights: Mapping[str, float]) -> None:
    """Loss terms and loss weights must carry the same names; otherwise a RecipeError lists both."""
    if terms.keys() == weights.keys():
        return
    raise RecipeError(
        f"Every loss term needs one weight and every weight one term. Terms: {', '.join(sorted(terms)) or 'none'}. "
        f"Weights: {', '.join(sorted(weights)) or 'none'}. "
        f"Without weight: {', '.join(sorted(terms.keys() - weights.keys())) or 'none'}; "
        f"without term: {', '.join(sorted(weights.keys() - terms.keys())) or 'none'}. "
        "Set the missing weights (0.0 only logs a term) or remove the stray ones."
    )
