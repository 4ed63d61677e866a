"""Which rows of a collection become tasks: two laws over episode lengths alone."""

import numpy as np
from numpy.typing import NDArray

from dualwm.errors import ProtocolError
from dualwm.evaluate.needs import keyed_generator

PAPER_SAMPLE = 200


def heldout_starts(
    collection: str, lengths: NDArray[np.int64], offset: int, min_pairs: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Episodes and start rows of a pool's pairs: the law at the head of `pool`."""
    valid = np.maximum(lengths - offset, 0)
    if int(valid.sum()) < min_pairs:
        raise ProtocolError(
            f"Offset {offset}: {min_pairs} pairs are wanted and the {collection} collection of {len(lengths)} episodes "
            f"has {int(valid.sum())} valid start rows. Collect more or longer episodes."
        )
    each = 1
    while int(np.minimum(valid, each).sum()) < min_pairs:
        each += 1
    starts = [_some_rows(n, each, keyed_generator("pool", collection, offset, i)) for i, n in enumerate(valid.tolist())]
    return np.repeat(np.arange(len(lengths)), [len(rows) for rows in starts]), np.concatenate(starts)


def paper_rows(lengths: NDArray[np.int64], offset: int, seed: int, sample: int = PAPER_SAMPLE) -> NDArray[np.int64]:
    """Start rows by the release's rule, as positions in all episodes' rows laid end to end, in ascending order.

    A row is valid when its step t satisfies t <= length - offset - 1. The 200 drawn rows depend on the sample size, so
    fewer tasks are a slice of this list and never a smaller draw.
    """
    valid = np.maximum(lengths - offset, 0)
    total = int(valid.sum())
    if total < sample:
        raise ProtocolError(
            f"Protocol paper draws {sample} rows and only {total} rows leave room for offset {offset}. "
            "Collect more or longer episodes."
        )
    drawn = np.sort(np.random.default_rng(seed).choice(total, size=sample, replace=False))
    # The i-th valid row lies in the episode whose valid rows it falls among, at its place among them.
    episode = np.searchsorted(np.cumsum(valid), drawn, side="right")
    return drawn + (np.cumsum(lengths) - lengths)[episode] - (np.cumsum(valid) - valid)[episode]


def rows_to_starts(lengths: NDArray[np.int64], rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Episode and row within it, from positions in all episodes' rows laid end to end."""
    ends = np.cumsum(lengths)
    episode = np.searchsorted(ends, rows, side="right").astype(np.int64)
    return episode, (rows - (ends - lengths)[episode]).astype(np.int64)


def _some_rows(n: int, count: int, generator: np.random.Generator) -> NDArray[np.int64]:
    return np.sort(generator.choice(n, size=min(n, count), replace=False)).astype(np.int64)
