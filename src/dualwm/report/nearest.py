"""What a predicted latent looks like: the real frame, among a bank of them, whose latent is nearest."""

import numpy as np
from numpy.typing import NDArray

Latents = NDArray[np.float32]

_ROWS = 256
"""Queries compared with the whole bank at a time: bounds memory."""


def nearest(queries: Latents, bank: Latents) -> NDArray[np.int64]:
    """For each query (n, d) the row of the bank (m, d) at the smallest Euclidean distance, the first of equals.

    -1 where a query is not finite: nothing was predicted there.
    """
    assert queries.shape[1] == bank.shape[1], (queries.shape, bank.shape)
    assert len(bank) > 0, bank.shape
    found = np.full(len(queries), -1, dtype=np.int64)
    known = np.flatnonzero(np.isfinite(queries).all(axis=1))
    rows = bank.astype(np.float64)
    squares = (rows**2).sum(axis=1)
    for first in range(0, len(known), _ROWS):
        some = known[first : first + _ROWS]
        found[some] = (squares - 2 * queries[some].astype(np.float64) @ rows.T).argmin(axis=1)
    return found
