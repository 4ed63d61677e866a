"""Numbers on a common scale: z-scores fitted on training episodes only.

Mean and population standard deviation per component; rows with NaN (actions never taken) do not count. One-hot columns
are left alone. A component that never changes is centred and keeps its scale.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from dualwm.data.store import Store
from dualwm.errors import DataError, did_you_mean
from dualwm.shapes import Tensor

CONSTANT_STD = 1e-8
"""A component that varies less than this is constant: dividing by its deviation would blow up rounding errors."""

_Numbers = TypeVar("_Numbers", Tensor, NDArray[Any])


@dataclass(frozen=True, kw_only=True)
class Scale:
    """How one column is scaled: (x - mean) / std per component."""

    mean: tuple[float, ...]
    std: tuple[float, ...]
    one_hot: bool = False
    """Left alone: mean 0, std 1."""
    constant: tuple[int, ...] = ()
    """Components that never changed in the training episodes; their std is 1."""

    def normalize(self, values: _Numbers) -> _Numbers:
        """(..., f * width) in the column's units -> z-scores, for any number f of rows side by side."""
        mean, std = self._like(values)
        return (values - mean) / std

    def denormalize(self, values: _Numbers) -> _Numbers:
        """The inverse of `normalize`."""
        mean, std = self._like(values)
        return values * std + mean

    def _like(self, values: _Numbers) -> tuple[_Numbers, _Numbers]:
        """Mean and std of the values' type, device and width."""
        width = len(self.mean)
        assert values.shape[-1] % width == 0, f"rows of width {width} do not fill {tuple(values.shape)}"
        times = values.shape[-1] // width
        if isinstance(values, Tensor):
            return values.new_tensor(self.mean * times), values.new_tensor(self.std * times)
        return np.asarray(self.mean * times, values.dtype), np.asarray(self.std * times, values.dtype)


@dataclass(frozen=True, kw_only=True)
class Normalizer:
    """Scales of columns by name, and what they were fitted on. A value: it crosses rooms and is saved as plain JSON."""

    scales: Mapping[str, Scale]
    fitted_on: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Digest of the data set and the number of its episodes."""

    @staticmethod
    def fit(store: Store, episodes: Sequence[int] | NDArray[np.int64], columns: Sequence[str]) -> "Normalizer":
        """Fit on these episodes and no others, whatever their order. Memory stays flat."""
        chosen = np.sort(np.asarray(episodes, np.int64))
        if not len(chosen):
            raise DataError(f"{store.path}: a normaliser is fitted on training episodes, and no episode was given.")
        scales = {name: _fit_column(store, name, chosen) for name in columns}
        return Normalizer(scales=scales, fitted_on={"store_digest": store.digest, "episodes": len(chosen)})

    def normalize(self, column: str, values: _Numbers) -> _Numbers:
        """(..., width) in the column's units -> z-scores, numpy or torch. NaN stays NaN."""
        return self._scale(column).normalize(values)

    def denormalize(self, column: str, values: _Numbers) -> _Numbers:
        """z-scores -> the column's units; also of blocks (..., f * width)."""
        return self._scale(column).denormalize(values)

    def normalize_blocks(self, column: str, blocks: _Numbers) -> _Numbers:
        """Action blocks (..., f * width) -> z-scores; actions never taken (NaN) become 0, the mean action."""
        scaled = self._scale(column).normalize(blocks)
        if isinstance(scaled, Tensor):
            return torch.where(torch.isnan(scaled), 0.0, scaled)
        return np.where(np.isnan(scaled), scaled.dtype.type(0), scaled)

    def warnings(self) -> list[str]:
        """One sentence for each column with components that never change."""
        return [
            f"Column {name!r} never changes in component {', '.join(map(str, scale.constant))}: it is centred but not "
            "scaled. Leave the component out if it carries nothing."
            for name, scale in self.scales.items()
            if scale.constant
        ]

    def to_plain(self) -> dict[str, Any]:
        """Plain data for a System folder's `normalizer.json`; floats survive exactly."""
        scales = {name: {**asdict(scale), "mean": list(scale.mean)} for name, scale in self.scales.items()}
        for name, scale in self.scales.items():
            scales[name] |= {"std": list(scale.std), "constant": list(scale.constant)}
        return {"scales": scales, "fitted_on": dict(self.fitted_on)}

    @staticmethod
    def from_plain(data: Mapping[str, Any], where: str) -> "Normalizer":
        """The normaliser of plain data; anything else is an error naming `where`."""
        try:
            scales = {str(name): _scale_from_plain(scale) for name, scale in data["scales"].items()}
            return Normalizer(scales=scales, fitted_on=dict(data["fitted_on"]))
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            raise DataError(
                f"{where} should hold a normaliser (scales with mean and std by column, fitted_on) and does not "
                f"({problem!r}). Copy the file again from its source."
            ) from problem

    def _scale(self, column: str) -> Scale:
        if column not in self.scales:
            raise DataError(f"The normaliser has no column {column!r}. {did_you_mean(column, self.scales)}")
        return self.scales[column]


def is_one_hot(rows: NDArray[Any]) -> bool:
    """Whether every row (n, width >= 2) has a single 1 and zeros elsewhere; Appendix I leaves such columns alone."""
    return rows.shape[1] > 1 and bool(((rows == 0) | (rows == 1)).all() and (rows.sum(1) == 1).all())


def _fit_column(store: Store, name: str, episodes: NDArray[np.int64]) -> Scale:
    """Two passes in float64: the mean, then the deviations from it."""
    count, total, one_hot = 0, np.float64(0), True
    for rows in _chunks(store, name, episodes):
        count, total = count + len(rows), total + rows.sum(0)
        one_hot = one_hot and is_one_hot(rows)
    mean = np.atleast_1d(total) / max(count, 1)
    if not count or not np.isfinite(mean).all():
        raise DataError(
            f"{store.path}: column {name!r} should have finite numbers to fit a normaliser on, and it has {count} rows "
            f"with the mean {mean.tolist()}. Run `dualwm data check {store.path}` to find the episodes at fault."
        )
    if one_hot:
        return Scale(mean=(0.0,) * len(mean), std=(1.0,) * len(mean), one_hot=True)
    squares = sum((((rows - mean) ** 2).sum(0) for rows in _chunks(store, name, episodes)), start=np.zeros(len(mean)))
    std = np.sqrt(squares / count)
    constant = std < CONSTANT_STD
    return Scale(
        mean=tuple(mean.tolist()),
        std=tuple(np.where(constant, 1.0, std).tolist()),
        constant=tuple(np.flatnonzero(constant).tolist()),
    )


def _chunks(store: Store, name: str, episodes: NDArray[np.int64]) -> Iterator[NDArray[np.float64]]:
    """A column's rows (n, width) without those that hold NaN, some episodes at a time."""
    for _, values in store.chunks(name, episodes):
        rows = values.reshape(len(values), -1).astype(np.float64)
        yield rows[~np.isnan(rows).any(1)]


def _scale_from_plain(plain: Mapping[str, Any]) -> Scale:
    mean, std = tuple(float(x) for x in plain["mean"]), tuple(float(x) for x in plain["std"])
    if len(mean) != len(std) or not mean or not all(x > 0 for x in std):
        raise ValueError(f"mean {mean} and std {std}")
    constant = tuple(int(i) for i in plain["constant"])
    return Scale(mean=mean, std=std, one_hot=bool(plain["one_hot"]), constant=constant)
