"""Intervals by resampling, for means over seeds and over worlds: seeds are drawn anew, and within them the tasks.

Success is measured on a few hundred tasks of each of a few seeds, and a seed changes the tasks and the search at once.
An interval that knew only of tasks would forget what one more seed may bring. Worlds are not drawn: a mean over five
worlds is about these five. Values are successes (0 or 1), or differences of them on shared tasks (-1, 0 or 1).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

Seeds = Sequence[NDArray[Any]]
"""The values of one world: for every seed one value per task."""

RESAMPLES = 10_000
_KEY = 0x6475_616C
"""Of the stream every interval is drawn from: the same values give the same interval, wherever it is computed."""


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A mean and where it may lie."""

    mean: float
    ci95: tuple[float, float]
    """Between the 2.5 and the 97.5 % quantile of resampled means."""

    @property
    def separated(self) -> bool:
        """Whether the interval leaves out 0; of use for differences."""
        return self.ci95[0] > 0 or self.ci95[1] < 0


def estimate(worlds: Sequence[Seeds], resamples: int = RESAMPLES) -> Estimate:
    """Mean over worlds of the mean over seeds of the mean over tasks, every world and every seed weighing the same."""
    assert len(worlds) > 0, "a mean of nothing"
    assert all(len(seeds) > 0 and all(len(values) > 0 for values in seeds) for seeds in worlds), "an empty seed"
    generator = np.random.Generator(np.random.Philox(key=_KEY))
    means = np.mean([resampled_means(seeds, generator, resamples) for seeds in worlds], axis=0)
    low, high = np.quantile(means, [0.025, 0.975])
    return Estimate(mean=float(np.mean([_mean(seeds) for seeds in worlds])), ci95=(float(low), float(high)))


def resampled_means(seeds: Seeds, generator: np.random.Generator, resamples: int) -> NDArray[np.float64]:
    """(resamples,): each the mean over as many seeds as there are, drawn with replacement, of tasks drawn likewise.

    n tasks drawn from n with replacement fall on the few distinct values as a multinomial says; that is drawn instead.
    """
    drawn = generator.integers(len(seeds), size=(resamples, len(seeds)))
    means = np.empty(drawn.shape)
    for i, values in enumerate(seeds):
        distinct, counts = np.unique(np.asarray(values, dtype=np.float64), return_counts=True)
        here = drawn == i
        falls = generator.multinomial(len(values), counts / len(values), size=int(here.sum()))
        means[here] = falls @ distinct / len(values)
    return means.mean(axis=1)


def standard_error(seeds: Seeds) -> float:
    """The standard deviation of `resampled_means`, exactly: what seeds differ by, and what tasks differ by in them."""
    means = np.array([np.mean(values) for values in seeds])
    within = np.mean([np.var(values) / len(values) for values in seeds])
    return sqrt(float(np.var(means) + within) / len(seeds))


def spread(seeds: Seeds) -> float:
    """The standard deviation of seeds' means that the paper prints behind its plus-minus sign (over S, not S - 1)."""
    return float(np.std([np.mean(values) for values in seeds]))


def _mean(seeds: Seeds) -> float:
    return float(np.mean([np.mean(values) for values in seeds]))
